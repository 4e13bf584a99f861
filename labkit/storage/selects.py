"""Execution of users' SELECTs: short ones on the lab's own connection, long ones in a thread on a copy of the data.

They only read, show no secrets, and are limited in time and in the size of the result.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from sys import getsizeof
from typing import Any, NamedTuple

from labkit.core.errors import LabError, UnknownError, did_you_mean, unknown
from labkit.core.host_time import monotonic
from labkit.core.words import plural
from labkit.labtime.slots import Slots
from labkit.storage.copies import Copy, StoppedError, in_thread
from labkit.storage.schema import metadata

SHORT = 0.01  # seconds of real time that a SELECT may block the loop, before it is restarted on a copy
SHORT_VALUE = 65_536  # bytes of a value that the loop computes: a single large one may take seconds
SMALL = 2000  # pages of a database that is small enough to count all its rows within SHORT
STEPS = 500  # steps of SQLite between two checks of the time: some 20 µs
LONG_STEPS = 50_000
AT_ONCE = 4  # long SELECTs, each with a copy of its own
COPIES = 6  # of a value in memory at once: SQLite's, and a text in Python, of up to 4 bytes a character

# SQLite does not ask the authorizer for the merged columns of a FULL JOIN by name.
_FULL = re.compile(r"\bfull\b", re.IGNORECASE)
_BY_NAME = re.compile(r"\b(using|natural)\b", re.IGNORECASE)
_READING = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
_RAW = frozenset(
    {"sqlite_dbpage"}
)  # tables that some builds of SQLite have, and that show every byte of the file


class Selected(NamedTuple):
    """Result of a SELECT. hidden: the secret columns, as `table.column`, that read as NULL in it."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    hidden: tuple[str, ...]


class SelectLimits(NamedTuple):
    """Limits of one SELECT, named as in the settings. sql: seconds of real time; sql_size: bytes of the result."""

    seconds: float = 30.0
    size: int = 2**30


class TooLongError(Exception):
    """Raised for a SELECT that takes too long to run on the loop."""


class Query:
    """One SELECT. It may run several times, on one connection at a time."""

    def __init__(self, text: str, secret: frozenset[tuple[str, str]], size: int) -> None:
        if not isinstance(text, str):
            raise LabError(f"sql: expected the text of a SELECT, not {type(text).__name__}")
        if _FULL.search(text) and _BY_NAME.search(text):
            raise LabError("sql: a FULL JOIN needs ON here, not USING or NATURAL")
        self._text = text
        self._secret = secret
        self._size = size
        self._hidden: set[str] = set()

    def run(
        self, raw: sqlite3.Connection, ended: Callable[[], bool], steps: int, *, counts: bool = True
    ) -> Selected:
        """Run the query on a connection, and return the result.

        ended: called after every `steps` steps of SQLite, returns whether to abort; counts: whether the query may count
        all rows of a table. Raises LabError for an invalid query, TooLongError if it was aborted.
        """
        self._hidden.clear()
        raw.set_authorizer(self._permit)
        raw.set_progress_handler(ended, steps)
        try:
            if not counts and self._counts_rows(raw):
                raise TooLongError
            # The driver keeps compiled statements by their text: the lab's own must not get one of these.
            cursor = raw.execute(f"/* select */ {self._text}")
            try:
                return self._fetch(cursor)
            finally:
                cursor.close()
        except (sqlite3.Error, sqlite3.Warning) as error:
            code = getattr(error, "sqlite_errorcode", None)
            if code == sqlite3.SQLITE_INTERRUPT:
                raise TooLongError from error
            if code == sqlite3.SQLITE_TOOBIG:
                text = "a value is larger than a sixth of guard.sql_size; select less, or raise the setting"
                raise TooLongError(text) from error
            # Denied by `_permit`; a PRAGMA as a table-valued function is recognized by the message alone.
            denied = code == sqlite3.SQLITE_AUTH or "not authorized" in str(error)
            if denied:
                raise LabError("sql: the data is read-only here, expected a SELECT") from error
            raise _named(str(error), self._text) from error
        except ValueError as error:  # a NUL, or a lone surrogate
            raise LabError(f"sql: {error}") from error
        except MemoryError as error:
            raise LabError("sql: the result does not fit into memory") from error
        finally:
            raw.set_progress_handler(None, 0)
            raw.set_authorizer(None)

    def _counts_rows(self, raw: sqlite3.Connection) -> bool:
        """Return whether the query counts all rows of a table: one step of SQLite, which no timeout can interrupt."""
        return any(row[1] == "Count" for row in raw.execute(f"EXPLAIN {self._text}"))

    def _fetch(self, cursor: sqlite3.Cursor) -> Selected:
        if cursor.description is None:
            raise LabError("sql: it does not return rows, expected a SELECT")
        columns = tuple(each[0] for each in cursor.description)
        rows: list[tuple[Any, ...]] = []
        size = 0
        for row in cursor:
            rows.append(row)
            size += getsizeof(row) + sum(map(getsizeof, row))
            if size > self._size:
                raise LabError(
                    f"sql: the result is larger than {self._size:,} bytes (guard.sql_size) after {len(rows):,} "
                    f"{plural(len(rows), 'row')}; select less, or raise the setting"
                )
        return Selected(columns, tuple(rows), tuple(sorted(self._hidden)))

    def _permit(self, action: int, table: str | None, column: str | None, *_: str | None) -> int:
        if action not in _READING or table in _RAW:
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_READ and (table, column) in self._secret:
            self._hidden.add(f"{table}.{column}")
            return sqlite3.SQLITE_IGNORE
        return sqlite3.SQLITE_OK


