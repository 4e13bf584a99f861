"""Store of time series in the lab's database. Reads and deletes take pages, with the event loop free between them."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import Connection

from labkit.core.errors import ServiceError
from labkit.services.series import tables
from labkit.services.series.times import EARLIEST, LATEST
from labkit.storage.database import Database, execute, execute_many

PAGE = 2000  # points that one statement reads or deletes
FEW = 8  # series of which each has a whole page
SHORT = 20  # points that are read of each of many series at first
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


class Series(NamedTuple):
    """Points of one solution with the same name, field and tags."""

    id: int
    name: str
    field: str
    tags: str

    def tag_values(self) -> dict[str, str]:
        """Return the tags by name."""
        return tag_values(self.tags)


@dataclass(frozen=True, slots=True)
class Window:
    """Span of time that a query reads, both ends included, in microseconds, and the direction."""

    begin: int
    end: int
    descending: bool = True


def tags_text(tags: Mapping[str, str]) -> str:
    """Return tags in the one form in which the database has them."""
    return json.dumps(dict(sorted(tags.items())), ensure_ascii=False, separators=(",", ":"))


def tag_values(text: str) -> dict[str, str]:
    """Return tags by name from the form that `tags_text` returns."""
    if "\\" in text:
        values: dict[str, str] = json.loads(text)
        return values
    parts = text.split('"')  # in a third of the time
    return dict(zip(parts[1::4], parts[3::4], strict=True))


def tags_order(text: str) -> str:
    """Return the key by which sets of tags are ordered: their names and values. text: as `tags_text` returns it.

    No name or value has a zero character, which ends them here, so that none comes after a longer one.
    """
    if "\\" not in text:
        return text[1:-1].replace('"', "\0")
    return ",".join(f"\0{name}\0:\0{value}\0" for name, value in json.loads(text).items())


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
        self,
        solution: str,
        name: str | None = None,
        tags: Mapping[str, Sequence[str]] | None = None,
        most: int = -1,
    ) -> list[Series]:
        """Return series in the order of name, field and tags.

        name: of the series, None for any. tags: names with accepted values; a series needs one of each, and may have
        more tags. most: number of series, -1: all.
        """
        return await self._database.read(
            partial(_find, owner=self._owner, solution=solution, name=name, tags=tags or {}, most=most)
        )

    async def after(self, solution: str, series: Sequence[str], most: int) -> list[Series]:
        """Return at most so many series behind one, in the order of name, field and tags, which `series` has."""
        values = (self._owner, solution, *series, most)
        return [*map(Series._make, await self._database.read(_fetch, tables.AFTER, values))]

    async def names(self, solution: str, most: int = MOST_SERIES, after: str = "") -> list[str]:
        """Return the names of the series of a solution, at most so many behind one, in the order of the alphabet."""
        of = (self._owner, solution)
        found = await self._database.read(_distinct, "series", ("name",), of, most, (after,))
        return [name for name, *_ in found]

    async def tags(
        self, solution: str, most: int, after: tuple[str, ...] = ("", "")
    ) -> list[tuple[str, ...]]:
        """Return at most so many pairs of name and value of a solution's tags behind a pair, in their order."""
        columns, of = ("name", "value"), (self._owner, solution)
        return await self._database.read(_distinct, "series_tag", columns, of, most, after)

    async def has_field(self, solution: str, name: str, field: str) -> bool:
        """Return whether a series of a name has a field."""
        of = (self._owner, solution, name, field)
        return bool(await self._database.read(_fetch, tables.HAS_FIELD, of))

    def reader(self) -> SeriesReader:
        """Return a reader of points for one call."""
        return SeriesReader(self._database, self._owner)

    async def delete(self, solution: str, series: Sequence[Series]) -> None:
        """Delete series. None of their points is found once this begins; they are then removed in pages."""
        await self._database.run(_hide, (self._owner, solution), series)
        await self.sweep()

    async def delete_all(self, solution: str) -> None:
        """Delete all series of a solution, as `delete` does."""
        await self._database.run(_hide_all, (self._owner, solution))
        await self.sweep()

    async def expire(self, solution: str, before: Callable[[str], int | None]) -> set[str]:
        """Delete the points of a solution that are too old, and the series that have none left.

        before: returns the time of the oldest point that is kept, by the name of a series; None: it keeps all. Returns
        the names of the series that had points to delete.
        """
        names: set[str] = set()
        old = [(each, time) for each in await self.find(solution) if (time := before(each.name)) is not None]
        for each, time in old:
            deleted = PAGE
            while deleted == PAGE:
                deleted = await self._database.run(_delete_before, each.id, time)
                if deleted:
                    names.add(each.name)
                await asyncio.sleep(0)
        if old:
            await self._database.run(_hide_empty, (self._owner, solution), [each for each, _ in old])
            await self.sweep()
        return names

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

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner
        self._since_pause = 0

    async def pages(self, series: int, window: Window, most: int = PAGE) -> AsyncIterator[list[Row]]:
        """Yield the points of a series in pages, in the window's direction. most: points of a page, at most PAGE."""
        begin, end = window.begin, window.end
        size = min(most, PAGE)
        while True:
            rows = await self.page(series, begin, end, size, descending=window.descending)
            if rows:
                yield rows
            if len(rows) < size:
                return
            if window.descending:
                end = rows[-1][0] - 1
            else:
                begin = rows[-1][0] + 1

    async def each(self, ids: Sequence[int], window: Window) -> AsyncIterator[AsyncIterator[list[Row]]]:
        """Yield the pages of each of these series, one after the other."""
        if len(ids) <= FEW:
            for series in ids:
                yield self.pages(series, window)
            return
        async for series, rows in self.heads(ids, window, SHORT):
            yield self.pages(series, window) if len(rows) == SHORT else _only(rows)

    async def heads(
        self, ids: Sequence[int], window: Window, count: int
    ) -> AsyncIterator[tuple[int, list[Row]]]:
        """Yield the first `count` points, in the window's direction, of each of these series that has any."""
        async for rows in self.batches(ids, window, count):
            for series, own in groupby(rows, key=itemgetter(0)):
                yield series, [(time, value) for _, time, value in own]

    async def batches(
        self, ids: Sequence[int], window: Window, count: int
    ) -> AsyncIterator[list[tuple[int, int, Value]]]:
        """Yield what `heads` does as rows of series, time and value, for some series at once."""
        size = max(1, min(PAGE // count, PAGE // STATEMENT))
        statement = tables.NEWEST_OF_EACH if window.descending else tables.OLDEST_OF_EACH
        for at in range(0, len(ids), size):
            values = (json.dumps(ids[at : at + size]), window.begin, window.end, count - 1)
            await self.pause()
            rows = await self._database.read(_fetch, statement, values)
            self._since_pause += len(rows) + STATEMENT * size
            yield rows

    async def of_all(
        self, solution: str, name: str, field: str, window: Window, count: int
    ) -> tuple[list[tuple[int, Value, str, int]], int | None]:
        """Return the first `count` points, in the window's direction, of all series of a name and field.

        A point has a time, a value, tags and the number of its series; all of the time of the last one are among them.
        Also returns that time, None where there are fewer points.
        """
        of, begin, end = (self._owner, solution, name, field), window.begin, window.end
        number = _family(*of)
        statement = tables.NEWEST_TIME if window.descending else tables.OLDEST_TIME
        found = await self._database.read(_fetch, statement, (number, begin, end, count - 1))
        last = found[0][0] if found else None
        if last is not None:
            begin, end = (last, end) if window.descending else (begin, last)
        rows: list[tuple[int, Value, str, int]] = []
        after = begin, 0
        while True:
            await self.pause()
            page = await self._database.read(_fetch, tables.OF_ALL, (number, *after, end, *of, PAGE))
            self._since_pause += len(page) + STATEMENT
            rows += page
            if len(page) < PAGE:
                return rows, last
            after = page[-1][0], page[-1][3]

    async def pause(self, rows: int = 0) -> None:
        """Let others run where PAGE rows were read or made since the last time, these included."""
        self._since_pause += rows
        if self._since_pause >= PAGE:
            self._since_pause = 0
            await asyncio.sleep(0)

    async def page(
        self, series: int, begin: int, end: int, count: int, *, descending: bool = True
    ) -> list[Row]:
        """Return at most `count` points of a series, the newest ones or, ascending, the oldest ones."""
        await self.pause()
        statement = tables.NEWEST if descending else tables.OLDEST
        rows = await self._database.read(_fetch, statement, (series, begin, end, count))
        self._since_pause += len(rows) + STATEMENT
        return rows


def _family(*of: str) -> int:
    """Return the checksum of an owner, a solution, a name and a field."""
    return zlib.crc32("\0".join(of).encode())


async def _only(rows: list[Row]) -> AsyncIterator[list[Row]]:
    yield rows


def _fetch(connection: Connection, statement: str, values: Sequence[object]) -> list[Any]:
    return execute(connection, statement, values).fetchall()


def _write(connection: Connection, owner: str, solution: str, points: Sequence[SeriesPoint]) -> None:
    of = (owner, solution)
    ids: dict[tuple[str, str, str], tuple[int, int]] = {}
    rows, added = [], []
    for name, tags, time, value, field in points:
        key = (name, field, tags)
        series = ids.get(key)
        if series is None:
            row = execute(connection, tables.FIND, (*of, *key)).fetchone()
            if row is None:
                row = (execute(connection, tables.ADD, (*of, *key)).lastrowid or 0,)
                added.append((row[0], tags))
            series = ids[key] = int(row[0]), _family(*of, name, field)
        rows.append((series[0], time, value, series[1]))
    if added:
        count = _count(connection, of) + len(added)
        if count > MOST_SERIES:
            raise ServiceError(403, f"a solution may have {MOST_SERIES} series of different names and tags")
        execute(connection, tables.SET_COUNT, (*of, count))
        execute_many(
            connection,
            tables.TAG,
            [(*of, *tag, id) for id, text in added for tag in json.loads(text).items()],
        )
    execute_many(connection, tables.STORE, rows)


def _count(connection: Connection, of: tuple[str, str]) -> int:
    """Return the number of series. of: owner and solution."""
    row = execute(connection, tables.COUNT, of).fetchone()
    return row[0] if row else 0


def _hide(connection: Connection, of: tuple[str, str], series: Sequence[Series]) -> None:
    """Hide series from all that reads them. of: their owner and solution."""
    execute_many(connection, tables.HIDE, [(each.id,) for each in series])
    execute_many(
        connection,
        tables.UNTAG,
        [(*of, *tag, each.id) for each in series for tag in each.tag_values().items()],
    )
    execute(connection, tables.SET_COUNT, (*of, _count(connection, of) - len(series)))


def _delete_before(connection: Connection, series: int, time: int) -> int:
    """Delete a page of a series' points before a time; return how many there were."""
    return execute(connection, tables.DELETE_BEFORE, (series, time, PAGE - 1)).rowcount


def _hide_empty(connection: Connection, of: tuple[str, str], series: Sequence[Series]) -> None:
    """Hide those of these series that have no point."""
    every = (EARLIEST, LATEST, 1)
    _hide(
        connection, of, [each for each in series if not _fetch(connection, tables.NEWEST, (each.id, *every))]
    )


def _hide_all(connection: Connection, of: tuple[str, str]) -> None:
    for statement in tables.HIDE_ALL:
        execute(connection, statement, of)


def _distinct(
    connection: Connection,
    table: str,
    columns: Sequence[str],
    of: tuple[str, str],
    most: int,
    after: tuple[str, ...],
) -> list[tuple[str, ...]]:
    """Return at most so many different rows of these columns behind one, in order. of: owner and solution."""
    statement = tables.DISTINCT.format(
        table=table, columns=", ".join(columns), marks=", ".join("?" for _ in columns)
    )
    found: dict[tuple[str, ...], None] = {}
    last = after
    while len(found) < most and (rows := _fetch(connection, statement, (*of, *last))):
        found.update(dict.fromkeys(rows))
        last = rows[-1]
    return [*found][:most]


def _find(
    connection: Connection,
    owner: str,
    solution: str,
    name: str | None,
    tags: Mapping[str, Sequence[str]],
    most: int,
) -> list[Series]:
    where, values = ["owner = ?", "solution = ?"], [owner, solution]
    for tag, accepted in tags.items():
        tagged = tables.TAGGED.format(marks=", ".join("?" for _ in accepted))
        ids = _fetch(connection, tagged, (owner, solution, tag, *accepted, PAGE))
        if len(ids) < PAGE:
            # the sign keeps SQLite from reading all series of the solution
            where = ["id IN (SELECT value FROM json_each(?))", "+owner = ?", "+solution = ?"]
            values.insert(0, json.dumps([id for [id] in ids]))
            break
    if name is not None:
        where.append("name = ?")
        values.append(name)
    for tag, accepted in tags.items():
        where.append(f"({' OR '.join([_HAS_TAG] * len(accepted)) or '0'})")
        values += [f",{tags_text({tag: value})[1:-1]}" for value in accepted]
    query = f"SELECT id, name, field, tags FROM series WHERE {' AND '.join(where)} ORDER BY name, field, tags LIMIT ?"
    return [*map(Series._make, execute(connection, query, (*values, most)))]


def _delete_page(connection: Connection, series: int) -> bool:
    """Delete a page of a series' points; return whether there are more. The series goes with the last of them."""
    deleted = execute(connection, tables.DELETE_PAGE, (series, series, PAGE - 1)).rowcount
    if deleted < PAGE:
        execute(connection, tables.DELETE_SERIES, (series,))
    return deleted == PAGE
