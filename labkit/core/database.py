"""The lab's database: SQLAlchemy Core over SQLite, in memory or in a file, with one way in.

One connection, owned by the loop. All calls of one turn of the loop share one transaction (group commit), and
each returns only after the commit, so that whoever was answered can rely on what was stored.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy
from sqlalchemy import Connection, MetaData

from labkit.core.errors import LabError, SettingsError

if TYPE_CHECKING:
    import pandas

P = ParamSpec("P")
T = TypeVar("T")


class Database:
    """State of a lab.

    url: None for memory; a file name or `sqlite:///…` for state that survives a restart. With a file, what
    `run` returned survives the process being killed and the machine losing power (WAL, synchronous=FULL).
    starts: how often this state was started on, with this time.
    """

    def __init__(self, url: str | Path | None = None) -> None:
        self.path = _path(url)
        self.starts = 0
        self._connection: Connection | None = None
        self._raw: sqlite3.Connection
        self._turn: _Turn | None = None
        self._changes = 0

    @property
    def durable(self) -> bool:
        """Does the state survive a restart?"""
        return self.path is not None

    def start(self, tables: MetaData) -> None:
        """Open the database and create the tables that are missing.

        Raises SettingsError where the file cannot be opened, is not a database, or is another lab's, which
        keeps parts of it in memory.
        """
        engine = sqlalchemy.create_engine(
            "sqlite://" if self.path is None else f"sqlite:///{self.path}",
            poolclass=sqlalchemy.StaticPool,
            isolation_level="AUTOCOMMIT",  # transactions are ours: one for each turn of the loop
            connect_args={"check_same_thread": False, "timeout": 0},  # what is locked stays so
        )
        try:
            connection = engine.connect()
            connection.exec_driver_sql("PRAGMA foreign_keys=ON")
            if self.path is not None:
                connection.exec_driver_sql("PRAGMA locking_mode=EXCLUSIVE")
                connection.exec_driver_sql("PRAGMA journal_mode=WAL")
                connection.exec_driver_sql("PRAGMA synchronous=FULL")
            tables.create_all(connection)
            self.starts = connection.exec_driver_sql("PRAGMA user_version").scalar_one() + 1
            connection.exec_driver_sql(f"PRAGMA user_version={self.starts}")
        except sqlalchemy.exc.DatabaseError as error:
            engine.dispose()
            busy = getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
            reason = "another lab has it open" if busy else error.orig
            raise SettingsError(f"data: cannot use {self.path}: {reason}") from error
        self._connection = connection
        self._raw = driver(connection)
        self._changes = self._raw.total_changes

    async def run(
        self,
        function: Callable[Concatenate[Connection, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call `function(connection, …)` and return its result once it is committed.

        The function is synchronous, returns plain data, and raises to undo all that it did. A caller that is
        cancelled while the commit is pending still gets the result, so that what follows from stored data
        is not lost with the client; it is cancelled where it awaits next.
        """
        if self._connection is None:
            raise LabError("the lab is closed")
        raw = self._raw
        if not raw.in_transaction:
            raw.execute("BEGIN")
        raw.execute("SAVEPOINT call")
        if self._turn is None:
            self._turn = _Turn()
            asyncio.get_running_loop().call_soon(self._end_of_turn)
        try:
            result = function(self._connection, *args, **kwargs)
        except BaseException as error:
            if raw.in_transaction:
                raw.execute("ROLLBACK TO call")
                raw.execute("RELEASE call")
            else:  # SQLite gave up the transaction, and with it what others stored in this turn
                self._turn.failure = error
            raise
        raw.execute("RELEASE call")
        if raw.total_changes != self._changes:
            await self._committed(self._turn)
        return result

    async def read(
        self,
        function: Callable[Concatenate[Connection, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """As `run`, for a function that only reads: it needs no transaction of its own.

        Where this turn has written, it too returns after the commit: nothing is shown that may yet fail.
        """
        if self._connection is None:
            raise LabError("the lab is closed")
        result = function(self._connection, *args, **kwargs)
        if self._turn is not None and self._raw.total_changes != self._changes:
            await self._committed(self._turn)
        return result

    def close(self) -> None:
        """Commit what is pending and close."""
        if self._connection is None:
            return
        self._end_of_turn()
        self._connection.close()
        self._connection.engine.dispose()
        self._connection = None

    async def frame(self, query: str) -> pandas.DataFrame:
        """The rows of a SELECT as a DataFrame. Anything that would change the data is refused."""
        import pandas

        def select(connection: Connection) -> tuple[list[str], list[tuple[Any, ...]]]:
            raw = driver(connection)
            raw.set_authorizer(_only_reading)
            try:
                cursor = connection.exec_driver_sql(query)
                return list(cursor.keys()), [tuple(row) for row in cursor]
            finally:
                raw.set_authorizer(None)

        try:
            columns, rows = await self.read(select)
        except sqlalchemy.exc.SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error)
            if "authorized" in reason:  # SQLite's words for what `_only_reading` denies
                reason = "the data is read-only here, expected a SELECT"
            raise LabError(f"sql: {reason}") from error
        return pandas.DataFrame(rows, columns=columns)

    async def _committed(self, turn: _Turn) -> None:
        # A future of the caller's own: a task that is cancelled cancels what it waits for.
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        turn.waiting.append(future)
        try:
            await future
        except asyncio.CancelledError:  # it comes after the end of the turn, which was scheduled earlier
            if turn.failure is not None:
                raise
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
            task.cancel()  # once more: it is thrown where the caller awaits next

    def _end_of_turn(self) -> None:
        turn, self._turn = self._turn, None
        if turn is None:  # ended by close()
            return
        try:
            if turn.failure is None:
                self._raw.execute("COMMIT")
        except sqlite3.Error as error:
            turn.failure = error
        if self._raw.in_transaction:
            self._raw.execute("ROLLBACK")
        self._changes = self._raw.total_changes
        for future in turn.waiting:
            if future.done():
                continue
            if turn.failure is None:
                future.set_result(None)
            else:
                future.set_exception(turn.failure)


class _Turn:
    """The calls of one turn of the loop, which share a transaction, and who waits for its end."""

    __slots__ = ("failure", "waiting")

    def __init__(self) -> None:
        self.failure: BaseException | None = None
        self.waiting: list[asyncio.Future[None]] = []


_READING = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)


def _only_reading(action: int, *_: str | None) -> int:
    return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY


def driver(connection: Connection) -> sqlite3.Connection:
    """The driver's own connection below `connection`, for statements that run with every request."""
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw


def _path(url: str | Path | None) -> Path | None:
    if url is None:
        return None
    text = str(url)
    if text.startswith("sqlite:///"):
        return Path(text.removeprefix("sqlite:///"))
    if "://" in text:
        raise SettingsError(
            f"data: {text.split('://')[0]}:// is not supported, expected a file or sqlite:///…"
        )
    return Path(text)
