"""Tsdb: values of metrics over time, with tags, for scripts that chart what devices report."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, PlainValidator, StrictBool

from labkit.context import Context
from labkit.core.errors import ServiceError
from labkit.services.operation import Caller, Service, operation, read_parameters
from labkit.services.series.arguments import Metrics, Name, Names, RecentMetrics, Tags, WantedTags
from labkit.services.series.store import SeriesStore
from labkit.services.series.times import SECOND, micros
from labkit.services.tsdb.arguments import (
    MOST_LISTED,
    MOST_ROWS,
    Cursor,
    Datapoints,
    Epoch,
    Fill,
    Functions,
    Limit,
    Listed,
    Mode,
    Order,
    Size,
    Span,
    Time,
    all_points,
    points_of,
    read_tags_cursor,
    tags_cursor,
    window,
)
from labkit.services.tsdb.query import PointQuery, recent

RETENTION = re.compile(r"([0-9]{1,6})([dwmy])|infinity")
DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
DAY = 86_400 * SECOND


def _age(value: object) -> object:
    """Return the microseconds of a text such as `3m`, None for `infinity`. Raises ValueError."""
    found = RETENTION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"expected infinity, or a number of d, w, m or y as in 3m, not {value!r:.60}")
    return int(found[1]) * DAYS[found[2]] * DAY if found[1] else None


Age = Annotated[int | None, PlainValidator(_age)]


class TsdbFile(BaseModel):
    """Parameters of the service, services/tsdb.yaml (published references, services/tsdb).

    default_retention: how long points are kept, by lab time; metrics_retention: the same by metric, `default` for that.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    default_retention: Age = None
    metrics_retention: dict[str, Age | Literal["default"]] = {}
    recent_function_disable: StrictBool = False

    def ages(self) -> list[int]:
        """Return the ages in microseconds up to which points are kept, without infinity."""
        return [
            each
            for each in (self.default_retention, *self.metrics_retention.values())
            if isinstance(each, int)
        ]

    def oldest(self, metric: str, now: int) -> int | None:
        """Return the time of the oldest point of a metric that is kept; None: all are."""
        age = self.metrics_retention.get(metric, "default")
        age = self.default_retention if age == "default" else age
        return None if age is None else now - age


