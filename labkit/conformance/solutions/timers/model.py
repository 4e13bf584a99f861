"""Reference model of the timers of one solution."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(slots=True)
class ModelTimer:
    """A timer that is set. due: Unix seconds; interval: seconds, None for once; number: value of its message."""

    name: str
    number: int
    due: Fraction
    interval: Fraction | None


class SolutionTimers:
    """Timers of a solution, in the order in which they were set, and those that have fired: (name, number)."""

    def __init__(self) -> None:
        self.set: list[ModelTimer] = []
        self.fired: list[tuple[str, int]] = []

    def add(self, timer: ModelTimer) -> None:
        """Set a timer, in place of one with the same name."""
        self.remove(timer.name)
        self.set.append(timer)

    def remove(self, name: str) -> None:
        """Cancel a timer, if there is one with this name."""
        self.set = [each for each in self.set if each.name != name]

    def advance(self, now: Fraction) -> None:
        """Fire all timers that are due at `now` or before, in order."""
        while due := [each for each in self.set if each.due <= now]:
            first = min(due, key=lambda each: each.due)
            self.fired.append((first.name, first.number))
            if first.interval is None:
                self.set.remove(first)
            else:
                first.due += first.interval

    def listed(self) -> list[tuple[str, int, float]]:
        """Return name, number and Unix seconds of each timer, in the order in which they fire."""
        return [
            (each.name, each.number, float(each.due)) for each in sorted(self.set, key=lambda each: each.due)
        ]
