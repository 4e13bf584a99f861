"""Waits of a story's threads and handlers, during which the scheduler lets others continue."""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial

from labkit.labtime.activity import Activity
from labkit.labtime.clock import Clock
from labkit.labtime.holding import Holding
from labkit.labtime.simulated import Simulated
from labkit.labtime.story_threads import Reached, StoryThreadCall
from labkit.labtime.story_work import StoryWork


class StoryWaits(Simulated):
    """Part of the scheduler of a story: what waits, and for what."""

    def __init__(self, clock: Clock, holding: Holding, activity: Activity, seed: int) -> None:
        super().__init__(clock, holding, activity, seed)
        self._steps = 0  # so far: whether anything continued during a call
        self._calls: dict[StoryWork, StoryThreadCall] = {}  # in progress
        self._settling: deque[tuple[StoryWork, Reached]] = deque()

    async def settled(self, work: StoryWork) -> None:
        activity = self._activity
        if activity.running == 1 and not (self._settling or activity.shared or self._is_awaiting()):
            return  # only the caller's own work is pending
        reached: Reached = asyncio.get_running_loop().create_future()
        self._settling.append((work, reached))
        await self._wait(work, reached)

    async def wait_until(self, work: StoryWork, when: float) -> None:
        self.clock.check(when)
        if when <= self.clock.now():
            self._steps += 1  # others of this instant may have their turns
            await self.settled(work)
            return
        reached: Reached = asyncio.get_running_loop().create_future()
        timer = self.clock.call_at(when, partial(self._reach, work, reached))
        try:
            await self._wait(work, reached)
        finally:
            timer.cancel()

    async def _wait(self, work: StoryWork, reached: Reached) -> None:
        """Let the others continue until `_reach`."""
        call, turn = self._calls.get(work), work.turn
        if call is not None:
            call.waits = True
        if turn is not None:
            turn.release()
        work.end()
        try:
            await reached
        finally:
            if call is not None:
                call.waits = False
            if turn is not None:
                turn.resume()

    async def _conduct_story(self) -> None:
        """Conduct until the end of the story. What keeps the lab from settling ends all waits of the story."""
        while not self._stopped:
            try:
                await self._conduct()
            except Exception as error:  # noqa: BLE001  the threads that wait get it
                self._fail_waits(error)
                await asyncio.sleep(0)  # also if nothing waits

    async def _settle_last(self, work: StoryWork) -> Exception | None:
        """Settle with the participants for the last time, and return the error of one that cannot.

        The end of the story's own parts needs none of them.
        """
        failed = None
        try:
            await self.settled(work)
        except Exception as error:  # noqa: BLE001  the story ends all the same
            failed = error
        self._until_settled = self._activity.ended
        return failed

    def _fail_waits(self, error: Exception) -> None:
        """End all calls, and all that wait for the lab to settle, with an error."""
        for work, call in tuple(self._calls.items()):
            call.interrupt(work, error)
        while self._settling:
            work, reached = self._settling.popleft()
            if not reached.done():
                work.begin()
                reached.set_exception(error)

    def _reach(self, work: StoryWork, reached: Reached) -> None:
        """End a wait: the work counts as pending from here on, before its task runs."""
        if reached.done():
            return
        work.begin()
        if work.turn is not None:
            work.turn.resume()
        reached.set_result(None)
