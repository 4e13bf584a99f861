"""The command `labkit diff`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from labkit.commands.options import json_option, only_option
from labkit.core.commands import FILE
from labkit.core.errors import LabkitError

WORSE = 1
TROUBLE = 2  # exit status where nothing was compared, as that of diff(1)


@click.command(short_help="Compare two reports, two platforms or two journals.")
@click.argument("a")
@click.argument("b")
@only_option
@click.option("--seed", type=int, default=7, show_default=True, help="Seed of the checks against `lab`.")
@click.option(
    "--html",
    "page",
    type=FILE,
    help="Write the difference as an HTML page, too.",
)
@json_option("Print JSON.")
def diff(a: str, b: str, only: str, seed: int, page: Path | None, as_json: bool) -> None:
    """Compare A, the earlier one, with B: requirements that changed verdict, or the first record that differs.

    Each is a report's folder, such as reports/latest; a platform: URL, output or file of `serve --json`, or `lab`; or a
    file with a journal: lab.journal.canonical(), or `labkit logs --json`. Checks are played against platforms now.

    The exit status is 1 if something got worse: a requirement that had passed did anything else, one that had warned
    failed or was not seen, any other failed or broke; or the journals differ. It is 2 if A or B cannot be compared.
    Requirements and checks that are new or gone are listed.
    """
    from labkit.core.progress import Progress
    from labkit.reporting import differences

    try:
        with Progress("labkit diff", unit="check") as bar:
            found = differences.diff(a, b, only=only, seed=seed, progress=lambda verdict: bar.update())
        if page is not None:
            _write(page, found)
    except LabkitError as error:
        click.echo(f"labkit: {error}", err=True)
        sys.exit(TROUBLE)
    click.echo(json.dumps(found.as_dict(), ensure_ascii=False) if as_json else str(found))
    sys.exit(WORSE if found.is_worse else 0)


def _write(page: Path, found: object) -> None:
    from typing import Any, cast

    from labkit.core.errors import SettingsError
    from labkit.reporting.html import difference_page

    try:
        page.write_text(difference_page(cast(Any, found)), encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"--html: {page}: {error.strerror}") from error
