"""The command `labkit docs`."""

from __future__ import annotations

import json
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from labkit.core.commands import PATH
from labkit.core.errors import LabError

if TYPE_CHECKING:
    from labkit.reference.entry import ReferenceEntry

BOOK = Path("reports", "book", "html", "index.html")  # in a checkout
LUA_TYPES = ".labkit.lua"  # hidden, so that a solution's folder may have it
EDITORS = (
    "LuaLS, the language server of Lua for editors, finds it in the folder that is open there, else by its setting\n"
    "Lua.workspace.library with the path of this folder. Set its Lua.runtime.version to LuaJIT."
)
CHECKOUT = Path(__file__).parents[2]  # of this labkit, unless it is installed as a package


@click.command(short_help="Show the reference of a service, operation, event, setting or command.")
@click.argument("name", required=False)
@click.option("--schema", "is_schema", is_flag=True, help="Print the JSON Schema of lab.yaml, for editors.")
@click.option(
    "--lua-types",
    metavar="[FOLDER]",
    is_flag=False,
    flag_value=".",
    type=PATH,
    help=f"Write {LUA_TYPES}, from which LuaLS completes scripts in editors.",
)
@click.pass_context
def docs(context: click.Context, name: str | None, is_schema: bool, lua_types: Path | None) -> None:
    """Print the reference of NAME; without a NAME open the book, if `make book` has built it.

    NAME is a service, an operation (User.listUsers), an event ("device datapoint"), a setting (guard.header), a fault
    (faults.delay), a control operation (clock.advance), a requirement (DEV-ALIAS-1), a command (serve), or a name in
    Python (Lab.product).
    """
    from labkit.reference.pages import find
    from labkit.reference.settings import schema

    if is_schema:
        click.echo(json.dumps(schema(), indent=2, ensure_ascii=False))
    elif lua_types is not None:
        from labkit.reference import lua_types as types

        try:
            (lua_types / LUA_TYPES).write_text(types.text(), "utf-8")
        except OSError as error:
            raise LabError(f"--lua-types: {error.filename}: {error.strerror}") from None
        click.echo(lua_types / LUA_TYPES)
        click.echo(EDITORS, err=True)
    elif name is None:
        book = built_book()
        click.echo(book)
        webbrowser.open(book.as_uri())
    else:
        click.echo("\n".join(each.text() for each in find(name, _commands(context.find_root()))))


def built_book() -> Path:
    """Return the first page of the book: that of this labkit, else that of the current folder.

    Raises LabError where it has not been built.
    """
    for folder in (CHECKOUT, Path.cwd()):
        if (folder / BOOK).is_file():
            return folder / BOOK
    raise LabError(
        "the book is not built here: run `make book` in a checkout, or `labkit docs NAME` for one entry"
    )


def _commands(root: click.Context) -> Iterator[ReferenceEntry]:
    """Yield an entry for each command of `labkit`, with its help."""
    from labkit.reference.entry import ReferenceEntry

    group = root.command
    if isinstance(group, click.Group):
        for name, command in group.commands.items():
            own = click.Context(command, info_name=name, parent=root)
            yield ReferenceEntry("command", f"labkit {name}", command.get_help(own), (name,))
