"""Execution of queries of Tsdb: rows of points, and of what summarizes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.services.series import summaries
from labkit.services.series.rows import Columns, Rows, fill_previous, joined, joined_of_all
from labkit.services.series.store import (
    FEW,
    Series,
    SeriesReader,
    SeriesStore,
    Value,
    Window,
    plain_value,
    tag_values,
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

    async def rows(
        self, store: SeriesStore, solution: str, metrics: Sequence[str], tags: Mapping[str, Sequence[str]]
    ) -> list[list[Any]]:
        """Return rows of a time and a value of each metric."""
        reader = store.reader()
        most = -1 if tags or self.functions else FEW + 1
        columns = [await store.find(solution, name, tags, most) for name in metrics]
        full = self.fill == "none"
        if self.functions:
            found = await self._summarized(reader, columns)
        elif len(columns) == 1 and len(columns[0]) == 1:
            return await self._single(reader, columns[0][0])
        elif not columns:
            return []
        elif most in map(len, columns):
            found = await joined_of_all(
                reader, solution, [(each, "") for each in metrics], self.window, self.limit, full=full
            )
        else:
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
    tag: str | None,
    epoch: str | None,
) -> list[list[Any]]:
    """Return rows of the newest time, the values and the tags, for each set of tags, newest first.

    columns: the series of each, and of the metrics whose values of the same time and tags follow; tag: name of the one
    whose values alone make a row.
    """
    newest: dict[str, int] = {}
    heads = []
    for series, others in columns:
        tags = {each.id: each.tags for each in series}
        own: dict[str, tuple[int, str, Value]] = {}
        async for batch in reader.batches([*tags], Window(EARLIEST, LATEST), 1):
            for number, time, value in batch:
                text = key = tags[number]
                if tag is not None:
                    key = tags_text({tag: tag_values(text)[tag]})
                if key not in own or (time, text) > own[key][:2]:
                    own[key] = time, text, value
                    if time >= newest.get(key, time):
                        newest[key] = time
        heads.append((own, [{each.tags: each.id for each in series} for series in others]))
    found = []
    order = sorted(sorted(newest, key=tags_order), key=newest.__getitem__, reverse=True)
    del order[most:]
    for key, own_tags in zip(order, json.loads(f"[{','.join(order)}]"), strict=True):
        row: list[Any] = [shown_time(newest[key], epoch)]
        for own, beside in heads:
            head = own.get(key)
            row.append(None if head is None else plain_value(head[2]))
            for ids in beside:
                id = None if head is None else ids.get(head[1])
                page = [] if head is None or id is None else await reader.page(id, head[0], head[0], 1)
                row.append(plain_value(page[0][1]) if page else None)
        row.append(own_tags)
        found.append(row)
    return found
