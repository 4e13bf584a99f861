"""Waits of a story's threads and handlers, during which the scheduler lets others continue."""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial

from labkit.core.activity import Activity
from labkit.core.clock import Clock
from labkit.core.custody import Custody
from labkit.core.holding import Holding
from labkit.fleet.simulated import Simulated
from labkit.fleet.tellers import Reached, TellerCall


class StoryWaits(Simulated):
    """Part of the scheduler of a story: what waits, and for what."""

    def __init__(self, clock: Clock, holding: Holding, activity: Activity, seed: int) -> None:
        super().__init__(clock, holding, activity, seed)
        self._steps = 0  # so far: whether anything continued during a call
        self._calls: dict[Custody, TellerCall] = {}  # in progress
        self._settling: deque[tuple[Custody, Reached]] = deque()
        self._instant: deque[tuple[Custody, Reached]] = deque()  # waits for the end of an instant

    async def settled(self, custody: Custody) -> None:
        if self._activity.running == 1 and not self._settling and not self._is_awaiting():
            return  # only the caller's own work is pending
        reached: Reached = asyncio.get_running_loop().create_future()
        self._settling.append((custody, reached))
        await self._wait(custody, reached)

    async def wait_until(self, custody: Custody, when: float) -> None:
        self.clock.check(when)
        if when <= self.clock.now():
            self._steps += 1  # others of this instant may have their turns
            await self.settled(custody)
            return
        reached: Reached = asyncio.get_running_loop().create_future()
        timer = self.clock.call_at(when, partial(self._reach, custody, reached))
        try:
            await self._wait(custody, reached)
        finally:
            timer.cancel()

    async def instant_over(self, custody: Custody) -> None:
        """Return once no timer of this instant is left, before any device continues."""
        reached: Reached = asyncio.get_running_loop().create_future()
        self._instant.append((custody, reached))
        await self._wait(custody, reached)

    async def _wait(self, custody: Custody, reached: Reached) -> None:
        """Let the others continue until `_reach`."""
        call, turn = self._calls.get(custody), custody.turn
        if call is not None:
            call.waits = True
        if turn is not None:
            turn.release()
        custody.give()
        try:
            await reached
        finally:
            if call is not None:
                call.waits = False
            if turn is not None:
                turn.resume()

    def _reach(self, custody: Custody, reached: Reached) -> None:
        """End a wait: the work counts as pending from here on, before its task runs."""
        if reached.done():
            return
        custody.take()
        if custody.turn is not None:
            custody.turn.resume()
        reached.set_result(None)
