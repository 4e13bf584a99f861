"""Leaves the event loop to others in time."""

from __future__ import annotations

import asyncio
from collections import deque


class Scheduler:
    """How long scripts may run before everything else that is ready on the loop runs.

    A service call that is answered at once costs no iteration of the loop, so a script with many of them would
    never leave it; nor would many scripts that became ready together. A run that goes long is switched out
    (fibers.py) and gets one short slice an iteration, in which no other long one runs.
    """

    SHARE = 0.02  # seconds of an iteration, services' own work included; a run that is over it goes on to its next call

    def __init__(self) -> None:
        self.until = 0.0  # perf_counter when the iteration's share is used up, once a script ran in it
        self._scheduled = False
        self._free = asyncio.Event()
        self._long: deque[asyncio.Future[None]] = deque()
        self.used_up = False

    def use(self, began: float, ended: float) -> None:
        """A script ran from began to ended (perf_counter seconds). One that ended before `until` need not be told."""
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
