"""How a check is declared, and where all checks are found.

A check plays one situation against a target over its public face, and compares. It passes by returning.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.conformance import areas

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

    needs: what the target must offer beyond HTTPS: clock, journal, mailbox, handsets, settings, polls.
    """

    def declare(function: Function) -> Check:
        name = areas.name_of(function)
        return Check(name, tuple(requirements.split()), title, frozenset(needs), function)

    return declare


def all_checks() -> list[Check]:
    """Every check, in the order of the files and of the lines in them."""
    found: list[Check] = []
    for module in areas.modules("checks"):
        found += [member for member in vars(module).values() if isinstance(member, Check)]
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
