"""Values that can be written as Python literals and read back."""

from __future__ import annotations

import math
from copy import deepcopy

PLAIN = (bool, int, str, bytes, type(None))


def is_literal(value: object) -> bool:
    """Return whether `ast.literal_eval(repr(value))` gives an equal value of the same types."""
    kind = type(value)
    if kind in PLAIN:
        return True
    if isinstance(value, float) and kind is float:
        return math.isfinite(value)
    if isinstance(value, list | tuple) and kind in (list, tuple):
        return all(map(is_literal, value))
    if isinstance(value, set) and kind is set:
        return bool(value) and all(map(is_literal, value))
    if isinstance(value, dict) and kind is dict:
        return all(is_literal(name) and is_literal(each) for name, each in value.items())
    return False


def kept(value: object) -> object:
    """Return a value that does not change with the given one: a copy of a list, a set or a dictionary."""
    return deepcopy(value) if isinstance(value, list | set | dict) and is_literal(value) else value
