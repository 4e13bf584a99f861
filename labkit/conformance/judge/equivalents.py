"""Mutants that change nothing that anybody could see, each with the reason (equivalent.toml).

Equivalent means: no difference over HTTPS, in events, mails or results of calls. Texts for people, the journal, speed
and memory do not count.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from labkit.conformance.judge.mutations import Mutation, mutations_by


@dataclass(frozen=True, slots=True)
class Equivalent:
    """A mutation, by the line that it changes: where that is no more, the reason has to be thought over."""

    module: str
    operator: str
    line: str
    reason: str
    nth: int = 0

    def mutation(self) -> Mutation | None:
        """The mutation itself; None where the module no longer has it."""
        same = mutations_by(self.operator, self.module)
        return next((each for each in same if (each.line, each.nth) == (self.line, self.nth)), None)


@cache
def equivalents() -> tuple[Equivalent, ...]:
    """All that are known, in the order of the file."""
    text = (files("labkit.conformance.judge") / "equivalent.toml").read_text(encoding="utf-8")
    return tuple(
        Equivalent(f"{folder}/{each.pop('module')}", **each)
        for folder, entries in tomllib.loads(text).items()
        for each in entries
    )


@cache
def reasons() -> Mapping[tuple[str, str, str, int], str]:
    """The reason, by what tells a mutation from others."""
    return {(each.module, each.operator, each.line, each.nth): each.reason for each in equivalents()}


def reason_of(mutation: Mutation) -> str | None:
    """Why a mutation is equivalent; None where it is not known to be."""
    return reasons().get((mutation.module, mutation.operator, mutation.line, mutation.nth))
