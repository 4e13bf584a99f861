"""Device state: the datapoints of each alias (document 1, Resources: datapoint).

A datapoint is a value at a timestamp in whole seconds; a second value at the same timestamp replaces the
first. The current value of an alias is the datapoint with the largest min(timestamp, second received), of
several the one received last: a point recorded ahead of its time does not hide what is written after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from sqlalchemy import Boolean, Column, Connection, Integer, Table

from labkit.core.records import Record
from labkit.devices.history import delete_between
from labkit.devices.seen import MOST_MARKS, Key, Mark, SeenValues
from labkit.settings.sections import DatapointSettings
from labkit.storage.database import Database, execute, execute_many
from labkit.storage.schema import metadata, numbers, texts

datapoint_table = Table(
    "datapoint",
    metadata,
    *texts("product", "identity", "alias", key=True),
    Column("timestamp", Integer, primary_key=True),
    *texts("value"),
    *numbers("received"),  # second of lab time
    *numbers("number"),  # of values in the order of their receipt
    Column("delivered", Boolean, nullable=False),  # this value counts as seen (`devices.polls`)
    sqlite_with_rowid=False,
)

# The statements of every write and read go straight to the driver: around one of them, SQLAlchemy's result
# objects cost several times what SQLite itself does.
RESOURCE = "product = ? AND identity = ? AND alias = ?"
ROW = "(?, ?, ?, ?, ?, ?, ?, 0)"
STORE = (
    "INSERT OR REPLACE INTO datapoint "
    f"(product, identity, alias, timestamp, value, received, number, delivered) VALUES {ROW}"
)
FEW = 8  # datapoints that one statement can store
STORE_FEW = tuple(STORE + f", {ROW}" * (count - 1) for count in range(1, FEW + 1))  # by their count less one
LATEST = f"SELECT value, timestamp, number, received FROM datapoint WHERE {RESOURCE} ORDER BY timestamp DESC LIMIT 1"
# Where the latest one was recorded ahead: its rank is `received`, and others of that rank are not earlier.
CURRENT = (
    f"SELECT value, timestamp, number FROM datapoint WHERE {RESOURCE} AND timestamp >= ? "
    "ORDER BY min(timestamp, received) DESC, number DESC LIMIT 1"
)
DUE = (
    f"SELECT timestamp, value, number, delivered FROM datapoint WHERE {RESOURCE} "
    "AND timestamp BETWEEN ? AND ? ORDER BY timestamp LIMIT 2"
)
VALUES = f"SELECT value FROM datapoint WHERE {RESOURCE} ORDER BY timestamp"
AHEAD = f"SELECT min(timestamp) FROM datapoint WHERE {RESOURCE} AND timestamp > ?"
DELIVERED = f"UPDATE datapoint SET delivered = 1 WHERE {RESOURCE} AND timestamp = ? AND number = ?"

FORGET = (
    f"DELETE FROM datapoint WHERE {RESOURCE} AND timestamp < "
    f"(SELECT timestamp FROM datapoint WHERE {RESOURCE} ORDER BY timestamp DESC LIMIT 1 OFFSET ?)"
)

STARTS = 2**40  # numbers for the values of one start of a lab


class Datapoint(NamedTuple):
    """A value of an alias at a time (Unix seconds)."""

    alias: str
    timestamp: int
    value: str


Watcher = Callable[[str, str, Sequence[Datapoint]], object]


class Stored(NamedTuple):
    """A stored datapoint; `number` distinguishes its value from earlier values of the same second."""

    point: Datapoint
    number: int


AnswerWatcher = Callable[[Key, Stored], object]
ReadWatcher = Callable[[Key, Record], object]


class AnswerCondition(NamedTuple):
    """Condition for the datapoints that answer a poll.

    since: a datapoint later than this second (Unix) answers. same: the value of that second answers too, unless
    it counts as seen; last: where the client already got a value of that second, its number: then only a newer
    value answers, seen or not.
    """

    since: int
    same: bool
    last: int | None = None


@dataclass(frozen=True, slots=True)
class StateOfData:
    """State of the datapoints that is not in the database.

    count: number of datapoints in this start of the lab; new: those of an alias since its oldest were deleted; marks:
    timestamp and number of seen values; answers: timestamp, number and count of answers of others.
    """

    count: int
    new: list[tuple[str, str, str, int]]
    marks: list[tuple[str, str, str, int, int]]
    answers: list[tuple[str, str, str, int, int, int]]


class State:
    """The datapoints of all devices. Current values that were read are cached until their device writes.

    seen: values that count as seen by polling clients; the marks are stored when their alias is written next.
    kept: number of the newest datapoints of an alias that are kept, plus up to a tenth more.
    """

    def __init__(self, database: Database, kept: int = DatapointSettings().kept) -> None:
        self._database = database
        self._kept = kept
        self._forget_after = max(kept // 10, 1)  # new ones of an alias, so that forgetting costs little
        self._new: dict[Key, int] = {}  # number of new ones of an alias since its oldest were deleted
        self._current: dict[tuple[str, str], dict[str, str | None]] = {}  # of a device: alias → value, if any
        self.seen = SeenValues()
        self._count = 0
        self._watchers: tuple[Watcher, ...] = ()
        self._answer_watchers: tuple[AnswerWatcher, ...] = ()
        self.read_watchers: tuple[ReadWatcher, ...] = ()  # mostly none: then a read need not be reported

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Call `watcher` with product, identity and datapoints once they are stored.

        Ends when the returned function is called.
        """
        self._watchers = (*self._watchers, watcher)

        def stop() -> None:
            self._watchers = tuple(each for each in self._watchers if each is not watcher)

        return stop

    def watch_answers(self, watcher: AnswerWatcher) -> Callable[[], None]:
        """Call `watcher` with each datapoint that answered a poll, once it is sent.

        Ends when the returned function is called.
        """
        self._answer_watchers = (*self._answer_watchers, watcher)

        def stop() -> None:
            self._answer_watchers = tuple(each for each in self._answer_watchers if each is not watcher)

        return stop

    def watch_reads(self, watcher: ReadWatcher) -> Callable[[], None]:
        """Call `watcher` with each alias whose current value a device reads, and the record of its request.

        Ends when the returned function is called.
        """
        self.read_watchers = (*self.read_watchers, watcher)

        def stop() -> None:
            self.read_watchers = tuple(each for each in self.read_watchers if each is not watcher)

        return stop

    def report_read(self, product: str, identity: str, aliases: Iterable[str], record: Record | None) -> None:
        """Notify watchers of a read by a device. record: of its request."""
        if record is not None:
            for alias in aliases:
                for watcher in self.read_watchers:
                    watcher((product, identity, alias), record)

    async def store(
        self,
        product: str,
        identity: str,
        points: Sequence[Datapoint],
        received: int,
        read: Sequence[str] = (),
        before_write: Callable[[Connection, Sequence[Stored]], object] | None = None,
    ) -> tuple[Sequence[Datapoint], int, list[tuple[str, str]]]:
        """Store datapoints that were received at a time (Unix seconds).

        Return them, the number of the first one, which those of the others follow (`numbered`), and current values.
        read: aliases whose current values are read as `latest` does, after the write in the same transaction.
        before_write: another write before it in the transaction, called with the datapoints.
        """
        self._current.pop((product, identity), None)
        number = before = self._database.starts * STARTS + self._count
        self._count += len(points)
        rows: list[tuple[object, ...]] = []
        marks: list[Mark] = []
        seen = self.seen
        for point in points:
            number += 1
            alias, timestamp, value = point
            rows.append((product, identity, alias, timestamp, value, received, number))
            if seen.marks:
                marks += seen.take_marks((product, identity, alias))
            if seen.answers:
                seen.replace((product, identity, alias), timestamp)
        found: list[tuple[str, str]] = []
        if 0 < len(points) <= FEW and not read and not marks and before_write is None:
            await self._database.write(STORE_FEW[len(rows) - 1], list(chain.from_iterable(rows)))
        else:

            def store(connection: Connection) -> list[tuple[str, str]]:
                if before_write is not None:
                    before_write(connection, numbered(points, before + 1))
                if marks:
                    _keep_marks(connection, marks)
                execute_many(connection, STORE, rows)
                return latest_values(connection, product, identity, read)

            found = await self._database.run(store)
        for watcher in self._watchers:
            watcher(product, identity, points)
        for point in points:
            key = (product, identity, point.alias)
            new = self._new[key] = self._new.get(key, 0) + 1
            if new >= self._forget_after:
                self._new[key] = 0
                await self._database.write(FORGET, (*key, *key, self._kept - 1))
        return points, before + 1, found

    async def flush(self, key: Key, newer: int, older: int) -> None:
        """Delete the datapoints of an alias between two times, both exclusive (Unix seconds)."""
        self._current.pop(key[:2], None)
        await self._database.run(delete_between, key, newer, older)
        self._current.pop(key[:2], None)  # read in the meantime

    async def latest(self, product: str, identity: str, aliases: Sequence[str]) -> list[tuple[str, str]]:
        """Return (alias, current value) of each alias that has one, in the order given."""
        # A write in the meantime removes this dict, so that the values read below are not cached.
        current = self._current.setdefault((product, identity), {})
        missing = [alias for alias in aliases if alias not in current]
        if missing:
            found = dict(await self._database.read(latest_values, product, identity, missing))
            current.update((alias, found.get(alias)) for alias in missing)
        return [(alias, value) for alias in aliases if (value := current[alias]) is not None]

    async def due(
        self, key: Key, polls: Sequence[AnswerCondition], now: int
    ) -> tuple[list[Stored | None], int | None]:
        """Return for each poll of an alias the earliest datapoint that answers it, and the time of the next one.

        The next one is the first ahead of `now` (Unix seconds), None without one.
        """
        return await self._database.read(_due, key, polls, now, self.seen.marks.get(key, {}))

    async def record_answer(self, key: Key, given: Stored, *, named: bool) -> None:
        """Record that a value answered a poll. named: the poll named the value's own second; otherwise it is seen."""
        for watcher in self._answer_watchers:
            watcher(key, given)
        if named:
            self.seen.count_answer(key, given.point.timestamp, given.number)
        else:
            self.seen.add(key, given.point.timestamp, given.number)
        if len(self.seen.marks.get(key, ())) >= MOST_MARKS:
            await self._database.run(_keep_marks, self.seen.take_marks(key))

    async def store_marks(self) -> None:
        """Store the marks of seen values that are in memory."""
        if marks := [mark for key in list(self.seen.marks) for mark in self.seen.take_marks(key)]:
            await self._database.run(_keep_marks, marks)

    def snapshot(self) -> StateOfData:
        """Return the state that is not in the database."""
        seen = self.seen
        return StateOfData(
            self._count,
            [(*key, number) for key, number in self._new.items()],
            [(*key, *mark) for key, marks in seen.marks.items() for mark in marks.items()],
            [
                (*key, timestamp, *answer)
                for key, answers in seen.answers.items()
                for timestamp, answer in answers.items()
            ],
        )

    def restore(self, state: StateOfData) -> None:
        """Take over the state of another lab, after `forget_all`."""
        self._count = state.count
        self._new = {(product, identity, alias): number for product, identity, alias, number in state.new}
        for product, identity, alias, timestamp, number in state.marks:
            self.seen.marks.setdefault((product, identity, alias), {})[timestamp] = number
        for product, identity, alias, timestamp, number, count in state.answers:
            self.seen.answers.setdefault((product, identity, alias), {})[timestamp] = number, count

    def forget_all(self) -> None:
        """Clear the caches: the database was emptied."""
        self._current.clear()
        self.seen.forget_all()
        self._new.clear()
        self._count = 0


