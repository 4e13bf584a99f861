"""Execution of queries of Tsdb: rows of points, and of what summarizes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from labkit.services.series import summaries
from labkit.services.series.rows import Columns, Rows, fill_previous, joined
from labkit.services.series.store import (
    Series,
    SeriesReader,
    Value,
    Window,
    plain_value,
    tags_order,
    tags_text,
)
from labkit.services.series.summaries import Summary, TimeIntervals, summarize
from labkit.services.series.times import EARLIEST, LATEST, UNITS, shown_time
from labkit.services.tsdb.arguments import FUNCTIONS


@dataclass(frozen=True, slots=True)
class PointQuery:
    """A query's request. functions: names of Tsdb's aggregates, empty for the points themselves."""

    window: Window
    limit: int
    fill: str | int | float
    epoch: str | None
    functions: Sequence[str]
    size: int | None

    async def rows(self, reader: SeriesReader, columns: Columns) -> list[list[Any]]:
        """Return rows of a time and a value for each column."""
        if self.functions:
            found = await self._summarized(reader, columns)
        elif len(columns) == 1 and len(columns[0]) == 1:
            return await self._single(reader, columns[0][0])
        elif not columns:
            return []
        else:
            full = self.fill == "none"
            found = await joined(reader, columns, self.window, self.limit, full=full)
        await reader.pause(len(found.rows))
        self._fill(found)
        if self.epoch is None:
            return [[shown_time(time, None), *values] for time, *values in found.rows]
        unit = int(UNITS[self.epoch])
        for row in found.rows:
            row[0] //= unit
        return found.rows

    async def _single(self, reader: SeriesReader, series: Series) -> list[list[Any]]:
        """Return the rows of one series, which no other can interrupt."""
        rows: list[list[Any]] = []
        async for page in reader.pages(series.id, self.window, self.limit):
            wanted = page[: self.limit - len(rows)]
            if self.epoch is None:
                rows += [[shown_time(time, None), plain_value(value)] for time, value in wanted]
            else:
                unit = int(UNITS[self.epoch])
                rows += [
                    [time // unit, value if type(value) is not bytes else plain_value(value)]
                    for time, value in wanted
                ]
            if len(rows) >= self.limit:
                break
        return rows

    async def _summarized(self, reader: SeriesReader, columns: Columns) -> Rows:
        intervals = TimeIntervals(self.size)
        found = [await summarize(reader, each, self.window, intervals, self.limit) for each in columns]
        starts = sorted({start for each in found for start in each}, reverse=self.window.descending)
        await reader.pause(len(starts))
        rows = [
            [start, *[self._result(each[start]) if start in each else None for each in found]]
            for start in starts
        ]
        if self.fill == "none":
            rows = [row for row in rows if None not in row]
        return Rows(rows[: self.limit], [""] * len(rows[: self.limit]))

    def _result(self, summary: Summary) -> Any:
        results = {
            name: summaries.finite(summaries.FUNCTIONS[FUNCTIONS[name]](summary)) for name in self.functions
        }
        return results if len(results) > 1 else results[self.functions[0]]

    def _fill(self, found: Rows) -> None:
        if self.fill == "previous":
            fill_previous(found, descending=self.window.descending)
        elif not isinstance(self.fill, str):
            for row in found.rows:
                row[:] = [self.fill if value is None else value for value in row]


async def recent(
    reader: SeriesReader,
    columns: Sequence[tuple[Sequence[Series], Sequence[Sequence[Series]]]],
    most: int,
    tag: str | None = None,
) -> list[tuple[int, dict[str, str], list[Any]]]:
    """Return the newest values by set of tags, each with the newest time, newest first.

    columns: the series of each, and of the metrics whose values of the same time and tags follow; tag: name of the one
    whose values alone make a row.
    """
    rows: dict[str, list[tuple[int, Value, Series] | None]] = {}
    for column, (series, _) in enumerate(columns):
        by_id = {each.id: each for each in series}
        async for number, [(time, value)] in reader.heads([*by_id], Window(EARLIEST, LATEST), 1):
            owner = by_id[number]
            key = owner.tags if tag is None else tags_text({tag: owner.tag_values()[tag]})
            row = rows.setdefault(key, [None] * len(columns))
            before = row[column]
            if before is None or (time, owner.tags) > (before[0], before[2].tags):
                row[column] = time, value, owner
    newest = {key: max(each[0] for each in row if each is not None) for key, row in rows.items()}
    beside = [[{each.tags: each.id for each in series} for series in others] for _, others in columns]
    found = []
    for key in sorted(rows, key=lambda key: (-newest[key], tags_order(key)))[:most]:
        values: list[Any] = []
        for head, others in zip(rows[key], beside, strict=True):
            values.append(None if head is None else plain_value(head[1]))
            for ids in others:
                id = None if head is None else ids.get(head[2].tags)
                page = [] if head is None or id is None else await reader.page(id, head[0], head[0], 1)
                values.append(plain_value(page[0][1]) if page else None)
        found.append((newest[key], Series(0, "", "", key).tag_values(), values))
    return found
