"""Operations shared by all injection points: recording a hit in the journal, and delaying for lab time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from labkit.core import time_limits
from labkit.core.clock import Clock
from labkit.core.custody import held_as
from labkit.core.journal import Journal
from labkit.core.turns import current
from labkit.faults.awaited import AwaitedAnswers
from labkit.faults.delays import Delays
from labkit.faults.fault import ActiveFault
from labkit.faults.runs import DelayedRuns


@dataclass(frozen=True, slots=True)
class FaultTools:
    """Dependencies and shared operations of the injection points.

    runs: the delayed operations; delays: their counts by actor; awaited: answers that the platform waits for;
    spent: called once a fault has hit for the last time.
    """

    clock: Clock
    journal: Journal
    runs: DelayedRuns
    delays: Delays
    awaited: AwaitedAnswers
    spent: Callable[[ActiveFault], object]

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
        if fault.spent:
            self.spent(fault)
        return True

    async def delay(self, fault: ActiveFault, actor: str, run: int | None = None) -> None:
        """Wait for a fault's delay in lab time, if it has one.

        The waiting operation is no activity, so that the lab settles and its clock can be advanced. run: the
        record of the script run that it belongs to, if any.
        """
        if fault.settings.delay is not None:
            await self.delay_until(fault, actor, self.clock.now() + fault.settings.delay, run)

    async def delay_until(self, fault: ActiveFault, actor: str, when: float, run: int | None = None) -> None:
        """Wait like `delay`, until lab time reaches `when`."""
        if when <= self.clock.now():
            return
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        turn, holder = current(), held_as(actor)
        held = True

        def resume() -> None:  # the work counts as pending from here on, before its task runs
            nonlocal held
            held = False
            self.delays.end(actor)
            self.runs.end(holder, run, turn)
            if not reached.done():
                reached.set_result(None)

        timer = self.clock.call_at(when, resume)
        self.runs.begin(holder, run, turn)
        self.delays.begin(fault.name, actor)
        try:
            with time_limits.paused():
                await reached
        finally:
            timer.cancel()
            if held:  # cancelled
                self.delays.end(actor)
                self.runs.end(holder, run, turn)
