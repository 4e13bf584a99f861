"""States of a clock and of its timers as plain data, for snapshots."""

from __future__ import annotations

from typing import NamedTuple

# Returned by the callback of a timer after which nothing has to settle, since it has changed nothing else.
QUIET = object()


class TimerState(NamedTuple):
    """When a timer fires, in Unix seconds, and its place among timers of the same time."""

    when: float
    order: int


class ClockSnapshot(NamedTuple):
    """State of a clock: its rate, lab time and start in Unix seconds, and the number of timers so far."""

    rate: float
    now: float
    start: float
    timers: int


class Reading(NamedTuple):
    """The state of a clock at an instant. lab, real: lab time and the system's time, in Unix seconds."""

    rate: float
    lab: float
    real: float