def numbered(points: Iterable[Datapoint], first: int) -> list[Stored]:
    """Return datapoints that were stored together with their numbers. first: that of the first one."""
    return [Stored(point, number) for number, point in enumerate(points, first)]


def values(connection: Connection, key: Key) -> list[str]:
    """Return the values of all datapoints of an alias, oldest first."""
    return [value for (value,) in execute(connection, VALUES, key)]


def latest_values(
    connection: Connection, product: str, identity: str, aliases: Iterable[str]
) -> list[tuple[str, str]]:
    """Return (alias, current value) of each alias that has one."""
    found = []
    for alias in aliases:
        current = current_value(connection, (product, identity, alias))
        if current is not None:
            found.append((alias, current[0]))
    return found


def current_value(connection: Connection, key: Key) -> tuple[str, int, int] | None:
    """Return the current value of an alias, with its timestamp and number; None without a datapoint."""
    row = execute(connection, LATEST, key).fetchone()
    if row is None:
        return None
    value, timestamp, number, received = row
    if timestamp > received:
        value, timestamp, number = execute(connection, CURRENT, (*key, received)).fetchone()
    return value, timestamp, number


def _due(
    connection: Connection, key: Key, polls: Iterable[AnswerCondition], now: int, marks: dict[int, int]
) -> tuple[list[Stored | None], int | None]:
    found = [_earliest(connection, key, poll, now, marks) for poll in polls]
    (ahead,) = execute(connection, AHEAD, (*key, now)).fetchone()
    return found, ahead


def _earliest(
    connection: Connection, key: Key, poll: AnswerCondition, now: int, marks: dict[int, int]
) -> Stored | None:
    for timestamp, value, number, marked in execute(connection, DUE, (*key, poll.since, now)):
        seen = marked or marks.get(timestamp) == number if poll.last is None else number <= poll.last
        if timestamp > poll.since or (poll.same and not seen):
            return Stored(Datapoint(key[2], timestamp, value), number)
    return None


def _keep_marks(connection: Connection, marks: Sequence[Mark]) -> None:
    execute_many(connection, DELIVERED, marks)
