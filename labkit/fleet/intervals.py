"""Merger of measurements from several processes, with their own intervals, into the intervals of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator

from labkit.fleet.measures import Measures

INSTANT = 1e-6  # seconds between two rows, at least


class Intervals:
    """Intervals of a run that are not emitted yet. began: start of the run; every: length of an interval (lab time)."""

    def __init__(self, began: float, every: float) -> None:
        self._began = began
        self._every = every
        self._emitted = 0
        self._last = began  # end of the last emitted interval
        self._bins: dict[int, Measures] = {}  # by number, from 1

    @property
    def due(self) -> float:
        """Lab time at which the next interval ends."""
        return self._began + self._every * (self._emitted + 1)

    def add(self, measures: Measures, begin: float, end: float) -> None:
        """Add measurements from `begin` to `end` to the interval that contains most of that time."""
        middle = (min(begin, end) + end) / 2
        number = max(math.floor((middle - self._began) / self._every) + 1, self._emitted + 1)
        self._bins.setdefault(number, Measures()).merge(measures)

    def take(self) -> Measures:
        """Remove and return the next interval."""
        self._emitted, self._last = self._emitted + 1, self.due
        return self._bins.pop(self._emitted, Measures())

    def rest(self, end: float) -> Iterator[tuple[float, Measures]]:
        """Yield end and measurements of the remaining intervals of a run that ended at `end`."""
        while self._bins and self.due < end:
            when = self.due
            yield when, self.take()
        if self._bins:  # clocks of other processes may be ahead of `end`
            last = Measures()
            for each in self._bins.values():
                last.merge(each)
            self._bins.clear()
            yield max(end, self._last + INSTANT), last