class Selects:
    """Executor of SELECTs, on a connection that the event loop owns or on copies of its data.

    in_memory: whether copies are in memory. secret: columns, as table and column, that read as NULL.
    when_committed: calls a function on the loop, at the next moment without an open transaction.
    """

    def __init__(
        self,
        raw: sqlite3.Connection,
        *,
        in_memory: bool,
        secret: frozenset[tuple[str, str]],
        limits: SelectLimits,
        when_committed: Callable[[Callable[[], object]], object],
    ) -> None:
        self._raw = raw
        self._in_memory = in_memory
        self._secret = secret
        self._limits = limits
        self._when_committed = when_committed
        self._slots = Slots(AT_ONCE)
        self._used: set[Copy] = set()
        self._closed = False
        self.idle: Copy | None = None  # the last used copy, until the data changes

    def query(self, text: str) -> Query:
        """Return the query of a text. Raises LabError for a text that can be refused without running it."""
        return Query(text, self._secret, self._limits.size)

    def run_short(self, query: Query) -> Selected:
        """Run a SELECT on the connection. Raises TooLongError if it takes too long, LabError if it fails."""
        until = monotonic() + SHORT
        longest = self._raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, SHORT_VALUE)
        try:
            pages = self._raw.execute("PRAGMA page_count").fetchone()[0]
            return query.run(self._raw, lambda: monotonic() > until, STEPS, counts=pages <= SMALL)
        finally:
            self._raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)

    async def run_long(self, query: Query) -> Selected:
        """Run a SELECT on a copy in a thread. Cancelling the caller aborts it.

        Raises LabError if it fails or takes too long.
        """
        if not self._slots.acquire():
            try:
                await self._slots.wait()
            except asyncio.CancelledError:
                if not self._closed:
                    raise
                raise LabError("the lab is closed") from None
        try:
            return await self._run_on_copy(query)
        finally:
            self._slots.release()

    def drop(self) -> None:
        """Drop the idle copy, after a change of the data."""
        idle, self.idle = self.idle, None
        if idle is not None:
            idle.close()

    def close(self) -> None:
        """End every SELECT and release the connection."""
        self._closed = True
        self.drop()
        self._slots.cancel()
        for copy in self._used:
            copy.stop()
        for copy in self._used:
            copy.wait()

    async def _run_on_copy(self, query: Query) -> Selected:
        copy = self._copy()
        self._used.add(copy)
        loop = asyncio.get_running_loop()

        def grant() -> None:
            copy.grant(self._raw.total_changes)

        def ask() -> None:
            loop.call_soon_threadsafe(self._when_committed, grant)

        def work() -> Selected:
            try:
                if copy.version is None:
                    copy.fill(self._raw, ask)
                longest = max(self._limits.size // COPIES, SHORT_VALUE)
                copy.raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
                return query.run(copy.raw, lambda: copy.stopped, LONG_STEPS)
            finally:
                with suppress(RuntimeError):  # the loop has ended, and the copy with it
                    loop.call_soon_threadsafe(self._used_copy, copy)

        try:
            async with asyncio.timeout(self._limits.seconds):
                return await in_thread(work)
        except TimeoutError as error:
            limit = f"{self._limits.seconds:g} s (guard.sql)"
            raise LabError(f"sql: it was ended after {limit}; select less, or raise the setting") from error
        except (StoppedError, TooLongError) as error:
            raise LabError("the lab is closed" if self._closed else f"sql: {error}") from error
        except sqlite3.Error as error:
            raise LabError(f"sql: the data cannot be copied: {error}") from error
        finally:
            if copy in self._used:
                copy.stop()

    def _copy(self) -> Copy:
        """Return the idle copy if the data has not changed since, otherwise a new one, which has to be filled."""
        if self._closed:
            raise LabError("the lab is closed")
        copy, self.idle = self.idle, None
        if copy is not None:
            if copy.version == self._raw.total_changes:
                return copy
            copy.close()
        made = Copy(self._in_memory)
        made.begin()
        return made

    def _used_copy(self, copy: Copy) -> None:
        """Keep a copy whose thread has ended, if it is still up to date; otherwise close it."""
        self._used.discard(copy)
        if self._closed or copy.stopped or copy.version != self._raw.total_changes or self.idle is not None:
            copy.close()
        else:
            self.idle = copy


def _named(reason: str, query: str) -> LabError:
    """Return the error of SQLite's reason, with the existing tables, or the similar column or those of the query."""
    what, _, name = reason.partition(": ")
    if what == "no such table":
        return UnknownError(f"sql: {unknown('table', name, sorted(metadata.tables))}")
    if what == "no such column":
        words = set(re.findall(r"\w+", query.lower()))
        tables = [table for table in metadata.tables.values() if table.name in words]
        columns = [column.name for table in tables for column in table.columns]
        there = f", there are: {', '.join(dict.fromkeys(columns))}" if columns else ""
        return UnknownError(f"sql: no column {name!r}{there}{did_you_mean(name.rpartition('.')[2], columns)}")
    return LabError(f"sql: {reason}")
