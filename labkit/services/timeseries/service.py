"""Timeseries: points in the line protocol, and queries in InfluxQL, for scripts of the first generation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from labkit.context import Context
from labkit.services.arguments import VALID
from labkit.services.operation import Advice, Caller, Service, operation
from labkit.services.redaction import InJournal, lengths
from labkit.services.series.store import Series, SeriesStore
from labkit.services.series.times import UNIT_NAMES, UNITS, micros, unit_hint
from labkit.services.timeseries.conditions import Filter
from labkit.services.timeseries.lines import parse_lines
from labkit.services.timeseries.query import SelectRun
from labkit.services.timeseries.statements import Drop, Select, Show, Statement

LONGEST_LINES = 2**20  # characters of a write
LONGEST_QUERY = 8192  # characters of a query
MOST_LISTED = 10_000  # names or values of SHOW


def _time_hint(value: object, given: Mapping[str, object]) -> str:
    """Return the hint about the time of the first line."""
    unit = given.get("precision") or "ns"
    if not isinstance(value, str) or not isinstance(unit, str) or unit not in UNIT_NAMES:
        return ""
    return unit_hint(value[:LONGEST_QUERY].partition("\n")[0].rpartition(" ")[2], unit, "precision '{1}'")


Lines = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_LINES),
    VALID,
    InJournal(lengths),
    Advice(_time_hint),
]
Text = Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY), VALID]
Unit = Literal["ns", "u", "ms", "s"]
# Arguments to which a text alone is given, by service and operation; scripts have them by services.lua.
TEXTS: Mapping[tuple[str, str], str] = {
    ("Timeseries", "query"): "q",
    ("Timeseries", "command"): "q",
    ("Timeseries", "write"): "query",
}


class Timeseries(Service):
    """Service that stores points in the line protocol of InfluxDB and answers InfluxQL, for each solution its own.

    Times are lab time, in whole microseconds, also `now()`; Tsdb has other data. A measurement, tag, field or value of
    a tag has 1 to 200 printable characters, a point has at most 20 tags, a text at most 65,536 characters; a solution
    may have 50,000 series, that is, fields with different tags. Aggregates take numbers, and texts that are one.
    A script may pass a text as the only argument.
    """

    name: ClassVar[str] = "Timeseries"

    def __init__(self, context: Context) -> None:
        self._context = context
        self._store = SeriesStore(context.database, "timeseries")

    @operation
    async def write(self, caller: Caller, query: Lines, precision: Unit = "ns") -> dict[str, object]:
        """Store points, all or none. Returns an empty table. 403 for more series than a solution may have.

        query: lines such as `temperature,identifier=t-001 value=21.5 1480000000000000000`: measurement, tags, fields
        and time, by default now; at most 10,000 fields in total. precision: unit of the times, `ns`, `u`, `ms` or `s`.
        """
        points = parse_lines(query, self._now(), UNITS[precision])
        await self._store.write(caller.solution, points)
        return {}

    @operation
    async def query(self, caller: Caller, q: Text, epoch: Unit | None = None) -> dict[str, object]:
        """Run queries in InfluxQL: `{results = {{series = {{name, tags, columns, values}, …}}, …}}`.

        q: at most 8192 characters: `SELECT` fields, functions (mean, sum, count, min, max, first, last, median, mode,
        spread, stddev, percentile, distinct, count(distinct())) or their changes (difference, derivative, both also
        non_negative_, moving_average, cumulative_sum), also with + - * / and numbers, `FROM` measurements `WHERE` tags
        (=, !=, =~, !~) and time `GROUP BY time(1h)` and tags `fill(null)`, none, previous, linear or a number, `ORDER
        BY time DESC`, `LIMIT` and `OFFSET` of rows, `SLIMIT` and `SOFFSET` of the series of a measurement; also what
        `command` runs, and comments. A database and a retention policy before a measurement change nothing. Other
        clauses are 400 and named. At most 10,000 rows of a series, oldest first. epoch: unit of the times in the
        result, `ns`, `u`, `ms` or `s`, by default RFC 3339.
        """
        from labkit.services.timeseries.grammar import parse  # the parser is loaded by the first query alone

        statements = parse(q)
        for each in statements:
            self._check(each)
        return {"results": [await self._run(caller, each, epoch) for each in statements]}

    @operation
    async def command(self, caller: Caller, q: Text) -> dict[str, object]:
        """Run statements in InfluxQL, with the result of `query`.

        q: `SHOW MEASUREMENTS`, `SHOW TAG KEYS`, `SHOW FIELD KEYS`, `SHOW TAG VALUES WITH KEY = name`, each with `FROM`
        for one measurement, `DROP MEASUREMENT name`, `DROP SERIES FROM name WHERE` tags; also a query. Others are 400.
        """
        return await self.query(caller, q)

    async def forget(self, solution: str) -> None:
        await self._store.delete_all(solution)

    def _check(self, statement: Statement) -> None:
        """Raise ServiceError 400 for a statement that cannot be run, before any of a query has run."""
        if isinstance(statement, Show):
            return
        where = Filter(statement.where, self._now())
        if isinstance(statement, Drop):
            where.expect_tags_only()

    async def _run(self, caller: Caller, statement: Statement, epoch: str | None) -> dict[str, object]:
        """Return the result of a statement, `{}` where nothing is found."""
        if isinstance(statement, Select):
            run = SelectRun(self._store, self._store.reader(), statement, caller.solution, self._now(), epoch)
            found = await run.series()
        elif isinstance(statement, Show) and statement.what == "measurements" and not statement.sources:
            found = _measurements(await self._store.names(caller.solution))
        elif isinstance(statement, Show):
            found = _listed(statement, await self._found(caller, statement.sources))
        else:
            found = await self._drop(caller, statement)
        return {"series": found} if found else {}

    async def _drop(self, caller: Caller, statement: Drop) -> list[dict[str, Any]]:
        where = Filter(statement.where, self._now())
        found = await self._found(caller, statement.sources)
        chosen = [each for each in found if where.accepts(each.tag_values())]
        await self._store.delete(caller.solution, chosen)
        return []

    async def _found(self, caller: Caller, sources: Sequence[str]) -> list[Series]:
        """Return the series of these measurements, of all if there are none."""
        if not sources:
            return await self._store.find(caller.solution)
        return [
            each for name in dict.fromkeys(sources) for each in await self._store.find(caller.solution, name)
        ]

    def _now(self) -> int:
        return micros(self._context.clock.now())


def _listed(show: Show, found: Sequence[Series]) -> list[dict[str, Any]]:
    """Return the result of SHOW: a series for each measurement, with one row for each name or value."""
    if show.what == "measurements":
        return _measurements(dict.fromkeys(each.name for each in found))
    listed: dict[str, set[str]] = {}
    for each in found:
        own = listed.setdefault(each.name, set())
        if show.what == "field keys":
            own.add(each.field)
        elif show.what == "tag keys":
            own.update(each.tag_values())
        elif show.key in (tags := each.tag_values()):
            own.add(tags[show.key])
    columns = {"field keys": ["fieldKey"], "tag keys": ["tagKey"], "tag values": ["key", "value"]}[show.what]
    before = [show.key] if show.what == "tag values" else []
    return [
        _list(name, columns, [[*before, each] for each in sorted(own)]) for name, own in listed.items() if own
    ]


def _measurements(names: Collection[str]) -> list[dict[str, Any]]:
    return [_list("measurements", ["name"], [[name] for name in names])] if names else []


def _list(name: str, columns: list[str], rows: list[list[str]]) -> dict[str, Any]:
    return {"name": name, "columns": columns, "values": rows[:MOST_LISTED]}
