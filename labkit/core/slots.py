"""A limit of concurrent work."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext

from labkit.core import time_limits


class Slots:
    """A FIFO semaphore that costs less than asyncio's where a slot is free.

    aside: context in which a caller waits for others to end.
    """

    def __init__(
        self, count: int, aside: Callable[[], AbstractAsyncContextManager[object]] = nullcontext
    ) -> None:
        self._free = count
        self._aside = aside
        self._waiting: deque[asyncio.Future[None]] = deque()

    def acquire(self) -> bool:
        """Acquire a slot, to be released; return False where none is free: then `wait`."""
        if not self._free:
            return False
        self._free -= 1
        return True

    async def wait(self) -> None:
        """Return once a slot is acquired."""
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(slot)
        try:
            with time_limits.paused():
                async with self._aside():
                    await slot
        except BaseException:
            if slot.done() and not slot.cancelled():  # it got a slot all the same
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
