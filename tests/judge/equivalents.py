"""Equivalent mutants: they change nothing that a client could notice; equivalent.toml has the reason for each.

Equivalent means: no difference over HTTPS, in events, mails or results of calls. Texts for people, the journal, speed
and memory do not count.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Set
from functools import cache
from pathlib import Path

from tests.judge.mutations import Key, Mutation, mutations_by
from tests.judge.pieces import normalized

LIST = Path(__file__).with_name("equivalent.toml")


@cache
def equivalents() -> Mapping[Key, str]:
    """Return all equivalent mutants in the order of the file, with their reasons."""
    found: dict[Key, str] = {}
    for place, pieces in tomllib.loads(LIST.read_text(encoding="utf-8")).items():
        module, _, function = place.partition(":")
        for code, reasons in pieces.items():
            for operators, reason in reasons.items():
                for operator, _, nth in (each.partition(":") for each in operators.split()):
                    key = Key(module, function, operator, normalized(code), int(nth or 0))
                    assert key not in found, f"twice in {LIST.name}: {key}"
                    found[key] = reason
    return found


def outdated() -> list[Key]:
    """Return the entries that match no mutation: their code has changed, so that the reason has to be checked again."""
    return [key for key in equivalents() if key not in _keys(key.operator, key.module)]


@cache
def _keys(operator: str, module: str) -> Set[Key]:
    return {each.key for each in mutations_by(operator, module)}


def reason_of(mutation: Mutation) -> str | None:
    """Return the reason why a mutation is equivalent; None if it is not known to be."""
    return equivalents().get(mutation.key)
