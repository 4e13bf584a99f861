"""Checks of the arguments of device requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.core.errors import LabError


def written_values(values: Mapping[str, object] | None, more: Mapping[str, object]) -> Mapping[str, object]:
    """Return the values of a write, given in a mapping and by name. Raises LabError for invalid ones."""
    if values is None:
        given = more
    elif type(values) is dict or isinstance(values, Mapping):  # the first check is cheaper
        given = {**values, **more} if more else values
    else:
        raise LabError(f"write: expected temperature=21.5 or {{'temperature': 21.5}}, not {values!r}")
    if None in given.values():
        raise LabError("write: None is no value; omit it to store nothing, '' is the empty text")
    return given


def read_aliases(aliases: Sequence[Any]) -> Sequence[str]:
    """Return the aliases of a read. Raises LabError if there are none or one is not a text."""
    if not aliases or not all(isinstance(each, str) for each in aliases):
        raise LabError(f"expected aliases: read('temperature'), not {aliases!r}")
    return aliases
