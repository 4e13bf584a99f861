"""Execution of SELECT: series of rows, for each measurement and each group of tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

from labkit.services.series.rows import joined
from labkit.services.series.store import Series, SeriesReader, SeriesStore, Window
from labkit.services.series.summaries import FUNCTIONS, KEEPING, Summary, TimeIntervals, summarize
from labkit.services.series.times import LATEST, shown_time
from labkit.services.timeseries.conditions import Filter, chosen
from labkit.services.timeseries.statements import Select, SelectColumn, Tags, refuse

MOST_ROWS = 10_000  # of a series in a result
MOST_RETURNED = 100_000  # rows of a query
SELECTORS = frozenset(
    {"first", "last", "min", "max", "percentile"}
)  # functions that return one of the points

Tagged: TypeAlias = tuple[Series, Tags]


@dataclass(frozen=True, slots=True)
class SelectRun:
    """Execution of one SELECT. now: lab time in microseconds; epoch: unit of the times in the result."""

    store: SeriesStore
    reader: SeriesReader
    select: Select
    solution: str
    now: int
    epoch: str | None

    async def series(self) -> list[dict[str, Any]]:
        """Return the series of the result, in the order of the measurements and tags."""
        where = Filter(self.select.where, self.now)
        window = where.window(
            self.now if self.select.size is not None else LATEST, descending=self.select.descending
        )
        found: list[dict[str, Any]] = []
        left = MOST_RETURNED
        for name in dict.fromkeys(self.select.sources):
            everything = [(each, each.tag_values()) for each in await self.store.find(self.solution, name)]
            names = self._group_names(everything)
            accepted = [each for each in everything if where.accepts(each[1])]
            ordered = sorted(accepted, key=lambda each: (chosen(names, each[1]), each[0].field, each[0].tags))
            for values, members in groupby(ordered, key=lambda each: chosen(names, each[1])):
                columns, rows = await self._group(list(members), everything, names, window, where)
                left -= len(rows)
                if left < 0:
                    raise refuse(
                        f"the result has more than {MOST_RETURNED} rows; use LIMIT or a shorter time"
                    )
                if rows:
                    tags = {"tags": dict(zip(names, values, strict=True))} if names else {}
                    found.append({"name": name, **tags, "columns": ["time", *columns], "values": rows})
        return found

    def _group_names(self, everything: Sequence[Tagged]) -> list[str]:
        """Return the names of the tags that divide the result."""
        if "*" in self.select.by:
            return sorted({name for _, tags in everything for name in tags})
        return list(self.select.by)

    async def _group(
        self,
        members: Sequence[Tagged],
        everything: Sequence[Tagged],
        names: Sequence[str],
        window: Window,
        where: Filter,
    ) -> tuple[list[str], list[list[Any]]]:
        """Return the columns and rows of one group. members: its series; everything: those of the measurement."""
        fields: dict[str, list[Series]] = {}
        for each, _ in members:
            fields.setdefault(each.field, []).append(each)
        if self.select.columns[0].function:
            columns: Sequence[SelectColumn] = self.select.columns
            rows = await Summarized(self, fields, window, where).rows()
        else:
            columns = self._columns(everything, names)
            rows = await self._points(columns, members, fields, window)
        for row in rows:
            row[0] = shown_time(row[0], self.epoch)
        return _unique([each.alias or each.function or each.name for each in columns]), rows

    def _columns(self, everything: Sequence[Tagged], names: Sequence[str]) -> list[SelectColumn]:
        """Return the columns of the result, with those for which `*` stands."""
        fields = {each.field for each, _ in everything}
        tags = {name for _, own in everything for name in own}
        columns: list[SelectColumn] = []
        for each in self.select.columns:
            if each.name != "*":
                columns.append(each)
            else:
                columns += [SelectColumn(name) for name in sorted(fields | (tags - set(names)))]
        return columns

    async def _points(
        self,
        columns: Sequence[SelectColumn],
        members: Sequence[Tagged],
        fields: Mapping[str, Sequence[Series]],
        window: Window,
    ) -> list[list[Any]]:
        """Return the points of a group as rows; a column that is no field has the value of the tag."""
        limit = self.select.limit or MOST_ROWS
        wanted = [fields.get(each.name, ()) for each in columns]
        found = await joined(self.reader, wanted, window, limit)
        own = {each.tags: tags for each, tags in members}
        for number, column in enumerate(columns, start=1):
            if column.name not in fields:
                for row, tags in zip(found.rows, found.tags, strict=True):
                    row[number] = own[tags].get(column.name)
        return found.rows


@dataclass(frozen=True, slots=True)
class Summarized:
    """Functions of the points of one group. fields: its series by field."""

    run: SelectRun
    fields: Mapping[str, Sequence[Series]]
    window: Window
    where: Filter

    async def rows(self) -> list[list[Any]]:
        """Return a row for each interval, or one for all points."""
        select = self.run.select
        limit = select.limit or MOST_ROWS
        intervals = TimeIntervals(select.size, select.offset)
        found: dict[str, dict[int, Summary]] = {}
        for field in dict.fromkeys(each.name for each in select.columns):
            keeps = any(each.function in KEEPING for each in select.columns if each.name == field)
            series = self.fields.get(field, ())
            found[field] = await summarize(
                self.run.reader, series, self.window, intervals, limit, keeps=keeps
            )
        if not any(found.values()):
            return []
        if select.size is None:
            return [self._whole({field: own.get(self.window.begin) for field, own in found.items()})]
        return self._filled(found, self._starts(found, intervals, limit))

    def _whole(self, found: Mapping[str, Summary | None]) -> list[Any]:
        """Return the row for all points. A single function that picks one of the points has the time of that point."""
        columns = self.run.select.columns
        time = self.window.begin
        if len(columns) == 1 and columns[0].function in SELECTORS:
            summary = found[columns[0].name]
            picked = None if summary is None else _picked_time(columns[0], summary)
            time = time if picked is None else picked
        return [time, *[_result(each, found[each.name]) for each in columns]]

    def _starts(
        self, found: Mapping[str, Mapping[int, Summary]], intervals: TimeIntervals, limit: int
    ) -> list[int]:
        """Return the starts of the intervals of the result, in its order."""
        known = sorted({start for own in found.values() for start in own}, reverse=self.window.descending)
        if self.run.select.fill == "none":
            return known[:limit]
        size = intervals.size or 1
        bounded = self.where.begin is not None
        first = intervals.start(self.window.begin, self.window) if bounded else min(known)
        last = intervals.start(self.window.end, self.window)
        if self.window.descending:
            return list(range(last, first - 1, -size)[:limit])
        return list(range(first, last + 1, size)[:limit])

    def _filled(self, found: Mapping[str, Mapping[int, Summary]], starts: Sequence[int]) -> list[list[Any]]:
        """Return the rows of these intervals, with what `fill` says for those without points."""
        columns, fill = self.run.select.columns, self.run.select.fill
        rows = []
        before: list[Any] = [None] * len(columns)
        for start in sorted(starts):
            row = []
            for number, column in enumerate(columns):
                summary = found[column.name].get(start)
                value = _result(column, summary)
                if summary is None and fill != "none":
                    value = _missing(column, fill, before[number])
                row.append(value)
            before = row
            rows.append([start, *row])
        return rows[::-1] if self.window.descending else rows


def _missing(column: SelectColumn, fill: str | float, before: Any) -> Any:
    """Return the value of an interval without points."""
    if fill == "previous":
        return before
    if fill == "null":
        return 0 if column.function == "count" else None
    return fill


def _result(column: SelectColumn, summary: Summary | None) -> Any:
    if summary is None:
        return None
    if column.function == "percentile":
        found = summary.percentile(column.number)
        return None if found is None else found[0]
    return FUNCTIONS[column.function](summary)


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


def _unique(names: Sequence[str]) -> list[str]:
    """Return names of columns, of which a repeated one gets a number: mean, mean_1."""
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        count = seen.get(name, 0)
        seen[name] = count + 1
        unique.append(f"{name}_{count}" if count else name)
    return unique
