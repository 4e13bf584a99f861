"""What arguments of several groups have in common."""

from __future__ import annotations

from collections.abc import Mapping


def listed(value: object) -> object:
    """For BeforeValidator: one item may stand for a list of one, and an empty table may look like an object."""
    if value == {}:
        return []
    return [value] if isinstance(value, Mapping | str) else value
