"""Operations shared by all injection points: recording a hit in the journal, and delaying for lab time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from labkit.core.journal import Journal
from labkit.faults.awaited import AwaitedAnswers
from labkit.faults.delays import Delays
from labkit.faults.fault import ActiveFault
from labkit.faults.runs import DelayedRuns
from labkit.labtime import time_limits
from labkit.labtime.clock import Clock
from labkit.labtime.story_work import held_as
from labkit.labtime.turns import current


@dataclass(frozen=True, slots=True)
class FaultTools:
    """Dependencies and shared operations of the injection points.

    runs: the delayed operations; delays: their counts by actor; awaited: answers that the platform waits for;
    ended: called once a fault has hit for the last time; cut_power: begins a restart of the platform with seconds for
    which it is down, and returns its end.
    """

    clock: Clock
    journal: Journal
    runs: DelayedRuns
    delays: Delays
    awaited: AwaitedAnswers
    ended: Callable[[ActiveFault], object]
    cut_power: Callable[[float], Awaitable[object]]

    def hits(self, fault: ActiveFault, actor: str, cause: int | None) -> bool:
        """Return whether a matching fault hits this time, and record the hit, caused by the record `cause`."""
        if not fault.is_due(actor):
            return False
        self.journal.record(
            "fault",
            actor,
            f"{fault.name}: {fault.does}",
            cause=cause,
            detail={"fault": fault.name, "where": fault.settings.where, "hit": fault.hits},
        )
        if fault.state == "ended":
            self.ended(fault)
        return True

    async def restart(self, fault: ActiveFault) -> None:
        """Restart the platform, which ends the work that calls this, and return once it is over.

        It returns to work from outside of the platform only, such as a call of a cell.
        """
        await asyncio.shield(asyncio.ensure_future(self.cut_power(fault.settings.down or 0.0)))

    async def delay(self, fault: ActiveFault, actor: str, run: int | None = None) -> None:
        """Wait for a fault's delay in lab time, if it has one.

        The waiting operation is no activity, so that the lab settles and its clock can be advanced. run: the
        record of the script run that it belongs to, if any.
        """
        if fault.settings.delay is not None:
            await self.delay_until(fault.name, actor, self.clock.now() + fault.draw_delay(actor), run)

    async def delay_until(self, name: str, actor: str, when: float, run: int | None = None) -> None:
        """Wait like `delay`, until lab time reaches `when`. name: of the fault."""
        if when <= self.clock.now():
            return
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        turn, holder = current(), held_as(actor)
        waits = True

        def resume() -> None:  # the work counts as pending from here on, before its task runs
            nonlocal waits
            waits = False
            self.delays.end(held)
            self.runs.end(holder, run, turn)
            if not reached.done():
                reached.set_result(None)

        timer = self.clock.call_at(when, resume)
        self.runs.begin(holder, run, turn)
        held = self.delays.begin(name, actor, when)
        try:
            with time_limits.paused(), self.awaited.suspended():
                await reached
        finally:
            timer.cancel()
            if waits:  # cancelled
                self.delays.end(held)
                self.runs.end(holder, run, turn)
