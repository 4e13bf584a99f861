"""The command `labkit logs`."""

from __future__ import annotations

import asyncio
import json
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labkit.commands.control_target import control_client, control_options
from labkit.commands.options import json_option
from labkit.core.errors import LabWarning, unknown
from labkit.core.record_lines import one_line, record_line
from labkit.core.records import KINDS
from labkit.core.words import counted

if TYPE_CHECKING:
    from labkit.control.journal import Entry

MOST = 1000
LONGEST = 1000  # characters of a line
SHOWN = 20  # actors in a warning


@click.command(short_help="Print the journal of a lab that serves control.")
@click.option("--follow", "-f", is_flag=True, help="Print each record from now on, until Ctrl-C.")
@click.option(
    "--kind", "kinds", multiple=True, help=f"Only records of this kind: {', '.join(KINDS)}; repeatable."
)
@click.option("--actor", help="Only records of this solution, service or product/identity.")
@click.option(
    "--last",
    type=click.IntRange(0, MOST),
    default=40,
    show_default=True,
    help="Number of earlier records among which the matching ones are printed first.",
)
@json_option("Print a line of JSON for each record.")
@control_options
def logs(
    follow: bool,
    kinds: tuple[str, ...],
    actor: str | None,
    last: int,
    as_json: bool,
    target: str | None,
    ca_file: Path | None,
) -> None:
    """Print records of the journal, oldest first: lab time, kind, status, actor, summary, reason of a refusal."""
    from labkit.control.following import Missed
    from labkit.control.over_http.operations import operations

    def show(item: Entry | Missed) -> None:
        if isinstance(item, Missed):
            click.echo(f"… {counted(item.missed, 'record')} left out", err=as_json)
        elif (not kinds or item.kind in kinds) and actor in (None, item.actor):
            click.echo(_json(item) if as_json else _text(item))

    async def run() -> None:
        known = operations()
        async with control_client(target, ca_file) as client:
            # The stream begins before the earlier records are read, so that no record is missing between them.
            items = await client.open(known["journal.follow"], kinds, actor) if follow else None
            earlier = await client.call(known["journal.last"], last)
            for entry in earlier:
                show(entry)
            actors = list(dict.fromkeys(each.actor for each in earlier))
            if actor is not None and actor not in actors:
                text = unknown("record of actor", actor, actors[:SHOWN])
                warnings.warn(
                    f"among the last {counted(len(earlier), 'record')}: {text}", LabWarning, stacklevel=1
                )
            if items is not None:
                async for item in items:
                    if item not in earlier:
                        show(item)

    for each in kinds:
        if each not in KINDS:
            warnings.warn(unknown("kind of record", each, KINDS), LabWarning, stacklevel=1)
    asyncio.run(run())


def _text(entry: Entry) -> str:
    when = datetime.fromtimestamp(entry.time / 1_000_000, UTC)
    return f"{when:%Y-%m-%d %H:%M:%S} {one_line(record_line(entry), LONGEST)}"


def _json(entry: Entry) -> str:
    from dataclasses import asdict

    from labkit.control.json_values import to_json

    made: dict[str, Any] = to_json(asdict(entry))
    return json.dumps(made)
