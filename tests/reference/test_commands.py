"""Reference of the commands: a word on each option and argument, and an entry at the terminal for each command."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from labkit.cli import main


def commands(group: click.Group, name: str) -> Iterator[tuple[str, click.Command]]:
    """Yield each command of a group and of the groups in it, with its full name."""
    for own, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} {own}")
        yield f"{name} {own}", command


COMMANDS = dict(commands(main, "labkit"))


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_and_argument_has_a_word_of_its_own(name: str) -> None:
    command = COMMANDS[name]
    assert command.help
    lacking = []
    for each in command.params:
        if isinstance(each, click.Option):
            lacking += [each.opts] if not each.help else []
        else:
            words = {each.name, *re.findall(r"[A-Z]+", each.metavar or "")}
            found = [
                word for word in words if word and re.search(rf"\b{word}\b", command.help, re.IGNORECASE)
            ]
            lacking += [] if found else [[str(each.name)]]
    assert lacking == []
