"""A minimal platform for tests of turns and branches: events, delays, and handlers that log what they do."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import Any

from labkit.core.journal import Journal
from labkit.faults.runs import DelayedRuns
from labkit.labtime.activity import Activity
from labkit.labtime.clock import Clock
from labkit.labtime.events import Events
from labkit.labtime.holding import Holding
from labkit.labtime.turns import Turns, current


class Platform:
    """Events and the delays of their handlers. log: entries of handlers; turns: number of turns of the loop for which
    the platform has to stay idle each time.
    """

    def __init__(self, driven: bool = True, turns: int = 0) -> None:
        self._idle_turns = turns
        self.clock = Clock(0)
        self._driving = ExitStack()
        if driven:
            self._driving.enter_context(self.clock.drive("a test"))
        self.activity = Activity()
        self.turns = Turns(self.clock, self.activity)
        self.holding = Holding(self.activity)
        self.runs = DelayedRuns(self.holding)
        self.events = Events(Journal(self.clock.micros), self.activity, self.turns, holding=self.holding)
        self.log: list[Any] = []

    async def idle(self) -> None:
        """Return once the platform is idle, and has stayed idle."""
        await self.activity.idle()
        begun = self.activity.begun
        for _ in range(self._idle_turns):
            await asyncio.sleep(0)
        assert (self.activity.running, self.activity.begun) == (0, begun)

    async def advance(self, seconds: float) -> None:
        until = self.clock.now() + seconds + 0.1
        while self.clock.step(until):
            await self.idle()

    async def hold(self, seconds: float, run: int) -> None:
        """Delay a handler for a time, as a fault does."""
        turn = current()
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def go_on() -> None:
            self.runs.end("a", run, turn)
            reached.set_result(None)

        timer = self.clock.call_at(self.clock.now() + seconds, go_on)
        self.runs.begin("a", run, turn)
        try:
            await reached
        finally:
            timer.cancel()
            if not reached.done() or reached.cancelled():  # the handler was cancelled
                self.runs.end("a", run, turn)

    async def run_logged(self, name: Any, turns_of_the_loop: int = 3) -> None:
        """Log the begin and the end of a handler, with turns of the loop in between."""
        self.log.append(f"{name} begins")
        for _ in range(turns_of_the_loop):
            await asyncio.sleep(0)
        self.log.append(f"{name} ends")

    async def held(self, name: Any) -> None:
        await self.run_logged(f"{name} early")
        await self.hold(5, name)
        await self.run_logged(f"{name} late")

    @property
    def uninterrupted(self) -> list[str]:
        """Return the handlers that ran without another one in between."""
        begun = [each.removesuffix(" begins") for each in self.log[::2]]
        assert [each.removesuffix(" ends") for each in self.log[1::2]] == begun
        return begun
