"""Timers that are set, in the lab's database."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import BigInteger, Column, Connection, Table, Text

from labkit.labtime import clock
from labkit.services.timer.calendar import KINDS
from labkit.storage.database import Database, execute, execute_many
from labkit.storage.schema import metadata, numbers, texts

ONCE, INTERVAL = "once", "interval"
REPEATS = (ONCE, INTERVAL, *KINDS)

timer_table = Table(
    "timer",
    metadata,
    *texts("solution", "timer_id", key=True),
    Column("message", Text, nullable=False),  # JSON
    *numbers("duration"),  # milliseconds
    *numbers("repeats"),  # index in REPEATS
    Column("due", BigInteger, nullable=False),  # lab time in microseconds
    Column("place", BigInteger, nullable=False),
    Column("cause", BigInteger),
)

SELECT = (
    "SELECT solution, timer_id, message, duration, repeats, due, place, cause FROM timer "
    "ORDER BY solution, place"
)
PUT = "INSERT OR REPLACE INTO timer VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
RENEW = "UPDATE timer SET due = ? WHERE solution = ? AND timer_id = ? AND place = ?"
END = "DELETE FROM timer WHERE solution = ? AND timer_id = ? AND place = ?"
FORGET = "DELETE FROM timer WHERE solution = ?"
RENUMBER = "UPDATE timer SET place = ?, cause = ? WHERE solution = ? AND timer_id = ?"


@dataclass(slots=True, eq=False)
class SetTimer:
    """Timer of a solution.

    message: as JSON; duration: milliseconds; of a kind of the calendar the microsecond of lab time at which it was set;
    repeats: one of REPEATS; due: lab time in microseconds; place: its place among the clock's timers of one moment;
    cause: sequence number of the journal's record of the run that set it; alarm: the clock's timer, None before the
    solution is there; is_firing: whether its event waits to be raised.
    """

    solution: str
    timer_id: str
    message: str
    duration: int
    repeats: str
    due: int
    place: int
    cause: int | None
    alarm: clock.Timer | None = field(default=None, repr=False)
    is_firing: bool = False

    def cancel(self) -> None:
        """Take it off the clock."""
        if self.alarm is not None:
            self.alarm.cancel()
            self.alarm = None


class OwnTimers(dict[str, SetTimer]):
    """Timers of one solution by id, and in the order in which they fire. Time and place of one in it never change."""

    def __init__(self) -> None:
        super().__init__()
        self._order: list[tuple[int, int, SetTimer]] = []

    def put(self, timer: SetTimer) -> SetTimer | None:
        """Add a timer; return the one with the same id that it replaces."""
        before = self.remove(timer.timer_id)
        self[timer.timer_id] = timer
        insort(self._order, (timer.due, timer.place, timer))
        return before

    def remove(self, timer_id: str) -> SetTimer | None:
        """Remove and return the timer with this id, if there is one."""
        timer = self.pop(timer_id, None)
        if timer is not None:
            del self._order[bisect_left(self._order, (timer.due, timer.place))]
        return timer

    def first(self, most: int | None = None, after: tuple[int, int] | None = None) -> list[SetTimer]:
        """Return at most so many timers, in the order in which they fire; after: behind this time and place."""
        begin = 0 if after is None else bisect_left(self._order, (after[0], after[1] + 1))
        return [timer for _, _, timer in self._order[begin : None if most is None else begin + most]]


class TimerStore:
    """Rows of the timers. Every write returns after its commit."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self) -> list[SetTimer]:
        """Return all timers, those of a solution in the order in which they were set."""
        rows = await self._database.read(_read)
        return [SetTimer(*row[:4], REPEATS[row[4]], *row[5:]) for row in rows]

    async def put(self, timer: SetTimer) -> None:
        """Store a timer, in place of another with the same id."""
        await self._database.write(
            PUT,
            (
                timer.solution,
                timer.timer_id,
                timer.message,
                timer.duration,
                REPEATS.index(timer.repeats),
                timer.due,
                timer.place,
                timer.cause,
            ),
        )

    async def fired(self, timer: SetTimer) -> None:
        """Delete a timer that has fired, or store when it fires next; no effect if it was set anew meanwhile."""
        key = (timer.solution, timer.timer_id, timer.place)
        if timer.repeats != ONCE:
            await self._database.write(RENEW, (timer.due, *key))
        else:
            await self._database.write(END, key)

    async def remove(self, timer: SetTimer) -> None:
        """Delete a timer."""
        await self._database.write(END, (timer.solution, timer.timer_id, timer.place))

    async def forget(self, solution: str) -> None:
        """Delete the timers of a solution."""
        await self._database.write(FORGET, (solution,))

    async def renumber(self, timers: Iterable[SetTimer]) -> None:
        """Store the places and causes of timers."""
        rows = [(each.place, each.cause, each.solution, each.timer_id) for each in timers]
        if rows:
            await self._database.run(execute_many, RENUMBER, rows)


def _read(connection: Connection) -> list[tuple[str, str, str, int, int, int, int, int | None]]:
    return [tuple(row) for row in execute(connection, SELECT)]
