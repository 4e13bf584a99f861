"""Counts of executed lines of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

LineCounts = dict[str, dict[int, int]]  # by file and line


def summed(counts: Iterable[LineCounts]) -> LineCounts:
    """Return the sum of counts, by file and line."""
    total: dict[str, Counter[int]] = {}
    for each in counts:
        for file, lines in each.items():
            total.setdefault(file, Counter()).update(lines)
    return {file: dict(lines) for file, lines in total.items()}
