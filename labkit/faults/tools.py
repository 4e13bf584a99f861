"""What the four points where faults hit share: telling the journal, and holding for lab time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from labkit.core.clock import Clock
from labkit.core.holding import Holding
from labkit.core.journal import Journal
from labkit.faults.delays import Delays
from labkit.faults.fault import Fault


@dataclass(frozen=True, slots=True)
class Tools:
    """delays: what is held now; spent: called once a fault has hit for the last time; runs: by the record of a run of a
    script, what lets one of its calls be held at a time.
    """

    clock: Clock
    journal: Journal
    holding: Holding
    delays: Delays
    spent: Callable[[Fault], object]
    runs: WeakValueDictionary[int, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    def hits(self, fault: Fault, actor: str, cause: int | None) -> bool:
        """Does a fault hit, whose place and persons match? If so the journal has it, caused by what it hits."""
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

    async def hold(self, fault: Fault, actor: str) -> None:
        """Wait for as much lab time as a fault delays, if it does. What waits is held: no activity, so that the lab
        settles and its clock can be advanced.
        """
        if fault.settings.delay is not None:
            await self.hold_until(fault, actor, self.clock.now() + fault.settings.delay)

    async def hold_until(self, fault: Fault, actor: str, when: float) -> None:
        """As `hold`, until lab time reaches `when`."""
        if when <= self.clock.now():
            return
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        held = True

        def go_on() -> None:  # from here on there is work to do, though the task has yet to run
            nonlocal held
            held = False
            self.delays.end(actor)
            self.holding.end(actor)
            if not reached.done():
                reached.set_result(None)

        timer = self.clock.call_at(when, go_on)
        self.holding.begin(actor)
        self.delays.begin(fault.name, actor)
        try:
            await reached
        finally:
            timer.cancel()
            if held:  # given up
                self.delays.end(actor)
                self.holding.end(actor)
