"""The command `labkit page`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from labkit.commands.control_target import control_client, control_options


@click.command(short_help="Print a link to the page of a lab that serves control.")
@control_options
def page(target: str | None, ca_file: Path | None) -> None:
    """Print a link to a page that shows what happens in the lab, and acts on it. Each link works once."""

    async def link() -> str:
        async with control_client(target, ca_file) as client:
            return await client.page()

    click.echo(asyncio.run(link()))
