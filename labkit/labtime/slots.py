"""Limit on the number of concurrent runs."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext

from labkit.labtime import time_limits


class Slots:
    """A FIFO semaphore that costs less than asyncio's when a slot is free.

    while_waiting: context manager within which a caller waits for a free slot.
    """

    def __init__(
        self, count: int, while_waiting: Callable[[], AbstractAsyncContextManager[object]] = nullcontext
    ) -> None:
        self._free = count
        self._while_waiting = while_waiting
        self._waiting: deque[asyncio.Future[None]] = deque()

    def acquire(self) -> bool:
        """Acquire a slot, and return True; return False if none is free. Then use `wait`."""
        if not self._free:
            return False
        self._free -= 1
        return True

    async def wait(self) -> None:
        """Wait for a slot, and acquire it."""
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(slot)
        try:
            with time_limits.paused():
                async with self._while_waiting():
                    await slot
        except BaseException:
            if slot.done() and not slot.cancelled():  # cancelled after it was given a slot
                self.release()
            raise

    def release(self) -> None:
        """Release a slot, to the longest waiting caller."""
        while self._waiting:
            slot = self._waiting.popleft()
            if not slot.done():  # not cancelled
                slot.set_result(None)
                return
        self._free += 1

    def cancel(self) -> None:
        """Cancel all waiting callers."""
        while self._waiting:
            self._waiting.popleft().cancel()
