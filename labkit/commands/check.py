"""The command `labkit check`."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import click

from labkit.commands.options import overlay_options


@click.command(short_help="Check a lab.yaml and the scripts of its solutions, without serving it.")
@click.argument("file", type=click.Path(path_type=Path))
@overlay_options
def check(file: Path, assignments: tuple[str, ...], faults: tuple[str, ...]) -> None:
    """Check FILE, a lab.yaml, and the scripts of its solutions.

    Prints a line for each problem; the exit status is 1 if there is any. A warning is a line, too:
    an event handler or a fault that nothing will reach, a call of an operation that a service does
    not have. Nothing is started: no script runs, no port is opened, and no data file is touched.
    """
    from labkit.control.hints import settings_warnings
    from labkit.core.errors import LabWarning, SettingsError
    from labkit.platform import Platform
    from labkit.settings import load

    try:
        platform = Platform(load(file, assignments=assignments, faults=faults))
        problems = platform.problems()
    except SettingsError as error:
        problems = list(error.parts)
    else:
        found = [*platform.solutions.warnings(), *settings_warnings(platform)]
        for text in found:
            warnings.warn(text, LabWarning, stacklevel=1)
        if not problems and not found:
            click.echo(f"{file}: no problems")
    for each in problems:
        click.echo(each, err=True)
    sys.exit(1 if problems else 0)
