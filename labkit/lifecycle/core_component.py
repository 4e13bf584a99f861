"""The first component of a platform: database, clock, identifiers and journal."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection

from labkit.context import Context
from labkit.core.component import Component
from labkit.core.errors import SettingsError
from labkit.core.host_time import STEP
from labkit.core.marks import Mark
from labkit.labtime.clock import ClockSnapshot
from labkit.storage.schema import metadata

MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class CoreState:
    """State of clock, identifiers and journal.

    starts: number of this start of the database; identifiers: number of values by actor; sequence: of the last record;
    actors: number of records by actor; ports: that the records may name; down_until: lab time up to which the
    platform has no power.
    """

    clock: ClockSnapshot
    starts: int
    identifiers_start: int
    identifiers: dict[str, int]
    sequence: int
    actors: dict[str, int]
    ports: list[int]
    marks: list[Mark]
    down_until: float


class Core(Component):
    """The component that starts, stops and resets database, clock, identifiers and journal."""

    def __init__(self, context: Context) -> None:
        self._context = context

    state_type = CoreState

    def snapshot(self) -> CoreState:
        context = self._context
        sequence, actors = context.journal.counts()
        return CoreState(
            context.clock.snapshot(),
            context.database.starts,
            context.identifiers.start,
            context.identifiers.snapshot(),
            sequence,
            actors,
            list(context.journal.ports),
            list(context.journal.marks),
            context.address.down_until,
        )

    async def restore(self, state: CoreState) -> None:
        """Take over clock, identifiers and counts of the journal, whose records follow by `Journal.continue_from`."""
        context, journal = self._context, self._context.journal
        context.clock.restore(state.clock)
        context.address.down_until = state.down_until
        context.identifiers.restore(state.identifiers_start, state.identifiers)
        journal.clear()
        journal.continue_from(state.sequence, state.actors, ())
        journal.ports = tuple(dict.fromkeys([*journal.ports, *state.ports]))
        journal.marks.restore(state.marks)

    async def start(self) -> None:
        clock, database = self._context.clock, self._context.database
        database.start(metadata)
        self._context.identifiers.start = database.starts
        clock.continue_from(database.ended_at)
        if clock.ahead > STEP:
            self._warn(f"the host's clock is {_span(clock.ahead)} behind the end of the data file")
        clock.watch_host(self._report_step)

    def _report_step(self, step: float) -> None:
        direction = "back" if step < 0 else "forward, or the machine slept,"
        self._warn(f"the host's clock was set {direction} by {_span(abs(step))}")

    def _warn(self, what: str) -> None:
        """Record a step of the host's clock, and its consequence for lab time."""
        ahead = self._context.clock.ahead
        after = (
            f"lab time goes on {_span(ahead)} ahead of it, a twentieth slower until it has caught up"
            if ahead > STEP
            else "lab time follows it"
        )
        self._context.journal.record("warning", "platform", f"{what}; {after}")

    async def stop(self) -> None:
        self._context.slow.rest()
        self._context.database.close()
        self._context.clock.close()

    async def suspend(self) -> None:
        self._context.slow.rest()
        self._context.clock.suspend()
        await asyncio.sleep(0)  # callbacks scheduled for the end of this iteration run

    async def resume(self) -> None:
        self._context.clock.resume()

    async def recover(self) -> None:
        database = self._context.database
        if database.durable:
            database.close()
            if database.path is not None and not database.path.exists():
                raise SettingsError(f"data: {database.path} was deleted while the lab ran")
            database.start(metadata)
            self._context.identifiers.start = database.starts

    async def clear(self) -> None:
        await self._context.database.run(_empty)

    async def refill(self) -> None:
        """Restart identifiers, clock and journal, before any other component uses them."""
        self._context.identifiers.clear()
        self._context.clock.reset()
        self._context.journal.clear()


def _span(seconds: float) -> str:
    """Format seconds: `90061.5` is `1 day, 1:01:02`, `0.25` is `0.2 s`."""
    return f"{seconds:.1f} s" if seconds < MINUTE else str(timedelta(seconds=round(seconds)))


def _empty(connection: Connection) -> None:
    for table in reversed(metadata.sorted_tables):
        if table.info.get("reset", True):
            connection.execute(table.delete())
