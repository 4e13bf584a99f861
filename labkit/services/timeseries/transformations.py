"""Functions of InfluxQL that take the points, or the results of intervals, in the order of their times."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import TypeAlias

from labkit.services.series.summaries import Number, Result, finite
from labkit.services.series.times import SECOND

TimedNumbers: TypeAlias = list[tuple[int, Number]]  # time in microseconds, number


@dataclass(frozen=True, slots=True)
class Transformation:
    """Call of such a function. unit: microseconds, 0 for the default; count: of moving_average."""

    name: str
    unit: int = 0
    count: int = 0

    def apply(
        self, points: Iterable[tuple[int, Number]], default_unit: int = SECOND
    ) -> list[tuple[int, Result]]:
        """Return the results, each with the time of its last point. points: oldest first.

        default_unit: of a derivative without a unit. A point of the same time as the one before it is left out.
        """
        ordered: TimedNumbers = []
        for time, number in points:
            if not ordered or time > ordered[-1][0]:
                ordered.append((time, number))
        found = TRANSFORMATIONS[self.name](self, ordered, self.unit or default_unit)
        return [(time, finite(value)) for time, value in found]


def _differences(call: Transformation, points: TimedNumbers, unit: int) -> TimedNumbers:
    found = [(time, number - before) for (_, before), (time, number) in pairwise(points)]
    return _allowed(call, found)


def _derivatives(call: Transformation, points: TimedNumbers, unit: int) -> TimedNumbers:
    found = [
        (time, (number - before) / ((time - since) / unit))
        for (since, before), (time, number) in pairwise(points)
    ]
    return _allowed(call, found)


def _allowed(call: Transformation, found: TimedNumbers) -> TimedNumbers:
    """Return results, for functions that say so without the negative ones."""
    return [each for each in found if each[1] >= 0] if call.name.startswith("non_negative") else found


def _moving_average(call: Transformation, points: TimedNumbers, unit: int) -> TimedNumbers:
    last: deque[Number] = deque(maxlen=call.count)
    found: TimedNumbers = []
    for time, number in points:
        last.append(number)
        if len(last) == call.count:
            found.append((time, sum(last) / call.count))
    return found


def _cumulative_sum(call: Transformation, points: TimedNumbers, unit: int) -> TimedNumbers:
    total: Number = 0
    found: TimedNumbers = []
    for time, number in points:
        total += number
        found.append((time, total))
    return found


TRANSFORMATIONS: Mapping[str, Callable[[Transformation, TimedNumbers, int], TimedNumbers]] = MappingProxyType(
    {
        "difference": _differences,
        "non_negative_difference": _differences,
        "derivative": _derivatives,
        "non_negative_derivative": _derivatives,
        "moving_average": _moving_average,
        "cumulative_sum": _cumulative_sum,
    }
)
