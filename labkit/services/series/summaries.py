"""Summaries of points in equal intervals of time: counts, sums, extremes, first and last, medians."""

from __future__ import annotations

import json
import math
import statistics
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from labkit.core.errors import ServiceError
from labkit.services.series.store import Row, Series, SeriesReader, Value, Window, plain_value

MOST_KEPT = 200_000  # points of a call that are kept for functions such as median
LONGEST_NUMBER = 40  # characters of a text that counts as a number

_NUMBERS = frozenset({int, float})

Number: TypeAlias = int | float
Result: TypeAlias = float | int | str | bool | None


@dataclass(frozen=True, slots=True)
class TimeIntervals:
    """Division of time into intervals of `size` microseconds from `offset` on; None: the window is one interval."""

    size: int | None = None
    offset: int = 0

    def start(self, time: int, window: Window) -> int:
        """Return the start of the interval that contains a time."""
        if self.size is None:
            return window.begin
        return (time - self.offset) // self.size * self.size + self.offset


@dataclass(slots=True)
class Summary:
    """Summary of the points of one interval. values: their numbers, every: all of them; both only if `keeps` is set."""

    keeps: bool = False
    count: int = 0
    numbers: int = 0
    total: Number = 0
    low: tuple[Number, int] | None = None  # smallest number, and its time
    high: tuple[Number, int] | None = None
    first: Row | None = None
    last: Row | None = None
    values: list[tuple[Number, int]] = field(default_factory=list)
    every: list[Row] = field(default_factory=list)

    def add(self, rows: Sequence[Row]) -> None:
        """Add points, which are in the order of their times."""
        self.count += len(rows)
        if self.keeps:
            self.every += rows
        early, late = (rows[0], rows[-1]) if rows[0][0] <= rows[-1][0] else (rows[-1], rows[0])
        if self.first is None or early[0] < self.first[0]:
            self.first = early
        if self.last is None or late[0] > self.last[0]:
            self.last = late
        numbers: list[Number] = [value for _, value in rows if type(value) in _NUMBERS]  # type: ignore[misc]
        if len(numbers) < len(rows):
            rows = [(time, number) for time, value in rows if (number := as_number(value)) is not None]
            numbers = [number for _, number in rows]  # type: ignore[misc]
        if not numbers:
            return
        self.numbers += len(numbers)
        self.total += sum(numbers)
        low, high = min(numbers), max(numbers)
        # Of equal numbers the earliest one counts.
        if self.low is None or low <= self.low[0]:
            found = (low, min(time for time, number in rows if number == low))
            self.low = found if self.low is None else min(self.low, found)
        if self.high is None or high >= self.high[0]:
            found = (high, min(time for time, number in rows if number == high))
            self.high = max(found, self.high or found, key=lambda each: (each[0], -each[1]))
        if self.keeps:
            self.values += [(number, time) for number, (time, _) in zip(numbers, rows, strict=True)]

    def percentile(self, percent: float) -> tuple[Number, int] | None:
        """Return the number at the nearest rank of a percentile, with its time; None if there is none."""
        rank = math.floor(len(self.values) * percent / 100 + 0.5)
        return sorted(self.values)[rank - 1] if 1 <= rank <= len(self.values) else None

    def deviation(self) -> float | None:
        """Return the standard deviation of a sample, None for fewer than two numbers."""
        if len(self.values) < 2:
            return None
        numbers = [number for number, _ in self.values]
        try:
            mean = math.fsum(numbers) / len(numbers)
            return math.sqrt(
                math.fsum((each - mean) * (each - mean) for each in numbers) / (len(numbers) - 1)
            )
        except OverflowError:  # of fsum, whose sums never become infinite
            return math.inf

    def distinct(self) -> list[Value]:
        """Return the different values, also texts, in the order of their first times."""
        return list(dict.fromkeys(value for _, value in sorted(self.every, key=lambda row: row[0])))

    def mode(self) -> Value | None:
        """Return the value, also a text, that most points have; of several the one that is first in time."""
        counts = Counter(value for _, value in self.every)
        return max(self.distinct(), key=counts.__getitem__, default=None)


def as_number(value: Value) -> Number | None:
    """Return a value as a number, also that of a text such as "21.5", which devices write; None for any other."""
    if isinstance(value, int | float):
        return value
    if isinstance(value, bytes) or len(value) > LONGEST_NUMBER or value[:1] not in "-0123456789":
        return None
    try:
        found = json.loads(value)
    except ValueError:
        return None
    return found if type(found) in (int, float) and math.isfinite(found) else None


def finite(value: Result) -> Result:
    """Return a result, None for one beyond the largest number, which neither JSON nor a query can have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _value(row: Row | None) -> Result:
    return None if row is None else plain_value(row[1])


def _number(found: tuple[Number, int] | None) -> Result:
    return None if found is None else found[0]


FUNCTIONS: Mapping[str, Callable[[Summary], Result]] = MappingProxyType(
    {
        "mean": lambda each: each.total / each.numbers if each.numbers else None,
        "sum": lambda each: each.total if each.numbers else None,
        "count": lambda each: each.count,
        "min": lambda each: _number(each.low),
        "max": lambda each: _number(each.high),
        "first": lambda each: _value(each.first),
        "last": lambda each: _value(each.last),
        "spread": lambda each: each.high[0] - each.low[0] if each.high and each.low else None,
        "stddev": lambda each: each.deviation(),
        "mode": lambda each: None if (found := each.mode()) is None else plain_value(found),
        "count distinct": lambda each: len(each.distinct()),
        "median": lambda each: statistics.median(each[0] for each in each.values) if each.values else None,
    }
)
# Functions that need all points.
KEEPING = frozenset({"median", "percentile", "stddev", "mode", "distinct", "count distinct"})


async def summarize(
    reader: SeriesReader,
    series: Sequence[Series],
    window: Window,
    intervals: TimeIntervals,
    most: int,
    *,
    keeps: bool = False,
) -> dict[int, Summary]:
    """Return the summaries of the first `most` intervals with points, by their start, in the window's direction.

    keeps: whether the summaries keep all points. Raises ServiceError 400 for more than MOST_KEPT of them.
    """
    kept = 0
    found: dict[int, Summary] = {}
    async for pages in reader.each([each.id for each in series], window):
        seen = 0
        last: int | None = None
        async for page in pages:
            kept += len(page) if keeps else 0
            if kept > MOST_KEPT:
                raise ServiceError(400, f"{', '.join(sorted(KEEPING))} take at most {MOST_KEPT} values")
            for start, rows in _divide(page, window, intervals):
                seen += start != last
                last = start
                if seen > most:
                    break
                found.setdefault(start, Summary(keeps)).add(rows)
            if seen > most:
                break
        if len(found) > most:
            found = {start: found[start] for start in sorted(found, reverse=window.descending)[:most]}
    return dict(sorted(found.items(), reverse=window.descending))


def _divide(page: Sequence[Row], window: Window, intervals: TimeIntervals) -> list[tuple[int, Sequence[Row]]]:
    """Return the points of a page by interval, in the order of the page."""
    if intervals.size is None:
        return [(window.begin, page)]
    parts = []
    at = 0
    while at < len(page):
        start = intervals.start(page[at][0], window)
        if window.descending:
            end = bisect_right(page, -start, lo=at, key=lambda row: -row[0])
        else:
            end = bisect_left(page, start + intervals.size, lo=at, key=lambda row: row[0])
        parts.append((start, page[at:end]))
        at = end
    return parts
