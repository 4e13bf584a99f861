"""Leaves the event loop to others in time."""

from __future__ import annotations

import asyncio


class Turns:
    """How long scripts may run before everything else that is ready on the loop has its turn.

    A call that is answered at once costs no turn of the loop, so a script with many of them would never leave
    it; nor would many scripts that became ready together.
    """

    SHARE = 0.02  # seconds, services' own work included; a script that is over it runs on to its next service call

    def __init__(self) -> None:
        self._began: float | None = None
        self._free = asyncio.Event()
        self.used_up = False

    def use(self, began: float, ended: float) -> None:
        """A script ran from began to ended (perf_counter seconds)."""
        if self._began is None:
            self._began = began
            asyncio.get_running_loop().call_soon(self._over)  # once all others that are ready had their turn
        if ended - self._began > self.SHARE and not self.used_up:
            self.used_up = True
            self._free.clear()

    def _over(self) -> None:
        self._began = None
        self.used_up = False
        self._free.set()

    async def next(self) -> None:
        """Wait for a turn that is not used up."""
        while self.used_up:
            await self._free.wait()
