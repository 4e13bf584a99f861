"""Arguments of the requests of a fleet's devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.core.errors import LabError


def written_values(values: Mapping[str, object] | None, more: Mapping[str, object]) -> Mapping[str, object]:
    """Return the values that a write was given, in a mapping or by name. Raises LabError for what is none."""
    if values is None:
        given = more
    elif type(values) is dict or isinstance(values, Mapping):  # the latter alone is dear
        given = {**values, **more} if more else values
    else:
        raise LabError(f"write: expected temperature=21.5 or {{'temperature': 21.5}}, not {values!r}")
    if None in given.values():
        raise LabError("write: None is no value; leave it out to store nothing, '' is the empty text")
    return given


def read_aliases(aliases: Sequence[Any]) -> Sequence[str]:
    """Return the aliases that a read was given. Raises LabError for what is none."""
    if not aliases or not all(isinstance(each, str) for each in aliases):
        raise LabError(f"expected aliases: read('temperature'), not {aliases!r}")
    return aliases
