"""The command `labkit call`."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click

from labkit.commands.control_target import control_client, control_options
from labkit.core.errors import LabError, LabWarning, unknown

if TYPE_CHECKING:
    from labkit.control.over_http.operations import ControlOperation


class CallCommand(click.Command):
    """Click command whose help lists the operations of control; they are imported for the help alone."""

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        from labkit.control.over_http.operations import operations

        with formatter.section("Operations"):
            formatter.write_dl(_described(operations().values()))


@click.command(cls=CallCommand, short_help="Call an operation of a lab that serves control.")
@click.argument("operation", metavar="SUBJECT.OPERATION")
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE]...")
@control_options
def call(operation: str, arguments: tuple[str, ...], target: str | None, ca_file: Path | None) -> None:
    """Call an operation and print its result as JSON. With a SUBJECT alone, list its operations.

    A VALUE is JSON or plain text: seconds=30, id=thermostat, settings='{"id": "thermostat"}'; @FILE is the content of a
    file. `labkit docs SUBJECT.OPERATION` lists the arguments of an operation.
    """
    from labkit.control.over_http.client import arguments_of
    from labkit.control.over_http.operations import operations, present

    if (now := present(operation)) != operation:
        warnings.warn(f"{operation} is called {now} now", LabWarning, stacklevel=1)
        operation = now
    if "." not in operation and (listed := _operations_of(operation, operations())):
        if arguments:
            meant = get_close_matches(f"{operation}.{arguments[0]}", [key for key, _ in listed], n=1)
            similar = f"; did you mean {meant[0]}?" if meant else ""
            raise LabError(f"expected SUBJECT.OPERATION, not {operation!r}{similar}")
        formatter = click.HelpFormatter()
        formatter.write_dl(listed)
        click.echo(formatter.getvalue(), nl=False)
        return
    found = _find(operation, operations())
    if found.streams:
        raise LabError(
            f"{operation} is a stream, which HTTP alone offers; `labkit logs -f` shows the journal's"
        )
    body = arguments_of(found, dict(map(_pair, arguments)))

    async def run() -> bytes:
        async with control_client(target, ca_file) as client:
            return await client.post(found, body)

    result = json.loads(asyncio.run(run()))
    for text in result.get("warnings", ()) if isinstance(result, dict) else ():
        warnings.warn(text, LabWarning, stacklevel=1)
    click.echo(json.dumps(result, indent=2, ensure_ascii=False))


def _operations_of(subject: str, known: Mapping[str, ControlOperation]) -> list[tuple[str, str]]:
    """Return the operations of a subject with their descriptions; empty where there is no such subject."""
    return _described(each for each in known.values() if each.subject == subject)


def _described(known: Iterable[ControlOperation]) -> list[tuple[str, str]]:
    return [(each.key, each.doc.partition("\n\n")[0]) for each in known if not each.streams]


def _find(key: str, known: Mapping[str, ControlOperation]) -> ControlOperation:
    if key in known:
        return known[key]
    subject = key.partition(".")[0]
    subjects = sorted({each.subject for each in known.values()})
    if subject not in subjects:
        raise LabError(unknown("subject", subject, subjects))
    near = [each for each in known if each.startswith(f"{subject}.")]
    raise LabError(unknown("operation", key, near))


def _pair(argument: str) -> tuple[str, str]:
    name, equals, value = argument.partition("=")
    if not equals:
        raise LabError(f"{argument}: expected NAME=VALUE")
    if value.startswith("@"):
        try:
            value = Path(value[1:]).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise LabError(f"{name}: {value[1:]}: {getattr(error, 'strerror', None) or error}") from None
    return name, value