class Tsdb(Service):
    """Service that stores values of metrics over time, for each solution its own.

    A point has a metric, tags, a time and a value: a number, a boolean or a text. A later point of the same metric,
    tags and time replaces it. Times are lab time: a number of microseconds, a text such as `"1480000000s"` (also `ms`
    and `u`), or RFC 3339. Names and values of tags have 1 to 200 printable characters, a point has at most 20 tags, a
    text at most 65,536 characters; a solution may have 50,000 series, that is, metrics with different tags. Points of
    any age stay, unless services/tsdb.yaml has default_retention or metrics_retention, or the lab `limits.tsdb_days`.
    Not offered: export and import, whose jobs no public document shows whole.
    """

    name: ClassVar[str] = "Tsdb"
    configuration_model: ClassVar[type[BaseModel]] = TsdbFile

    def __init__(self, context: Context) -> None:
        self._context = context
        self._store = SeriesStore(context.database, "tsdb")
        self._dropped: dict[str, int] = {}  # lab time at which expired points were last dropped, by solution

    @operation
    async def write(
        self,
        caller: Caller,
        metrics: Metrics,
        tags: Tags | None = None,
        ts: Time | None = None,
        return_ts: StrictBool = False,
    ) -> dict[str, object]:
        """Store one value of each metric. Returns an empty table. 403 for more series than a solution may have.

        metrics: values by metric, at most 100; tags: texts by name; ts: the time of the values, by default now;
        return_ts: return `{write_timestamp}`, the time as a text of microseconds.
        """
        await self._drop_expired(caller.solution)
        time = self._now() if ts is None else ts
        await self._store.write(caller.solution, points_of(metrics, tags or {}, time))
        return {"write_timestamp": str(time)} if return_ts else {}

    @operation
    async def multiWrite(self, caller: Caller, datapoints: Datapoints) -> dict[str, object]:
        """Store values of several times, all or none. Returns an empty table.

        datapoints: a list of tables with the arguments of `write`, with at most 10,000 values in total. 403 for more
        series than a solution may have.
        """
        await self._drop_expired(caller.solution)
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
        fill: Fill | None = None,
        limit: Limit | None = None,
        order_by: Order = "desc",
        aggregate: Functions | None = None,
        sampling_size: Size | None = None,
        mode: Mode = "merge",
    ) -> dict[str, object]:
        """Return values, newest first: `{metrics, tags, columns = {"time", …}, values = {{time, value, …}, …}}`.

        A row has the values of one time and the same tags; where a metric has none, its place is nil. Without a start,
        the last seven days are read, without an end, all until now; both ends are included, with the setting
        `wire.tsdb_half_open` not the last one, if it is given.

        tags: a point needs all of them, and may have more; a list accepts any of its values. relative_start: how far
        before now, `"-1d"`; also `"1d"`. epoch: unit of the times in the result, `s`, `ms` or `u`, by default RFC 3339.
        fill: for a missing value, `"null"` (the default), `"previous"`, a number, or `"none"` for no such row (the
        default with `wire.tsdb_half_open`). limit: of rows, with mode `split` of each metric, 1 to 10,000, which is the
        default unless the setting `limits.tsdb_points` is less. order_by: `desc` or `asc`. aggregate: `avg`, `min`,
        `max`, `count` or `sum` of all values in `sampling_size`, as `"1m"`, from whole multiples of it since 1970 on;
        without it, of all values. Several give a table of results. mode: `split` returns `values[metric] = {{time,
        value}, …}`.
        """
        await self._drop_expired(caller.solution)
        half_open = self._context.wire.tsdb_half_open
        span = window(
            self._now(),
            (start_time, relative_start),
            (end_time, relative_end),
            descending=order_by == "desc",
            half_open=half_open,
        )
        most = MOST_ROWS if limit is None else limit
        limited = self._context.settings.limits.tsdb_points if limit is None else None
        if limited is not None:
            most = min(most, limited + 1)  # one more shows whether any is left out
        query = PointQuery(
            span,
            most,
            fill if fill is not None else "none" if half_open else "null",
            epoch,
            functions=aggregate or (["avg"] if sampling_size is not None else []),
            size=sampling_size,
        )
        found: dict[str, Any] = {"metrics": metrics, "tags": _echoed(tags), "columns": ["time", *metrics]}
        each = [[name] for name in metrics] if mode == "split" else [metrics]
        tables = [await query.rows(self._store, caller.solution, some, tags or {}) for some in each]
        if limited is not None and any(len(rows) > limited for rows in tables):
            text = f"Tsdb.query returned {limited} rows and left out more, by limits.tsdb_points"
            self._warn(caller.solution, text, caller.cause)
            tables = [rows[:limited] for rows in tables]
        return {**found, "values": dict(zip(metrics, tables, strict=True)) if mode == "split" else tables[0]}

    @operation
    async def recent(
        self,
        caller: Caller,
        metrics: RecentMetrics,
        tags: WantedTags | None = None,
        epoch: Epoch | None = None,
        tag_name: Name | None = None,
        tag_values: Names | None = None,
    ) -> dict[str, object]:
        """Return the newest value of each metric for each set of tags, of any age, newest first.

        `{metrics, tags, columns = {"time", …, "tags"}, values = {{time, value, …, tags}, …}}`, at most 10,000 rows; the
        time is that of the newest value in the row. In a list within metrics, such as `{"warning", "text"}`, the others
        have the values that were written together with the newest one of the first. tags, epoch: as in `query`.
        tag_name, tag_values: a row for each of these values of one tag, whatever the other tags.
        """
        if self._parameters(caller.solution).recent_function_disable:
            raise ServiceError(
                403, "recent is disabled by recent_function_disable in the configuration of Tsdb"
            )
        await self._drop_expired(caller.solution)
        if (tag_name is None) != (tag_values is None):
            raise ServiceError(400, "expected both tag_name and tag_values, or none of them")
        if tag_name is not None and tag_values is not None:
            tags = {**(tags or {}), tag_name: tag_values}
        listed = [[each] if isinstance(each, str) else each for each in metrics]
        names = [name for each in listed for name in each]
        found = {name: await self._store.find(caller.solution, name, tags) for name in dict.fromkeys(names)}
        columns = [(found[first], [found[name] for name in others]) for first, *others in listed]
        return {
            "metrics": metrics,
            "tags": _echoed(tags),
            "columns": ["time", *names, "tags"],
            "values": await recent(self._store.reader(), columns, MOST_ROWS, tag_name, epoch),
        }

    @operation
    async def listMetrics(
        self, caller: Caller, limit: Listed = MOST_LISTED, next: Cursor | None = None
    ) -> dict[str, object]:
        """Return the names of metrics in the order of the alphabet: `{metrics, next}`.

        limit: 1 to 1000. next: of the result before; a result without it is the last one.
        """
        await self._drop_expired(caller.solution)
        found = await self._store.names(caller.solution, limit + 1, next or "")
        listed = {"metrics": found[:limit]}
        return {**listed, "next": found[limit - 1]} if len(found) > limit else {**listed}

    @operation
    async def listTags(
        self, caller: Caller, limit: Listed = MOST_LISTED, next: Cursor | None = None
    ) -> dict[str, object]:
        """Return the tags with their values: `{tags = {name = {value, …}}, next}`. limit: of values, 1 to 1000.

        next: of the result before; a result without it is the last one.
        """
        await self._drop_expired(caller.solution)
        found = await self._store.tags(caller.solution, limit + 1, read_tags_cursor(next))
        tags: dict[str, list[str]] = {}
        for name, value in found[:limit]:
            tags.setdefault(name, []).append(value)
        return {"tags": tags, "next": tags_cursor(found[limit - 1])} if len(found) > limit else {"tags": tags}

    @operation
    async def deleteAll(self, caller: Caller) -> dict[str, object]:
        """Delete all points of the solution, with their metrics and tags. Returns an empty table."""
        await self.forget(caller.solution)
        return {}

    def _parameters(self, solution: str) -> TsdbFile:
        found = read_parameters(TsdbFile, self.name, self._context.configuration.get(solution, {}))
        days = self._limit(solution)
        return found if days is None else found.model_copy(update={"default_retention": days * DAY})

    def _limit(self, solution: str) -> int | None:
        """Return the days that the lab's settings limit points to, None where a solution says itself how many."""
        configured = self._context.configuration.get(solution, {}).get(self.name, {})
        has_own = configured.get("default_retention") is not None
        return None if has_own else self._context.settings.limits.tsdb_days

    def _warn(self, solution: str, text: str, cause: int | None = None) -> None:
        """Record what a limit left out, for the solution's author."""
        self._context.journal.record("warning", solution, text, cause=cause)

    async def _drop_expired(self, solution: str) -> None:
        """Delete the points of a solution that are older than its configuration says, a hundredth later at most."""
        days = self._limit(solution)
        if days is None and self.name not in self._context.configuration.get(solution, {}):
            return
        parameters, now = self._parameters(solution), self._now()
        shortest = min(parameters.ages(), default=None)
        if shortest is None or 0 <= now - self._dropped.get(solution, -shortest) < shortest // 100:
            return
        self._dropped[solution] = now
        expired = await self._store.expire(solution, lambda name: parameters.oldest(name, now))
        own = {name for name, age in parameters.metrics_retention.items() if age != "default"}
        if days is not None and expired - own:
            self._warn(solution, f"Tsdb deleted points older than {days} days, by limits.tsdb_days")

    def configured(self, solution: str) -> None:
        self._dropped.pop(solution, None)

    async def clear(self) -> None:
        self._dropped.clear()

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
