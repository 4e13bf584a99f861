"""Scheduling of scripts, so that they do not block the event loop."""

from __future__ import annotations

import asyncio
from collections import deque


class Scheduler:
    """Scheduler that limits the time of scripts in an iteration of the event loop.

    A service call that returns at once costs no iteration of the loop, so a script with many of them would
    block it; so would many scripts that became ready together. A long run is suspended
    (fibers.py) and gets a short slice of an iteration in which no other long run has one.
    """

    SHARE = 0.02  # seconds of an iteration, with services' own work; a run that exceeds it continues to its next call

    def __init__(self) -> None:
        self.until = (
            0.0  # perf_counter at which the iteration's share is used up; 0 before a script ran in it
        )
        self._scheduled = False
        self._free = asyncio.Event()
        self._long: deque[asyncio.Future[None]] = deque()
        self.used_up = False

    def use(self, began: float, ended: float) -> None:
        """Charge a script's time to the iteration (perf_counter seconds). Not needed if it ended before `until`."""
        if not self.until:
            self.until = began + self.SHARE
            self._schedule()
        if ended > self.until and not self.used_up:
            self.used_up = True
            self._free.clear()

    async def wait(self) -> None:
        """Wait for an iteration whose share is not used up."""
        while self.used_up:
            await self._free.wait()

    async def wait_long(self) -> None:
        """Wait for the next short slice."""
        slice_: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._long.append(slice_)
        self._schedule()
        await slice_

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._next)  # once all others that are ready ran

    def _next(self) -> None:
        self._scheduled = False
        self.until = 0.0
        if self.used_up:
            self.used_up = False
            self._free.set()
        while self._long:
            slice_ = self._long.popleft()
            if not slice_.done():  # cancelled
                slice_.set_result(None)
                break
        if self._long:
            self._schedule()
