"""Execution of SELECT: series of rows, for each measurement and each group of tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

from labkit.services.series.rows import joined, joined_of_all
from labkit.services.series.store import Series, SeriesReader, SeriesStore, Window, tag_values
from labkit.services.series.summaries import as_number
from labkit.services.series.times import LATEST, shown_time
from labkit.services.timeseries.arithmetic import compute
from labkit.services.timeseries.conditions import Filter, chosen
from labkit.services.timeseries.intervals import MOST_RETURNED, MOST_ROWS, Summarized, too_long
from labkit.services.timeseries.statements import Select, SelectColumn, Tags

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
            if self._is_first_page and where.accepts_all:
                columns, rows = self._shaped(self.select.columns, await self._first_points(name, window))
                found += [{"name": name, "columns": ["time", *columns], "values": rows}] if rows else []
                left -= len(rows)
                if left < 0:
                    raise too_long()
                continue
            everything = [(each, each.tag_values()) for each in await self.store.find(self.solution, name)]
            names = self._group_names(everything)
            accepted = [each for each in everything if where.accepts(each[1])]
            ordered = sorted(accepted, key=lambda each: (chosen(names, each[1]), each[0].field, each[0].tags))
            count = 0  # of the measurement's series that have rows
            for values, members in groupby(ordered, key=lambda each: chosen(names, each[1])):
                if self.select.series_limit is not None and count >= self._series_end():
                    break
                columns, rows = await self._group(list(members), everything, names, window, where)
                count += bool(rows)
                if not rows or count <= self.select.series_offset:
                    continue
                left -= len(rows)
                if left < 0:
                    raise too_long()
                tags = {"tags": dict(zip(names, values, strict=True))} if names else {}
                found.append({"name": name, **tags, "columns": ["time", *columns], "values": rows})
        return found

    @property
    def last_row(self) -> int:
        """Number of rows of a series that are read: those before OFFSET, and those of LIMIT."""
        return self.select.offset + (self.select.limit or MOST_ROWS)

    @property
    def _is_first_page(self) -> bool:
        """Whether the result has the first points of some columns of all series, so that not each series is read."""
        select = self.select
        return (
            select.limit is not None
            and not select.by
            and select.size is None
            and select.series_limit is None
            and not select.series_offset
            and all(
                each.name != "*" and not each.function and each.transformation is None
                for each in select.columns
            )
        )

    async def _first_points(self, name: str, window: Window) -> list[list[Any]]:
        """Return the rows of `_points` of all series of a measurement, whose cost does not depend on their number."""
        columns = [each.name for each in self.select.columns]
        fields = [await self.store.has_field(self.solution, name, each) for each in columns]
        found = await joined_of_all(
            self.reader,
            self.solution,
            [(name, each) if is_field else None for each, is_field in zip(columns, fields, strict=True)],
            window,
            self.last_row,
            full=False,
        )
        for row, tags in zip(found.rows, map(tag_values, found.tags), strict=True):
            for number, (column, is_field) in enumerate(zip(columns, fields, strict=True), start=1):
                if not is_field:
                    row[number] = tags.get(column)
        return found.rows

    def _series_end(self) -> int:
        return self.select.series_offset + (self.select.series_limit or 0)

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
        first = self.select.columns[0]
        columns: Sequence[SelectColumn] = self.select.columns
        if first.function:
            rows = await Summarized(self.reader, self.select, fields, window, where, self.last_row).rows()
        elif first.transformation is not None:
            rows = await self._changes(fields, window)
        else:
            columns = self._columns(everything, names)
            rows = await self._points(columns, members, fields, window)
        return self._shaped(columns, rows)

    def _shaped(
        self, columns: Sequence[SelectColumn], rows: list[list[Any]]
    ) -> tuple[list[str], list[list[Any]]]:
        """Return the names of the columns and the rows behind OFFSET, as the result has them."""
        rows = rows[self.select.offset : self.last_row]
        if self.select.computed:
            rows = [[row[0], *[compute(each, row) for each in self.select.computed]] for row in rows]
        for row in rows:
            row[0] = shown_time(row[0], self.epoch)
        if self.select.computed:
            return _unique([each.name for each in self.select.computed]), rows
        return _unique([each.alias or each.function or each.name for each in columns]), rows

    async def _changes(self, fields: Mapping[str, Sequence[Series]], window: Window) -> list[list[Any]]:
        """Return rows of what transformations make of the points of a group; None where a column has no result."""
        columns = self.select.columns
        found: dict[int, list[Any]] = {}
        forward = Window(window.begin, window.end, descending=False)
        for place, column in enumerate(columns, start=1):
            read = await joined(self.reader, [fields.get(column.name, ())], forward, MOST_RETURNED + 1)
            if len(read.rows) > MOST_RETURNED:
                raise too_long()
            numbers = [
                (time, number)
                for time, value in read.rows
                if not isinstance(value, bool) and (number := as_number(value)) is not None
            ]
            assert column.transformation is not None
            for time, value in column.transformation.apply(numbers):
                found.setdefault(time, [time, *[None] * len(columns)])[place] = value
        return [found[time] for time in sorted(found, reverse=window.descending)]

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
        wanted = [fields.get(each.name, ()) for each in columns]
        found = await joined(self.reader, wanted, window, self.last_row)
        own = {each.tags: tags for each, tags in members}
        for number, column in enumerate(columns, start=1):
            if column.name not in fields:
                for row, tags in zip(found.rows, found.tags, strict=True):
                    row[number] = own[tags].get(column.name)
        return found.rows


def _unique(names: Sequence[str]) -> list[str]:
    """Return names of columns, of which a repeated one gets a number: mean, mean_1."""
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        count = seen.get(name, 0)
        seen[name] = count + 1
        unique.append(f"{name}_{count}" if count else name)
    return unique
