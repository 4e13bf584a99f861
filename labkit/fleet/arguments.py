"""Checks of the arguments of device requests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from labkit.core.errors import LabError

LONGEST_POLL = 300.0  # seconds that the platform holds a poll at most


def written_values(
    values: Mapping[str, object] | None, more: Mapping[str, object], written: dict[str, object] | None = None
) -> Mapping[str, object]:
    """Return the values of a write, given in a mapping and by name, and add them to `written`.

    Raises LabError for invalid ones.
    """
    if values is None:
        given = more
    elif type(values) is dict or isinstance(values, Mapping):  # the first check is cheaper
        given = {**values, **more} if more else values
    else:
        raise LabError(f"write: expected temperature=21.5 or {{'temperature': 21.5}}, not {values!r}")
    if None in given.values():
        raise LabError("write: None is no value; omit it to store nothing, '' is the empty text")
    if written is not None:
        written |= given
    return given


def read_aliases(aliases: Sequence[Any]) -> Sequence[str]:
    """Return the aliases of a read. Raises LabError if there are none or one is not a text."""
    if not aliases or not all(isinstance(each, str) for each in aliases):
        raise LabError(f"expected aliases: read('temperature'), not {aliases!r}")
    return aliases


def poll_seconds(timeout: object) -> float:
    """Return the timeout of a poll in seconds. Raises LabError unless it is a number of 0 or more."""
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 <= timeout < math.inf:
        raise LabError(f"poll: timeout: expected seconds, not {timeout!r:.100}")
    return timeout


def range_text(range: object) -> str | None:
    """Return the byte range of a download. Raises LabError unless it is a text."""
    if range is not None and not isinstance(range, str):
        raise LabError(f"download: range: expected a text such as 'bytes=0-99', not {range!r:.100}")
    return range
