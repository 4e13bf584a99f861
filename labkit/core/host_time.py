"""The host's clocks, and monotonic time that follows them, also where they are set back.

Libraries of tests that fake time (freezegun, time-machine) change none of them: TLS and other processes know the true
time, and lab time has a clock of its own.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

STEP = 0.1  # seconds of deviation from which the host's clock counts as set; less is drift
PACE = 0.95  # lab seconds in a real one while lab time is ahead of the host's clock


def _real(name: str) -> Callable[[], float]:
    """Return a clock of `time` as a new object: freezegun replaces the functions of `time` in every module."""
    return partial(getattr(sys.modules.get("freezegun.api"), f"real_{name}", getattr(time, name)))


monotonic, perf_counter, _time = map(_real, ("monotonic", "perf_counter", "time"))


def _since() -> float:
    """Return the time since 1970 at which `monotonic` was 0."""
    hatch = getattr(sys.modules.get("time_machine"), "escape_hatch", None)
    return (hatch.time.time() if hatch is not None and hatch.is_travelling() else _time()) - monotonic()


_SINCE = _since()


def wall() -> float:
    """Return the host's seconds since 1970; once time-machine, which changes `time.time` itself, has been imported
    without following changes of the host's clock.
    """
    return _SINCE + monotonic() if "time_machine" in sys.modules else _time()


class RealTime(NamedTuple):
    """The host's clocks, in seconds.

    wall: since 1970, which may be set; steady: cannot be set, and stands still while the machine sleeps.
    """

    wall: Callable[[], float] = wall
    steady: Callable[[], float] = monotonic


class _Observation(NamedTuple):
    """Lab time and the host's clocks at an instant."""

    lab: float
    wall: float
    steady: float


class HostTime:
    """Time that follows the host's clock and never goes back.

    It goes forward with that clock when it is set forward, or the machine slept. Where the host's clock is set
    back, this time goes on, a twentieth slower until the host's clock has caught up. end: the time at which it
    stops.
    """

    def __init__(self, real: RealTime, end: float = math.inf) -> None:
        self._wall, self._steady = real
        self._end = end
        self._latest = wall = self._wall()  # the last result of `now`
        self._ahead: _Observation | None = None  # when the host's clock fell behind
        self._observed = _Observation(wall, wall, self._steady())

    def now(self) -> float:
        """Return the seconds since 1970."""
        wall = self._wall()
        if wall < self._latest or self._ahead is not None:
            return self._time_ahead(wall)
        self._latest = wall
        return wall

    @property
    def pace(self) -> float:
        """Seconds of this time in a real second."""
        return 1.0 if self._ahead is None else PACE

    @property
    def ahead(self) -> float:
        """Seconds by which this time is ahead of the host's clock."""
        return max(self.now() - self._wall(), 0.0)

    def continue_from(self, when: float) -> None:
        """Continue from `when`, which is later than now."""
        self._latest = when
        self._ahead = _Observation(when, self._wall(), self._steady())

    def observe(self) -> float:
        """Return the seconds by which the host's clock was set since the last call, or the machine slept.

        0 for less than STEP. Call it regularly: changes between two calls count as one step.
        """
        before = self._observed
        first, wall, steady = self._steady(), self._wall(), self._steady()
        self._observed = _Observation(self.now(), wall, steady)
        step = (wall - before.wall) - (steady - before.steady)
        waited = steady - first  # this process may have been paused between the two readings
        return step if abs(step) > STEP + waited else 0.0

    def _time_ahead(self, wall: float) -> float:
        """Return the time where the host's clock is behind this one, or may have caught up."""
        steady = self._steady()
        if self._ahead is None:
            if self._latest - wall < STEP:
                return self._latest
            seen = self._observed
            lab = max(self._latest, seen.lab + steady - seen.steady)
            self._ahead = _Observation(lab, wall, steady)
        lab = max(self._latest, self._ahead.lab + PACE * (steady - self._ahead.steady))
        if wall >= lab:
            self._ahead = None
        self._latest = min(max(wall, lab), self._end)
        return self._latest
