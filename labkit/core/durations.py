"""Durations in real time as text: `30s`, `5m`, `1h`."""

from __future__ import annotations

import re

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(s|m|min|h)?")


def duration_seconds(text: str) -> float:
    """Return the seconds of a duration such as `30s`, `5m`, `1.5h` or `90`. Raises ValueError for another text."""
    match = DURATION.fullmatch(text)
    seconds = 0.0 if match is None else float(match[1]) * UNITS[match[2] or ""]
    if not seconds:
        raise ValueError(f"{text!r} is no duration such as 30s, 5m or 1h")
    return seconds
