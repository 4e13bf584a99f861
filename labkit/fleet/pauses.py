"""Pauses of a run, which latencies exclude."""

from __future__ import annotations

import math


class Pauses:
    """Spans of lab time in which a run was paused."""

    def __init__(self) -> None:
        self._spans: list[tuple[float, float]] = []

    def __bool__(self) -> bool:
        return bool(self._spans)

    def begin(self, now: float) -> None:
        """Begin a pause, unless the run is paused."""
        if not self._spans or self._spans[-1][1] < math.inf:
            self._spans.append((now, math.inf))

    def end(self, now: float) -> None:
        """End the current pause, if there is one."""
        if self._spans and self._spans[-1][1] == math.inf:
            self._spans[-1] = (self._spans[-1][0], now)

    def within(self, since: float, until: float) -> float:
        """Return the seconds of pause between two times."""
        paused = 0.0
        for began, ended in reversed(self._spans):
            if ended <= since:
                break
            paused += max(min(ended, until) - max(began, since), 0.0)
        return paused
