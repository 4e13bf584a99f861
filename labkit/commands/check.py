"""The command `labkit check`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from labkit.commands.options import overlay_options


@click.command(short_help="Check a lab.yaml and the scripts of its solutions, without serving it.")
@click.argument("file", type=click.Path(path_type=Path))
@overlay_options
def check(file: Path, assignments: tuple[str, ...], faults: tuple[str, ...]) -> None:
    """Check FILE, a lab.yaml, and the scripts of its solutions.

    Prints a line for each problem; the exit status is 1 if there is any. An event handler or a
    fault that nothing will reach, such as one for a misspelt event, is a problem. Nothing is
    started: no script runs, no port is opened, and no data file is touched.
    """
    from labkit.control.hints import settings_hints
    from labkit.core.errors import SettingsError
    from labkit.platform import Platform
    from labkit.settings import load

    try:
        platform = Platform(load(file, assignments=assignments, faults=faults))
        problems = [*platform.problems(), *settings_hints(platform)]
    except SettingsError as error:
        problems = list(error.parts)
    else:
        if not problems:
            click.echo(f"{file}: no problems")
    for each in problems:
        click.echo(each, err=True)
    sys.exit(1 if problems else 0)
