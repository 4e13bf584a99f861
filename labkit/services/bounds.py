"""Limits of the size and depth of values, checked without reading more of a value than the limit."""

from __future__ import annotations

from collections.abc import Mapping

DEEPEST = 100  # nested tables and lists, the most that a script can receive
LONGEST_NAME = 64  # characters of a name in errors and the journal


def fits(value: object, most: int) -> bool:
    """Return whether a value of tables, lists and texts has at most `most` characters and items. Ends for any value."""
    left = [value]
    while left:
        each = left.pop()
        inner: list[object] = []
        if isinstance(each, str | bytes):
            most -= len(each)
        elif isinstance(each, Mapping | list | tuple):
            most -= len(each)
            if most >= 0:
                inner = [*each.keys(), *each.values()] if isinstance(each, Mapping) else [*each]
        most -= 1
        if most < 0:
            return False
        left += inner
    return True


def is_deep(value: object) -> bool:
    """Return whether a value is nested deeper than DEEPEST tables and lists."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for each in level
            if isinstance(each, Mapping | list | tuple)
            for inner in (each.values() if isinstance(each, Mapping) else each)
        ]
        if not level:
            return False
    return True


def shown_name(name: str) -> str:
    """Return a name as errors and the journal show it: cut after LONGEST_NAME characters."""
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"
