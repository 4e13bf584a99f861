"""Functions of a SELECT: a row for each interval of time, or one for all points."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.core.errors import ServiceError
from labkit.services.series.store import Series, SeriesReader, Window, plain_value
from labkit.services.series.summaries import (
    FUNCTIONS,
    KEEPING,
    Number,
    Summary,
    TimeIntervals,
    finite,
    summarize,
)
from labkit.services.timeseries.conditions import Filter
from labkit.services.timeseries.statements import Select, SelectColumn, refuse

MOST_ROWS = 10_000  # of a series in a result
MOST_RETURNED = 100_000  # rows of a query, and points of a column that a function such as derivative reads


def too_long() -> ServiceError:
    """Return the error for a result with too many rows."""
    return refuse(f"the result has more than {MOST_RETURNED} rows; use LIMIT or a shorter time")


# Functions that return one of the points.
SELECTORS = frozenset({"first", "last", "min", "max", "percentile"})


@dataclass(frozen=True, slots=True)
class Summarized:
    """Functions of the points of one group. fields: its series by field; last_row: number of rows that are needed."""

    reader: SeriesReader
    select: Select
    fields: Mapping[str, Sequence[Series]]
    window: Window
    where: Filter
    last_row: int

    async def rows(self) -> list[list[Any]]:
        """Return a row for each interval, or one for all points."""
        select = self.select
        intervals = TimeIntervals(select.size, select.shift)
        most = MOST_RETURNED if self._transforms() else self.last_row
        found: dict[str, dict[int, Summary]] = {}
        for field in dict.fromkeys(each.name for each in select.columns):
            keeps = any(each.function in KEEPING for each in select.columns if each.name == field)
            series = self.fields.get(field, ())
            found[field] = await summarize(self.reader, series, self.window, intervals, most, keeps=keeps)
        if not any(found.values()):
            return []
        if select.columns[0].function == "distinct":
            return self._distinct(found[select.columns[0].name], self._starts(found, intervals, most))
        if select.size is None:
            return [self._whole({field: own.get(self.window.begin) for field, own in found.items()})]
        return self._filled(found, self._starts(found, intervals, most))

    def _transforms(self) -> bool:
        return any(each.transformation is not None for each in self.select.columns)

    def _whole(self, found: Mapping[str, Summary | None]) -> list[Any]:
        """Return the row for all points. A single function that picks one of the points has the time of that point."""
        columns = self.select.columns
        time = self.window.begin
        if len(columns) == 1 and columns[0].function in SELECTORS:
            summary = found[columns[0].name]
            picked = None if summary is None else _picked_time(columns[0], summary)
            time = time if picked is None else picked
        return [time, *[_result(each, found[each.name]) for each in columns]]

    def _distinct(self, found: Mapping[int, Summary], starts: Sequence[int]) -> list[list[Any]]:
        """Return a row for each different value of each interval."""
        fill = self.select.fill if isinstance(self.select.fill, int | float) else None
        return [
            [start, plain_value(value) if isinstance(value, bytes) else value]
            for start in starts
            for value in (found[start].distinct() if start in found else [fill])
        ]

    def _starts(
        self, found: Mapping[str, Mapping[int, Summary]], intervals: TimeIntervals, most: int
    ) -> list[int]:
        """Return the starts of the intervals of the result, in its order."""
        known = sorted({start for own in found.values() for start in own}, reverse=self.window.descending)
        if self.select.fill == "none" or self.select.size is None:
            return known[:most]
        size = intervals.size or 1
        bounded = self.where.begin is not None
        first = intervals.start(self.window.begin, self.window) if bounded else min(known)
        last = intervals.start(self.window.end, self.window)
        if self.window.descending:
            return list(range(last, first - 1, -size)[:most])
        return list(range(first, last + 1, size)[:most])

    def _filled(self, found: Mapping[str, Mapping[int, Summary]], starts: Sequence[int]) -> list[list[Any]]:
        """Return the rows of these intervals, with what `fill` says for those without points."""
        columns = [self._column(each, found[each.name], starts) for each in self.select.columns]
        rows = [list(row) for row in zip(starts, *columns, strict=True)]
        if all(each.transformation is not None for each in self.select.columns):
            return [row for row in rows if any(value is not None for value in row[1:])]
        return rows

    def _column(
        self, column: SelectColumn, summaries: Mapping[int, Summary], starts: Sequence[int]
    ) -> list[Any]:
        """Return the values of a column in the intervals with these starts."""
        results = {start: _result(column, each) for start, each in summaries.items()}
        known = sorted(results)
        values = [
            results[start] if start in results else self._missing(column, results, known, start)
            for start in starts
        ]
        if column.transformation is None:
            return values
        numbers = [(start, value) for start, value in zip(starts, values, strict=True) if _is_number(value)]
        changed = dict(column.transformation.apply(sorted(numbers), self.select.size or 1))
        return [changed.get(start) for start in starts]

    def _missing(
        self, column: SelectColumn, results: Mapping[int, Any], known: Sequence[int], start: int
    ) -> Any:
        """Return the value of an interval without points. known: the other intervals, in order."""
        fill = self.select.fill
        place = bisect_left(known, start)
        if fill == "previous":
            return results[known[place - 1]] if place else None
        if fill == "linear":
            return _between(results, known[place - 1 : place + 1], start) if place else None
        if fill == "null":
            return 0 if column.function.startswith("count") else None
        return None if fill == "none" else fill


def _between(results: Mapping[int, Any], neighbours: Sequence[int], start: int) -> Number | None:
    """Return the value at a time on the line between its neighbours, whole if both are; None without two numbers."""
    if len(neighbours) < 2:
        return None
    [since, until] = neighbours
    before, after = results[since], results[until]
    if not _is_number(before) or not _is_number(after):
        return None
    if isinstance(before, int) and isinstance(after, int):
        rise, way = (after - before) * (start - since), until - since
        return before + (rise // way if rise >= 0 else -(-rise // way))
    share = (start - since) / (until - since)
    found = float(before + (after - before) * share)
    return found if math.isfinite(found) else float(before * (1 - share) + after * share)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _result(column: SelectColumn, summary: Summary | None) -> Any:
    if summary is None:
        return None
    if column.function == "percentile":
        found = summary.percentile(column.number)
        return None if found is None else found[0]
    return finite(FUNCTIONS[column.function](summary))


def _picked_time(column: SelectColumn, summary: Summary) -> int | None:
    """Return the time of the point that a function picks."""
    if column.function == "percentile":
        pair = summary.percentile(column.number)
    elif column.function in ("min", "max"):
        pair = summary.low if column.function == "min" else summary.high
    else:
        row = summary.first if column.function == "first" else summary.last
        return None if row is None else row[0]
    return None if pair is None else pair[1]
