"""The lab's database: SQLAlchemy Core over SQLite, in memory or in a file.

All access goes through one connection on the event loop. Calls of one turn of the loop share one transaction (group
commit); each returns only after the commit, so that an answered client can rely on the stored data.

A function that uses up something (a code, a token, a nonce) says so in its statement (`… AND NOT spent`) and
counts rows, so that it would stay right with several writers.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from ctypes import py_object, pythonapi
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import sqlalchemy
from sqlalchemy import Connection, MetaData

from labkit.core.errors import LabError, SettingsError, StorageError
from labkit.labtime.activity import Activity
from labkit.labtime.clock import Clock
from labkit.storage.connections import connection_in_memory, copy_in_memory, one_connection
from labkit.storage.connections import driver as driver
from labkit.storage.connections import execute as execute
from labkit.storage.connections import execute_many as execute_many
from labkit.storage.data_file import KEEP_TIME, open_data_file
from labkit.storage.group_commit import CommitGroup, let_others_run
from labkit.storage.group_commit import Committed as Committed
from labkit.storage.schema import definitions, empty_database, secret_columns
from labkit.storage.selects import Selected, SelectLimits, Selects, TooLongError
from labkit.storage.storage import FULL, Storage, beside, create_private, path_of, unusable
from labkit.storage.upgrades import VERSION

P = ParamSpec("P")
T = TypeVar("T")


class Database:
    """Stored state of a lab.

    url: None for memory; a file name or `sqlite:///…` for state that survives a restart. With a file, the
    results of `run` survive the process being killed and the machine losing power (WAL, synchronous=FULL); only
    its owner may read the file, since it contains keys and secrets. starts: number of starts with this state,
    this one included. select_limits: bounds of each `select`. clock: its time is stored in a file with each
    commit; ended_at: the stored time of the previous start. activity: shows whether other requests have arrived.
    """

    def __init__(
        self,
        url: str | Path | None = None,
        select_limits: SelectLimits | None = None,
        clock: Clock | None = None,
        activity: Activity | None = None,
    ) -> None:
        self.path = path_of(url)
        self._clock = clock
        self._now = clock.now if clock is not None and self.path is not None else None
        self._activity = activity if activity is not None else Activity()
        self._yielding = 0  # stored writes that let other requests run before they return
        self.ended_at = 0.0
        self.starts = 0
        self._connection: Connection | None = None
        self._raw: sqlite3.Connection
        self._tables: MetaData
        self._forked: sqlite3.Connection | None = None  # copy of a data file, for forks
        self._left: Connection | None = None  # in a fork: of the data file, which is never used again
        self._turn: CommitGroup | None = None
        self._changes = 0
        self._select_limits = select_limits or SelectLimits()
        self._selects: Selects
        self._after_turn: list[Callable[[], object]] = []
        self._lost: tuple[Callable[[], object], ...] = ()
        self._storage = Storage(self.path)
        self._closed = "the lab is closed"

    @property
    def is_open(self) -> bool:
        """Whether it can be read and written."""
        return self._connection is not None

    @property
    def durable(self) -> bool:
        """Whether the state survives a restart."""
        return self.path is not None

    def start(self, tables: MetaData) -> None:
        """Open the database and create the missing tables.

        Raises SettingsError where the file cannot be opened, is open in another lab, or is not a data file that this
        version of labkit can use or upgrade (then nothing in it changes).
        """
        created = self.path is not None and create_private(self.path)
        self._closed = "the lab is closed"
        try:
            self._open(tables)
        except SettingsError as error:
            self._closed = f"the lab has stopped: {error}"
            for each in (self.path, *beside(self.path)) if created and self.path is not None else ():
                each.unlink(missing_ok=True)
            raise
        self._storage.opened()

    def _open(self, tables: MetaData) -> None:
        self._tables = tables
        if self.path is None:
            connection = connection_in_memory()
            self._prepare(connection, tables)
            self._use(connection)
            return
        engine = one_connection(f"sqlite:///{self.path}")
        try:
            connection = engine.connect()
            self._prepare(connection, tables)
        except SettingsError:
            engine.dispose()
            raise
        except (sqlalchemy.exc.DatabaseError, sqlite3.DatabaseError) as error:
            engine.dispose()
            raise unusable(self.path, error) from error
        self._use(connection)

    def _use(self, connection: Connection) -> None:
        """Use this connection from now on."""
        self._connection = connection
        self._raw = driver(connection)
        self._selects = Selects(
            self._raw,
            in_memory=self.path is None,
            secret=secret_columns(self._tables, tuple(self._tables.tables)),
            limits=self._select_limits,
            when_committed=self._when_committed,
        )
        self._changes = self._raw.total_changes

    def _prepare(self, connection: Connection, tables: MetaData) -> None:
        """Open the file, or create the tables in memory, and count this start."""
        raw = driver(connection)
        raw.execute("PRAGMA foreign_keys=ON")
        if self.path is not None:
            self.ended_at, self.starts = open_data_file(self.path, raw, tables)
            return
        self.starts = 1
        if tables.tables and hasattr(sqlite3.Connection, "deserialize"):
            with closing(sqlite3.connect(":memory:")) as empty:
                empty.deserialize(empty_database(tables, tuple(tables.tables)))
                empty.backup(raw)
        else:  # an old SQLite
            for statement in definitions(tables, tuple(tables.tables)):
                raw.execute(statement)

    async def run(
        self,
        function: Callable[Concatenate[Connection, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call `function(connection, …)` and return its result once its writes are committed.

        The function is synchronous and returns plain data. An exception undoes all its writes, except
        `Committed(error)`: then they are kept, and `error` is raised here after the commit. A caller that is
        cancelled while the commit is pending still gets the result (see `group_commit`).
        """
        if self._connection is None:
            raise LabError(self._closed)
        raw, turn = self._raw, self._begin()
        outcome: T | Committed
        try:
            raw.execute("SAVEPOINT call")
            try:
                outcome = function(self._connection, *args, **kwargs)
            except Committed as refusal:
                outcome = refusal
            raw.execute("RELEASE call")
        except BaseException as error:  # noqa: BLE001  raised again, or as the storage error that it means
            failure = self._storage.failure(error)
            self._undo(turn, failure)
            raise failure from (error.__cause__ if failure is error else error)
        if raw.total_changes != self._changes:
            await turn.wait()
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
        """Return the result of a function that only reads.

        In a turn of the loop with uncommitted writes it returns after their commit, since their data may be in it.
        """
        if self._connection is None:
            raise LabError(self._closed)
        try:
            result = function(self._connection, *args, **kwargs)
        except Exception as error:  # noqa: BLE001  raised again, or as the storage error that it means
            failure = self._storage.failure(error)
            raise failure from (error.__cause__ if failure is error else error)
        if self._turn is not None and self._raw.total_changes != self._changes:
            await self._turn.wait()
        return result

    def read_now(self, function: Callable[[Connection], T]) -> T:
        """Return the result of a function that only reads, immediately and including uncommitted data."""
        if self._connection is None:
            raise LabError(self._closed)
        return function(self._connection)

    async def write(self, statement: str, values: Sequence[object]) -> int:
        """Run one statement of handwritten SQL, and return the number of changed rows once it is committed.

        values: for its `?`, in order. SQLite itself undoes a failed statement, so this needs no savepoint, and
        in memory no transaction either: it costs a third of `run`. In memory too it returns in the next turn of
        the loop where other requests have arrived.
        """
        if self._connection is None:
            raise LabError(self._closed)
        if self.path is None and self._turn is None:
            changed = self._raw.execute(statement, values).rowcount
            self._changes = self._raw.total_changes
            if self._selects.idle is not None:
                self._selects.drop()
            if self._yielding or self._activity.arrived:
                await self._yield_to_others()
            return changed  # at once where it is the only request
        turn = self._begin()
        try:
            changed = self._raw.execute(statement, values).rowcount
        except sqlite3.Error as error:
            failure = self._storage.failure(error)
            if not self._raw.in_transaction:
                turn.failure = failure
            raise failure from (error.__cause__ if failure is error else error)
        await turn.wait()
        return changed

    async def probe(self) -> None:
        """Raise StorageError if the data file still has no room after a write that failed for that reason."""
        if self._storage.full:
            turn = self._begin()
            try:
                self._raw.execute(f"PRAGMA user_version={VERSION}")  # writes a page, and changes nothing
            except sqlite3.Error as error:
                turn.failure = self._storage.failure(error)
            await turn.wait()

    def watch(
        self, *, report: Callable[[str], object] | None = None, lost: Callable[[], object] | None = None
    ) -> None:
        """Call `report` with a text when the data file is out of room, has room again, or is damaged.

        lost: called when the transaction of a turn of the loop was rolled back, before its callers resume.
        """
        self._storage.reports += () if report is None else (report,)
        self._lost += () if lost is None else (lost,)

    async def _yield_to_others(self) -> None:
        """Let requests that arrived with this one store their data before this one's answer is made.

        Many requests that do the same step one after the other find its code in the processor's caches: from eight
        connections on, this saves 13 to 20 % of a write's CPU time. Writes return in the order in which they stored.
        """
        if (
            self._clock is not None and self._clock.driven
        ):  # where turns alone decide who is next, and others wait for them
            return
        self._yielding += 1
        try:
            await let_others_run()
        finally:
            self._yielding -= 1

    def _undo(self, turn: CommitGroup, failure: BaseException) -> None:
        """Undo the writes of one call, and keep those of the other calls of its turn."""
        with suppress(sqlite3.Error):
            if self._raw.in_transaction:
                self._raw.execute("ROLLBACK TO call")
                self._raw.execute("RELEASE call")
                return
        turn.failure = failure  # SQLite rolled back the transaction of the whole turn

    def _begin(self) -> CommitGroup:
        """Open a transaction if there is none, and return the group of calls that share it."""
        if not self._raw.in_transaction:
            self._raw.execute("BEGIN")
        turn = self._turn
        if turn is None:
            turn = self._turn = CommitGroup()
            # The loop calls it after all that is ready now: what these callbacks write joins, and what becomes ready
            # later begins another group.
            asyncio.get_running_loop().call_soon(self._end_of_turn)
        return turn

    def close(self) -> None:
        """Commit pending writes and close the connection."""
        if self._connection is None:
            return
        self._selects.close()
        self._end_of_turn()
        if self._now is not None:
            with suppress(sqlite3.Error):  # no room: the time of the last commit stays
                self._raw.execute(KEEP_TIME, (self._now(),))
        if self._storage.is_log_of_another():
            pythonapi.Py_IncRef(py_object(self._raw))  # so the connection ends with the process, unclosed
        else:
            self._connection.close()
            self._connection.engine.pool.dispose()  # `Engine.dispose` would make another pool
        self._connection = None
        self._lost = ()

    @property
    def changes(self) -> int:
        """Number of changed rows so far, for a comparison."""
        return self._raw.total_changes

    def copy_for_snapshot(self) -> sqlite3.Connection:
        """Return a copy of the committed data in memory. Call it while no transaction is open."""
        return copy_in_memory(self._raw)

    def load(self, source: sqlite3.Connection, starts: int) -> None:
        """Replace all data of a database in memory by that of `source`. starts: as in the lab of the source."""
        self._selects.drop()
        source.backup(self._raw)
        self._changes = self._raw.total_changes
        self.starts = starts

    def prepare_fork(self) -> None:
        """Copy a data file into memory, for forks of this process: they must not use the file's connection."""
        self._forked = None if self.path is None else copy_in_memory(self._raw)

    def end_fork(self) -> None:
        """Free the copy for forks, in the process that has made it."""
        if self._forked is not None:
            self._forked.close()
            self._forked = None

    def leave_file(self) -> None:
        """In a fork: continue with the copy in memory. The file's connection stays open, since closing it writes."""
        if self._forked is None:
            return
        self._left, copy, self._forked = self._connection, self._forked, None
        self.path = self._now = None
        self._storage = Storage(None)
        self._use(connection_in_memory(copy))

    async def select(self, query: str) -> Selected:
        """Return the result of a SELECT. Raises LabError for a write, invalid SQL, or a timeout.

        One that takes longer than 10 ms runs in a thread on a copy of the data. Keys and secrets (columns with
        `info={"secret": True}`) count as NULL wherever the query uses them; `hidden` lists them.
        """
        if self._connection is None:
            raise LabError(self._closed)
        asked = self._selects.query(query)
        try:
            try:
                return await self.read(lambda connection: self._selects.run_short(asked))
            except TooLongError:
                return await self._selects.run_long(asked)
        except LabError as error:
            failure = self._storage.failure(error.__cause__) if error.__cause__ is not None else None
            if isinstance(failure, StorageError) and failure.status != FULL:
                raise LabError(f"sql: {failure}") from error.__cause__
            raise

    def _commit(self) -> None:
        if self.path is not None and self._raw.total_changes != self._changes:
            if self._now is not None:
                self._raw.execute(KEEP_TIME, (self._now(),))
            if (gone := self._storage.gone()) is not None:
                raise gone
        self._raw.execute("COMMIT")

    def _end_of_turn(self) -> None:
        """Commit the transaction of this turn, or roll it back, and resume its callers."""
        turn, self._turn = self._turn, None
        if turn is None:  # ended by close()
            return
        try:
            if turn.failure is None:
                self._commit()
        except (sqlite3.Error, StorageError) as error:
            turn.failure = self._storage.failure(error)
        if self._raw.in_transaction:
            self._raw.execute("ROLLBACK")
        changed = self._raw.total_changes != self._changes
        self._changes = self._raw.total_changes
        if changed and self._selects.idle is not None:
            self._selects.drop()
        try:
            if turn.failure is not None:
                for (
                    lost
                ) in self._lost:  # caches forget what was rolled back before a caller that resumes reads them
                    lost()
            elif changed:
                self._storage.written()
        finally:
            turn.end()
        after, self._after_turn = self._after_turn, []
        for function in after:
            function()

    def _when_committed(self, function: Callable[[], object]) -> None:
        """Call `function` at once, or after the end of the open transaction."""
        if self._turn is None:
            function()
        else:
            self._after_turn.append(function)
