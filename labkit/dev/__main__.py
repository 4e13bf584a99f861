"""Command line of the developer tools: `python -m labkit.dev new service Timer` begins a new service."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

import labkit
from labkit.core.commands import Commands
from labkit.dev.copies import FOLDER, update
from labkit.dev.scaffolds import SCAFFOLDS, ScaffoldError, areas, next_step, write
from labkit.settings.notebooks import NAME

CHECKOUT = Path(labkit.__file__).parents[1]
NEWS = "@jupyterlab/apputils-extension/notification.jupyterlab-settings"


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Developer tools of labkit, for a checkout."""


@main.command()
@click.argument("kind", type=click.Choice(sorted(SCAFFOLDS)))
@click.argument("name")
def new(kind: str, name: str) -> None:
    """Write the files of a new part of labkit, with its tests, and register it.

    \b
    service  NAME in CamelCase: a service of the platform that solutions call, its requirements and checks
    host     NAME in lower_case: a provider outside of the platform, with a host name of its own
    part     AREA/NAME: requirements, checks and mutants of a part of the documents
    fault    NAME in lower_case: a kind of fault of virtual devices

    The new files work, and pass `make lint` and their own tests: edit them step by step. Nothing is written where a
    file exists already, or NAME cannot be used.
    """
    try:
        known = areas()
        for path in write(CHECKOUT, kind, name):
            click.echo(path)
    except ScaffoldError as error:
        raise click.ClickException(str(error)) from None
    if kind == "part" and (area := name.partition("/")[0]) not in known:
        click.echo(f"{area} is a new area, there were: {', '.join(known)}", err=True)
    click.echo(f"next: {next_step(kind, name)}")


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def lab(options: tuple[str, ...]) -> None:
    """Open copies of the notebooks in JupyterLab, with OPTIONS of `jupyter lab`; git ignores them."""
    folder = CHECKOUT / FOLDER
    for name in update(CHECKOUT / NAME, folder):
        click.echo(
            f"{folder / name}: edited, and older than the original: delete it to get a new copy", err=True
        )
    own = (
        folder / ".jupyterlab"
    )  # without the tabs of other projects, and without a question about Jupyter's news
    if not (own / NEWS).exists():
        (own / NEWS).parent.mkdir(parents=True)
        (own / NEWS).write_text('{"fetchNews": "false", "checkForUpdates": false}')
    given = {
        "ServerApp.root_dir": folder,
        "LabApp.user_settings_dir": own,
        "LabApp.workspaces_dir": own / "workspaces",
        "LabApp.default_url": "/lab/tree/00_start.ipynb",
    }
    arguments = [f"--{name}={value}" for name, value in given.items()]
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *arguments, *options])


if __name__ == "__main__":
    main(prog_name="python -m labkit.dev")
