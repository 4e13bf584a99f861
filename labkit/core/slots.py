"""How many may go on at once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext

from labkit.core import time_limits


class Slots:
    """So many may go on at once; the others wait, and go on in the order in which they came. As a semaphore, at a
    fraction of its cost where nobody waits.

    aside: within it, one waits for others to end.
    """

    def __init__(
        self, count: int, aside: Callable[[], AbstractAsyncContextManager[object]] = nullcontext
    ) -> None:
        self._free = count
        self._aside = aside
        self._waiting: deque[asyncio.Future[None]] = deque()

    def take(self) -> bool:
        """Take a slot, to give it back; False where there is none: then `wait`."""
        if not self._free:
            return False
        self._free -= 1
        return True

    async def wait(self) -> None:
        """Return with a slot."""
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(slot)
        try:
            with time_limits.held():
                async with self._aside():
                    await slot
        except BaseException:
            if slot.done() and not slot.cancelled():  # it was given one all the same
                self.give_back()
            raise

    def give_back(self) -> None:
        """The slot goes to who has waited longest."""
        while self._waiting:
            slot = self._waiting.popleft()
            if not slot.done():  # given up
                slot.set_result(None)
                return
        self._free += 1

    def cancel(self) -> None:
        """Nobody who waits gets one any more."""
        while self._waiting:
            self._waiting.popleft().cancel()
