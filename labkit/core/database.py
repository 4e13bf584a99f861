"""The lab's database: SQLAlchemy Core over SQLite, in memory or in a file, with one way in.

One connection, owned by the loop. All calls of one turn of the loop share one transaction (group commit), and
each returns only after the commit, so that whoever was answered can rely on what was stored.

A function that spends something (a code, a token, a nonce) says so in its statement (`… AND NOT spent`) and counts
rows, so that it would stay right with several writers.
"""

from __future__ import annotations

import asyncio
import functools
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import sqlalchemy
from sqlalchemy import Connection, MetaData
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement

from labkit.core.errors import LabError, SettingsError
from labkit.core.selects import Selected, SelectLimits, Selects, TooLongError

P = ParamSpec("P")
T = TypeVar("T")


class Committed(Exception):
    """Raised in a function of `Database.run` that refuses, and keeps what it wrote all the same.

    error: what the caller gets, once that is committed.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(f"committed, then: {error}")
        self.error = error


class Database:
    """State of a lab.

    url: None for memory; a file name or `sqlite:///…` for state that survives a restart. With a file, what
    `run` returned survives the process being killed and the machine losing power (WAL, synchronous=FULL);
    the file is its owner's alone to read, since it holds keys and secrets.
    starts: how often this state was started on, with this time. select_limits: bounds of each `select`.
    """

    def __init__(self, url: str | Path | None = None, select_limits: SelectLimits | None = None) -> None:
        self.path = _path(url)
        self.starts = 0
        self._connection: Connection | None = None
        self._raw: sqlite3.Connection
        self._turn: _Turn | None = None
        self._changes = 0
        self._select_limits = select_limits or SelectLimits()
        self._selects: Selects
        self._after_turn: list[Callable[[], object]] = []

    @property
    def durable(self) -> bool:
        """Does the state survive a restart?"""
        return self.path is not None

    def start(self, tables: MetaData) -> None:
        """Open the database and create the tables that are missing.

        Raises SettingsError where the file cannot be opened, is not a database, has other columns than this
        version of labkit expects (then nothing in it changes), or is another lab's, which keeps parts of it in memory.
        """
        if self.path is not None:
            _keep_private(self.path)
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
                _expect_columns(self.path, connection, tables)
                connection.exec_driver_sql("PRAGMA journal_mode=WAL")
                connection.exec_driver_sql("PRAGMA synchronous=FULL")
            if self.path is None and tables.tables and hasattr(sqlite3.Connection, "deserialize"):
                with closing(sqlite3.connect(":memory:")) as empty:
                    empty.deserialize(_empty(tables, tuple(tables.tables)))
                    empty.backup(driver(connection))
            else:  # a file; or an old SQLite
                for statement in _definitions(tables, tuple(tables.tables)):
                    connection.exec_driver_sql(statement)
            self.starts = connection.exec_driver_sql("PRAGMA user_version").scalar_one() + 1
            connection.exec_driver_sql(f"PRAGMA user_version={self.starts}")
        except SettingsError:
            engine.dispose()
            raise
        except sqlalchemy.exc.DatabaseError as error:
            engine.dispose()
            busy = getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
            reason = "another lab has it open" if busy else error.orig
            raise SettingsError(f"data: cannot use {self.path}: {reason}") from error
        self._connection = connection
        self._raw = driver(connection)
        self._selects = Selects(
            self._raw,
            in_memory=self.path is None,
            secret=frozenset(
                (table.name, column.name)
                for table in tables.tables.values()
                for column in table.columns
                if column.info.get("secret")
            ),
            limits=self._select_limits,
            when_committed=self._when_committed,
        )
        self._changes = self._raw.total_changes

    async def run(
        self,
        function: Callable[Concatenate[Connection, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call `function(connection, …)` and return its result once it is committed.

        The function is synchronous, returns plain data, and raises to undo all that it did; where it raises
        `Committed(error)`, what it did is kept, and `error` is raised here after the commit. A caller that is
        cancelled while the commit is pending still gets the result, so that what follows from stored data
        is not lost with the client; it is cancelled where it awaits next.
        """
        if self._connection is None:
            raise LabError("the lab is closed")
        raw, turn = self._raw, self._begin()
        raw.execute("SAVEPOINT call")
        outcome: T | Committed
        try:
            outcome = function(self._connection, *args, **kwargs)
        except Committed as refusal:
            outcome = refusal
        except BaseException as error:
            if raw.in_transaction:
                raw.execute("ROLLBACK TO call")
                raw.execute("RELEASE call")
            else:  # SQLite gave up the transaction, and with it what others stored in this turn
                turn.failure = error
            raise
        raw.execute("RELEASE call")
        if raw.total_changes != self._changes:
            await self._committed(turn)
        if isinstance(outcome, Committed):
            raise outcome.error
        return outcome

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

    async def write(self, statement: str, values: Sequence[object]) -> None:
        """Run one statement that was written by hand, and return once it is committed.

        values: for its `?`, in order. SQLite itself undoes a statement that fails, so this needs no savepoint, and
        in memory no transaction either: it costs a third of what `run` does.
        """
        if self._connection is None:
            raise LabError("the lab is closed")
        if self.path is None and self._turn is None:
            self._raw.execute(statement, values)
            self._changes = self._raw.total_changes
            if self._selects.idle is not None:
                self._selects.drop()
            return
        turn = self._begin()
        try:
            self._raw.execute(statement, values)
        except sqlite3.Error as error:
            if not self._raw.in_transaction:
                turn.failure = error
            raise
        await self._committed(turn)

    def _begin(self) -> _Turn:
        """The turn of the loop that is under way, with its transaction."""
        if not self._raw.in_transaction:
            self._raw.execute("BEGIN")
        turn = self._turn
        if turn is None:
            turn = self._turn = _Turn()
            asyncio.get_running_loop().call_soon(self._end_of_turn)
        return turn

    def close(self) -> None:
        """Commit what is pending and close."""
        if self._connection is None:
            return
        self._selects.close()
        self._end_of_turn()
        self._connection.close()
        self._connection.engine.dispose()
        self._connection = None

    async def select(self, query: str) -> Selected:
        """Return the result of a SELECT. Raises LabError for what would change the data, is no SQL, or takes too long.

        One that takes longer than 10 ms runs in a thread on a copy of the data. Keys and secrets (columns with
        `info={"secret": True}`) count as NULL wherever the query uses them; those that it does use are in `hidden`.
        """
        if self._connection is None:
            raise LabError("the lab is closed")
        asked = self._selects.query(query)
        try:
            return await self.read(lambda connection: self._selects.run_short(asked))
        except TooLongError:
            return await self._selects.run_long(asked)

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
        if self._selects.idle is not None and self._raw.total_changes != self._changes:
            self._selects.drop()
        self._changes = self._raw.total_changes
        for future in turn.waiting:
            if future.done():
                continue
            if turn.failure is None:
                future.set_result(None)
            else:
                future.set_exception(turn.failure)
        if self._after_turn:
            after, self._after_turn = self._after_turn, []
            for function in after:
                function()

    def _when_committed(self, function: Callable[[], object]) -> None:
        """Call `function` at once, or where a transaction is open after its end."""
        if self._turn is None:
            function()
        else:
            self._after_turn.append(function)


