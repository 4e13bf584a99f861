"""The host's time, as lab time follows it: it never goes back, also where the host's clock is set back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

STEP = 0.1  # seconds by which the host's clock has to be off for it to count as set; less is drift
PACE = 0.95  # lab seconds in a real one while lab time is ahead of the host's clock


class RealTime(NamedTuple):
    """The host's clocks, in seconds. wall: since 1970, which may be set; steady: cannot be set, and stands still while
    the machine sleeps.
    """

    wall: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic


class _Look(NamedTuple):
    """What lab time and the host's clocks were at an instant."""

    lab: float
    wall: float
    steady: float


class HostTime:
    """Time that follows the host's clock.

    It shows what that clock does, also where that goes forward: it was set, or the machine slept. Where the host's
    clock is set back, this time goes on, a twentieth slower until the host's clock has caught up.
    end: where it stops.
    """

    def __init__(self, real: RealTime, end: float = math.inf) -> None:
        self._wall, self._steady = real
        self._end = end
        self._latest = wall = self._wall()  # what `now` last returned
        self._ahead: _Look | None = None  # since when the host's clock shows less
        self._observed = _Look(wall, wall, self._steady())

    def now(self) -> float:
        """Seconds since 1970."""
        wall = self._wall()
        if wall < self._latest or self._ahead is not None:
            return self._beyond(wall)
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

    def begin_after(self, when: float) -> None:
        """Go on from `when`, which is later than now."""
        self._latest = when
        self._ahead = _Look(when, self._wall(), self._steady())

    def observe(self) -> float:
        """Return by how many seconds the host's clock was set since the last call, or the machine slept.

        0 for less than STEP. To be called every now and then: what is between two calls counts as one step.
        """
        before = self._observed
        first, wall, steady = self._steady(), self._wall(), self._steady()
        self._observed = _Look(self.now(), wall, steady)
        step = (wall - before.wall) - (steady - before.steady)
        waited = steady - first  # this process may have been held up between the two
        return step if abs(step) > STEP + waited else 0.0

    def _beyond(self, wall: float) -> float:
        """The time where the host's clock shows less than this one did, or may have caught up."""
        steady = self._steady()
        if self._ahead is None:
            if self._latest - wall < STEP:
                return self._latest
            seen = self._observed
            lab = max(self._latest, seen.lab + steady - seen.steady)
            self._ahead = _Look(lab, wall, steady)
        lab = max(self._latest, self._ahead.lab + PACE * (steady - self._ahead.steady))
        if wall >= lab:
            self._ahead = None
        self._latest = min(max(wall, lab), self._end)
        return self._latest
