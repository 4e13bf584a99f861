"""Counts of things in sentences."""

from __future__ import annotations

import re

Y = re.compile(r"(?<![aeiou])y$")


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: `1 device`, `2 entries`. noun: in the singular."""
    return f"{count} {plural(count, noun)}"


def plural(count: float, noun: str) -> str:
    """Return a noun as it stands after a number: `device` after 1, else `devices`."""
    return noun if count == 1 else f"{Y.sub('ie', noun)}s"
