"""Instants at which the devices of a fleet act together."""

from __future__ import annotations

SHORTEST = 1.0  # seconds of a sleep that may be moved, where no interval is given


def instant(now: float, seconds: float, in_step: bool | float) -> float:
    """Return the lab time at which a sleep of `seconds` ends.

    in_step: as of `OverlapSettings`: True moves the end to the nearest multiple of the sleep's length, a number to the
    nearest multiple of that number; shorter sleeps keep their end.
    """
    step = float(seconds if in_step is True else in_step)
    if not step or seconds < max(step, SHORTEST if in_step is True else 0.0) or seconds != seconds:
        return now + seconds
    return round((now + seconds) / step) * step
