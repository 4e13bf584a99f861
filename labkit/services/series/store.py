"""Store of time series in the lab's database. Reads and deletes take pages, with the event loop free between them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

from sqlalchemy import Connection

from labkit.core.errors import ServiceError
from labkit.services.series import tables
from labkit.storage.database import Database, execute, execute_many

PAGE = 2000  # points that one statement reads or deletes
STATEMENT = 20  # points whose reading takes as long as a statement
MOST_SERIES = 50_000  # series of a solution in one service
# A quote after a comma begins a name in a JSON text, since quotes within a text are escaped.
_HAS_TAG = "instr(',' || substr(tags, 2), ?) > 0"
TRUE, FALSE = b"true", b"false"  # booleans as the database stores them, apart from texts

Value: TypeAlias = float | int | str | bytes  # bytes: TRUE or FALSE
Row: TypeAlias = tuple[int, Value]  # time in microseconds, value


class SeriesPoint(NamedTuple):
    """Point to be stored. tags: as `tags_text` returns them; field: "" where the service has no fields."""

    name: str
    tags: str
    time: int
    value: Value
    field: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one solution with the same name, field and tags."""

    id: int
    name: str
    field: str
    tags: str

    def tag_values(self) -> dict[str, str]:
        """Return the tags by name."""
        values: dict[str, str] = json.loads(self.tags)
        return values


@dataclass(frozen=True, slots=True)
class Window:
    """Span of time that a query reads, both ends included, in microseconds, and the direction."""

    begin: int
    end: int
    descending: bool = True


def tags_text(tags: Mapping[str, str]) -> str:
    """Return tags in the one form in which the database has them."""
    return json.dumps(dict(sorted(tags.items())), ensure_ascii=False, separators=(",", ":"))


def tags_order(text: str) -> list[tuple[str, str]]:
    """Return the key by which sets of tags are ordered: their names and values. text: as `tags_text` returns it."""
    return list(json.loads(text).items())


def plain_value(value: Value) -> float | int | str | bool:
    """Return a stored value as scripts see it."""
    return value == TRUE if isinstance(value, bytes) else value


class SeriesStore:
    """Series of one service. owner: its name; no service sees the series of another."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    async def write(self, solution: str, points: Sequence[SeriesPoint]) -> None:
        """Store points, all or none; a later one replaces one of the same series and time.

        Raises ServiceError 403 where the solution would have more than MOST_SERIES series.
        """
        if points:
            await self._database.run(partial(_write, owner=self._owner, solution=solution, points=points))

    async def find(
        self, solution: str, name: str | None = None, tags: Mapping[str, Sequence[str]] | None = None
    ) -> list[Series]:
        """Return series in the order of name, field and tags.

        name: of the series, None for any. tags: names with accepted values; a series needs one of each, and may have
        more tags.
        """
        return await self._database.read(
            partial(_find, owner=self._owner, solution=solution, name=name, tags=tags or {})
        )

    async def names(self, solution: str) -> list[str]:
        """Return the names of all series of a solution, in the order of the alphabet."""
        return await self._distinct("name", solution)

    async def tags(self, solution: str) -> list[str]:
        """Return the sets of tags of a solution, each as `tags_text` returns it."""
        return await self._distinct("tags", solution)

    async def _distinct(self, column: str, solution: str) -> list[str]:
        statement, values = tables.DISTINCT.format(column=column), (self._owner, solution)
        return await self._database.read(
            lambda connection: [row[0] for row in execute(connection, statement, values)]
        )

    def reader(self) -> SeriesReader:
        """Return a reader of points for one call."""
        return SeriesReader(self._database)

    async def delete(self, series: Iterable[Series]) -> None:
        """Delete series. None of their points is found once this begins; they are then removed in pages."""
        ids = [(each.id,) for each in series]
        await self._database.run(lambda connection: execute_many(connection, tables.HIDE, ids))
        await self.sweep()

    async def sweep(self) -> None:
        """Remove the points of deleted series, also of those whose deletion a restart has interrupted."""
        hidden = await self._database.read(
            lambda connection: [row[0] for row in execute(connection, tables.HIDDEN)]
        )
        for each in hidden:
            more = True
            while more:
                more = await self._database.run(_delete_page, each)
                await asyncio.sleep(0)


class SeriesReader:
    """Reader of points for one call, which lets the event loop run after each PAGE of points or some statements."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._since_pause = 0

    async def pages(self, series: int, window: Window) -> AsyncIterator[list[Row]]:
        """Yield the points of a series in pages, in the window's direction."""
        begin, end = window.begin, window.end
        while True:
            rows = await self.page(series, begin, end, PAGE, descending=window.descending)
            if rows:
                yield rows
            if len(rows) < PAGE:
                return
            if window.descending:
                end = rows[-1][0] - 1
            else:
                begin = rows[-1][0] + 1

    async def page(
        self, series: int, begin: int, end: int, count: int, *, descending: bool = True
    ) -> list[Row]:
        """Return at most `count` points of a series, the newest ones or, ascending, the oldest ones."""
        if self._since_pause >= PAGE:
            self._since_pause = 0
            await asyncio.sleep(0)
        statement = tables.NEWEST if descending else tables.OLDEST
        values = (series, begin, end, count)
        rows = await self._database.read(lambda connection: execute(connection, statement, values).fetchall())
        self._since_pause += len(rows) + STATEMENT
        return rows


def _write(connection: Connection, owner: str, solution: str, points: Sequence[SeriesPoint]) -> None:
    ids: dict[tuple[str, str, str], int] = {}
    rows = []
    for name, tags, time, value, field in points:
        key = (name, field, tags)
        series = ids.get(key)
        if series is None:
            series = ids[key] = _series_id(connection, (owner, solution, *key))
        rows.append((series, time, value))
    execute_many(connection, tables.STORE, rows)


def _series_id(connection: Connection, key: tuple[str, ...]) -> int:
    """Return the id of a series, which is created if it is missing."""
    row = execute(connection, tables.FIND, key).fetchone()
    if row is not None:
        return int(row[0])
    [count] = execute(connection, tables.COUNT, key[:2]).fetchone()
    if count >= MOST_SERIES:
        raise ServiceError(403, f"a solution may have {MOST_SERIES} series of different names and tags")
    return int(execute(connection, tables.ADD, key).lastrowid or 0)


def _find(
    connection: Connection, owner: str, solution: str, name: str | None, tags: Mapping[str, Sequence[str]]
) -> list[Series]:
    where, values = ["owner = ?", "solution = ?"], [owner, solution]
    if name is not None:
        where.append("name = ?")
        values.append(name)
    for tag, accepted in tags.items():
        where.append(f"({' OR '.join([_HAS_TAG] * len(accepted)) or '0'})")
        values += [f",{tags_text({tag: value})[1:-1]}" for value in accepted]
    query = f"SELECT id, name, field, tags FROM series WHERE {' AND '.join(where)} ORDER BY name, field, tags"
    return [Series(*row) for row in execute(connection, query, values)]


def _delete_page(connection: Connection, series: int) -> bool:
    """Delete a page of a series' points; return whether there are more. The series goes with the last of them."""
    deleted = execute(connection, tables.DELETE_PAGE, (series, series, PAGE - 1)).rowcount
    if deleted < PAGE:
        execute(connection, tables.DELETE_SERIES, (series,))
    return deleted == PAGE
