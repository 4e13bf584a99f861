"""How a check is declared, and where all checks are found.

A check plays one situation against a target over its public face, and compares. It passes by returning.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labkit.conformance.target import Target

Function = Callable[["Target"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Check:
    """A check: which requirements it speaks for, what it plays, and what it needs beyond HTTPS."""

    name: str
    requirements: tuple[str, ...]
    title: str
    needs: frozenset[str]
    function: Function


def check(requirements: str, title: str, *, needs: Iterable[str] = ()) -> Callable[[Function], Check]:
    """Declare a check of one or more requirements (ids separated by spaces).

    needs: what the target must offer beyond HTTPS: clock, journal, mailbox, settings, polls.
    """

    def declare(function: Function) -> Check:
        module = function.__module__.rpartition(".")[2].replace("_", "-")
        name = f"{module}/{function.__name__.replace('_', '-')}"
        return Check(name, tuple(requirements.split()), title, frozenset(needs), function)

    return declare


def all_checks() -> list[Check]:
    """Every check, in the order of the files and of the lines in them."""
    from labkit.conformance import checks

    found: list[Check] = []
    for module in sorted(pkgutil.iter_modules(checks.__path__), key=lambda module: module.name):
        members = vars(import_module(f"{checks.__name__}.{module.name}"))
        found += [member for member in members.values() if isinstance(member, Check)]
    return found


def select(checks: Iterable[Check], *prefixes: str) -> list[Check]:
    """The checks of the requirements whose ids begin with one of the prefixes; all without one."""
    if not prefixes:
        return list(checks)
    return [
        each
        for each in checks
        if any(_below(name, prefix) for name in each.requirements for prefix in prefixes)
    ]


def _below(id: str, prefix: str) -> bool:
    return id == prefix or id.startswith(prefix.rstrip("-") + "-")
