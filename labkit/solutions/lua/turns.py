"""Leaves the event loop to others in time."""

from __future__ import annotations

import asyncio


class Turns:
    """How long scripts may run before everything else that is ready on the loop has its turn.

    A call that is answered at once costs no turn of the loop, so a script with many of them would never leave
    it; nor would many scripts that became ready together.
    """

    SHARE = 0.005  # seconds in one turn (a request takes several); a script over it runs on to its next service call

    def __init__(self) -> None:
        self._used = 0.0
        self._free = asyncio.Event()
        self.used_up = False

    def use(self, seconds: float) -> None:
        """Count time since others had their turn at the latest."""
        self._used += seconds
        if self._used > self.SHARE and not self.used_up:
            self.used_up = True
            self._free.clear()
            asyncio.get_running_loop().call_soon(self._begin)

    def _begin(self) -> None:
        self._used = 0.0
        self.used_up = False
        self._free.set()

    async def next(self) -> None:
        """Wait for a turn that is not used up."""
        while self.used_up:
            await self._free.wait()
