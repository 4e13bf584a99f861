"""Tsdb: values of metrics over time, with tags, for scripts that chart what devices report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from labkit.context import Context
from labkit.services.operation import Caller, Service, operation
from labkit.services.series.arguments import Metrics, Names, Tags, WantedTags
from labkit.services.series.store import SeriesStore
from labkit.services.series.times import micros, shown_time
from labkit.services.tsdb.arguments import (
    MOST_ROWS,
    Datapoints,
    Epoch,
    Fill,
    Functions,
    Limit,
    Mode,
    Order,
    Size,
    Span,
    Time,
    all_points,
    points_of,
    window,
)
from labkit.services.tsdb.query import PointQuery, recent

MOST_LISTED = 1000  # values of tags that listTags returns


class Tsdb(Service):
    """Service that stores values of metrics over time, for each solution its own.

    A point has a metric, tags, a time and a value: a number, a boolean or a text. A later point of the same metric,
    tags and time replaces it. Times are lab time: a number of microseconds, a text such as `"1480000000s"` (also `ms`
    and `u`), or RFC 3339. Names and values of tags have 1 to 200 printable characters, a point has at most 20 tags, a
    text at most 65,536 characters; a solution may have 50,000 series, that is, metrics with different tags. Not
    offered: export and import, of which no public document shows the event exportJob and what its jobs have.
    """

    name: ClassVar[str] = "Tsdb"
    without_effect: ClassVar[tuple[str, ...]] = ("recent_function_disable",)
    missing: ClassVar[Mapping[str, str]] = {"default_retention": "points of any age stay"}

    def __init__(self, context: Context) -> None:
        self._context = context
        self._store = SeriesStore(context.database, "tsdb")

    @operation
    async def write(
        self, caller: Caller, metrics: Metrics, tags: Tags | None = None, ts: Time | None = None
    ) -> dict[str, object]:
        """Store one value of each metric. Returns an empty table. 403 for more series than a solution may have.

        metrics: values by metric, at most 100; tags: texts by name; ts: the time of the values, by default now.
        """
        time = self._now() if ts is None else ts
        await self._store.write(caller.solution, points_of(metrics, tags or {}, time))
        return {}

    @operation
    async def multiWrite(self, caller: Caller, datapoints: Datapoints) -> dict[str, object]:
        """Store values of several times, all or none. Returns an empty table.

        datapoints: a list of tables with the arguments of `write`, with at most 10,000 values in total. 403 for more
        series than a solution may have.
        """
        await self._store.write(caller.solution, all_points(datapoints, self._now()))
        return {}

    @operation
    async def query(
        self,
        caller: Caller,
        metrics: Names,
        tags: WantedTags | None = None,
        start_time: Time | None = None,
        end_time: Time | None = None,
        relative_start: Span | None = None,
        relative_end: Span | None = None,
        epoch: Epoch | None = None,
        fill: Fill = "null",
        limit: Limit = MOST_ROWS,
        order_by: Order = "desc",
        aggregate: Functions | None = None,
        sampling_size: Size | None = None,
        mode: Mode = "merge",
    ) -> dict[str, object]:
        """Return values, newest first: `{metrics, tags, columns = {"time", …}, values = {{time, value, …}, …}}`.

        A row has the values of one time and the same tags; where a metric has none, its place is nil. Without a start,
        the last seven days are read, without an end, all until now; both ends are included.

        tags: a point needs all of them, and may have more; a list accepts any of its values. relative_start: how far
        before now, `"-1d"`; also `"1d"`. epoch: unit of the times in the result, `s`, `ms` or `u`, by default RFC 3339.
        fill: for a missing value, `"null"`, `"previous"`, `"none"` (no such row) or a number. limit: of rows, with
        mode `split` of each metric, 1 to 10,000. order_by: `desc` or `asc`. aggregate: `avg`, `min`, `max`, `count` or
        `sum` of all values in `sampling_size`, such as `"1m"`, from whole multiples of it since 1970 on; without it, of
        all values. Several give a table of results. mode: `split` returns `values[metric] = {{time, value}, …}`.
        """
        span = window(
            self._now(), (start_time, relative_start), (end_time, relative_end), descending=order_by == "desc"
        )
        query = PointQuery(
            span,
            limit,
            fill,
            epoch,
            functions=aggregate or (["avg"] if sampling_size is not None else []),
            size=sampling_size,
        )
        columns = [await self._store.find(caller.solution, name, tags) for name in metrics]
        found: dict[str, Any] = {"metrics": metrics, "tags": _echoed(tags), "columns": ["time", *metrics]}
        reader = self._store.reader()
        if mode == "split":
            split = [await query.rows(reader, [column]) for column in columns]
            return {**found, "values": dict(zip(metrics, split, strict=True))}
        return {**found, "values": await query.rows(reader, columns)}

    @operation
    async def recent(
        self, caller: Caller, metrics: Names, tags: WantedTags | None = None, epoch: Epoch | None = None
    ) -> dict[str, object]:
        """Return the newest value of each metric for each set of tags, of any age, newest first.

        `{metrics, tags, columns = {"time", …, "tags"}, values = {{time, value, …, tags}, …}}`, at most 10,000 rows; the
        time is that of the newest value in the row. tags, epoch: as in `query`.
        """
        columns = [await self._store.find(caller.solution, name, tags) for name in metrics]
        rows = await recent(self._store.reader(), columns, MOST_ROWS)
        values = [[shown_time(time, epoch), *row, own] for time, own, row in rows]
        return {
            "metrics": metrics,
            "tags": _echoed(tags),
            "columns": ["time", *metrics, "tags"],
            "values": values,
        }

    @operation
    async def listMetrics(self, caller: Caller) -> dict[str, list[str]]:
        """Return the names of all metrics in the order of the alphabet: `{metrics}`."""
        return {"metrics": await self._store.names(caller.solution)}

    @operation
    async def listTags(self, caller: Caller) -> dict[str, dict[str, list[str]]]:
        """Return the tags with their values, at most 1000 values: `{tags = {name = {value, …}}}`."""
        tags: dict[str, list[str]] = {}
        for name, value in await self._store.tags(caller.solution, MOST_LISTED):
            tags.setdefault(name, []).append(value)
        return {"tags": tags}

    @operation
    async def deleteAll(self, caller: Caller) -> dict[str, object]:
        """Delete all points of the solution, with their metrics and tags. Returns an empty table."""
        await self.forget(caller.solution)
        return {}

    async def forget(self, solution: str) -> None:
        await self._store.delete_all(solution)

    async def start(self) -> None:
        await self._store.sweep()

    def _now(self) -> int:
        return micros(self._context.clock.now())


def _echoed(tags: Mapping[str, Sequence[str]] | None) -> dict[str, object]:
    """Return the tags of a query as a script gave them."""
    return {
        name: accepted[0] if len(accepted) == 1 else list(accepted) for name, accepted in (tags or {}).items()
    }
