"""How a check is declared, and where all checks are found.

A check plays one situation against a target over its public face, and compares. It passes by returning. A model check
plays random sequences, and returns what it found.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.conformance import areas

if TYPE_CHECKING:
    from labkit.conformance.models.search import Findings, Model
    from labkit.conformance.target import Target

Function = Callable[["Target"], Awaitable["Findings | None"]]

STEPS = 200  # commands that a model check plays in a report
SECONDS = 30.0  # of real time that it takes at most


@dataclass(frozen=True, slots=True)
class Check:
    """A check: which requirements it speaks for, what it plays, and what it needs beyond HTTPS.

    model: what it searches, where it is a model check.
    """

    name: str
    requirements: tuple[str, ...]
    title: str
    needs: frozenset[str]
    function: Function
    model: Model | None = None


def check(requirements: str, title: str, *, needs: Iterable[str] = ()) -> Callable[[Function], Check]:
    """Declare a check of one or more requirements (ids separated by spaces).

    needs: what the target must offer beyond HTTPS: clock, journal, mailbox, handsets, settings, polls.
    """

    def declare(function: Function) -> Check:
        name = areas.name_of(function)
        return Check(name, tuple(requirements.split()), title, frozenset(needs), function)

    return declare


def model_check(name: str, title: str, model: Model, *, needs: Iterable[str] = ()) -> Check:
    """Declare a check that searches a model: for each of its rules the outcome is its own."""

    async def play(target: Target) -> Findings:
        from labkit.conformance.models.search import search

        return await search(model, target, steps=STEPS, seconds=SECONDS)

    return Check(name, model.rules, title, frozenset(needs), play, model)


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
