"""What several processes measure, each in intervals of its own, in the intervals of one run."""

from __future__ import annotations

import math
from collections.abc import Iterator

from labkit.fleet.measures import Measures

INSTANT = 1e-6  # seconds: what two rows are apart, at least


class Intervals:
    """The intervals of a run that are not told yet. began: of the run; every: how long one lasts (lab time)."""

    def __init__(self, began: float, every: float) -> None:
        self._began = began
        self._every = every
        self._told = 0
        self._last = began  # the end of the one that was told last
        self._bins: dict[int, Measures] = {}  # by number, from 1

    @property
    def due(self) -> float:
        """When the next one ends."""
        return self._began + self._every * (self._told + 1)

    def add(self, measures: Measures, begin: float, end: float) -> None:
        """Count what somebody has measured from `begin` to `end`, in the interval in which most of that lies."""
        middle = (min(begin, end) + end) / 2
        number = max(math.floor((middle - self._began) / self._every) + 1, self._told + 1)
        self._bins.setdefault(number, Measures()).merge(measures)

    def take(self) -> Measures:
        """The next one, which is told herewith."""
        self._told, self._last = self._told + 1, self.due
        return self._bins.pop(self._told, Measures())

    def rest(self, end: float) -> Iterator[tuple[float, Measures]]:
        """What is left of a run that ended at `end`: when each ends, and what was counted."""
        while self._bins and self.due < end:
            when = self.due
            yield when, self.take()
        if self._bins:  # also what others, by clocks of their own, say of later
            last = Measures()
            for each in self._bins.values():
                last.merge(each)
            self._bins.clear()
            yield max(end, self._last + INSTANT), last
