"""Faults of lists of bindings that no row can say: where a day begins and ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.mutant import mutant

PAGE = "labkit.providers.messaging.bindings:page"
DAY = 86_400


def moved(original: Any, **seconds: int) -> Any:
    """Move the bounds of what a list selects."""

    def broken(connection: Any, service: str, wanted: Any, *args: Any, **named: Any) -> Any:
        bounds = {name: getattr(wanted, name) for name in seconds}
        there = {name: at + seconds[name] for name, at in bounds.items() if at is not None}
        return original(connection, service, replace(wanted, **there), *args, **named)

    return broken


@mutant("NTF-LIST-6", PAGE)
def last_day_excluded(original: Any) -> Any:
    """the last day does not belong to it"""
    return moved(original, before=-DAY)


@mutant("NTF-LIST-6", PAGE)
def first_second_excluded(original: Any) -> Any:
    """the first second of the first day does not belong to it"""
    return moved(original, since=1)


@mutant("NTF-LIST-6", PAGE)
def another_zone(original: Any) -> Any:
    """days are those of another zone"""
    return moved(original, since=-3600, before=-3600)