class _Turn:
    """The calls of one turn of the loop, which share a transaction, and who waits for its end."""

    __slots__ = ("failure", "waiting")

    def __init__(self) -> None:
        self.failure: BaseException | None = None
        self.waiting: list[asyncio.Future[None]] = []


@functools.cache
def _definitions(tables: MetaData, names: tuple[str, ...]) -> list[str]:
    """What creates those tables that are missing, as text: to make it takes longer than all else at a lab's start.

    names: of the tables by now, since others may be declared later.
    """
    created: list[ExecutableDDLElement] = []
    for table in tables.sorted_tables:
        created.append(CreateTable(table, if_not_exists=True))
        created += [
            CreateIndex(index, if_not_exists=True)
            for index in sorted(table.indexes, key=lambda index: str(index.name))
        ]
    return [str(each.compile(dialect=sqlite.dialect())) for each in created]


@functools.cache
def _empty(tables: MetaData, names: tuple[str, ...]) -> bytes:
    """A database with those tables and nothing in them: to copy one is five times as quick as to create it."""
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(";".join(_definitions(tables, names)))
        return made.serialize()


def execute(connection: Connection, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
    """Run a statement written by hand, below SQLAlchemy: for those that run with every request.

    Around one of them SQLAlchemy's own objects cost several times what SQLite does. values: for its `?`, in order.
    """
    return driver(connection).execute(statement, values)


def execute_many(connection: Connection, statement: str, rows: Iterable[Sequence[object]]) -> None:
    """Run a statement written by hand once for each row."""
    driver(connection).executemany(statement, rows)


def driver(connection: Connection) -> sqlite3.Connection:
    """The driver's own connection below `connection`."""
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw


def _expect_columns(path: Path, connection: Connection, tables: MetaData) -> None:
    """Raises SettingsError where a table that is there has other columns than it should."""
    for table in tables.sorted_tables:
        rows = connection.exec_driver_sql("SELECT name FROM pragma_table_info(?)", (table.name,))
        found, expected = {row[0] for row in rows}, {column.name for column in table.columns}
        if found and found != expected:
            wrong = [f"no column {name!r}" for name in sorted(expected - found)]
            wrong += [f"an unknown column {name!r}" for name in sorted(found - expected)]
            raise SettingsError(
                f"data: {path} is of another version of labkit: its table {table.name!r} has {' and '.join(wrong)}; "
                "expected a new file, or one that this version wrote"
            )


def _keep_private(path: Path) -> None:
    """Make the file and those that SQLite puts beside it their owner's alone; it gives new ones the file's mode."""
    with suppress(OSError):  # SQLite tells better what is wrong with a file that cannot be made
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    for each in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        with suppress(OSError):  # it is not there, or another user's
            each.chmod(0o600)


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
