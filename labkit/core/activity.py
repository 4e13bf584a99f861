"""Count of pending work, to wait until there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")


class Activity:
    """Counts pieces of pending work; `idle()` returns once there are none.

    Used as a context manager around each piece. begun: number of all pieces so far. arrived: number of received
    requests whose handling has not begun; they are not pending yet.
    """

    def __init__(self) -> None:
        self.arrived = 0
        self.begun = 0
        self._running = 0
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def running(self) -> int:
        """Number of pieces that are pending."""
        return self._running

    def begin(self) -> None:
        """Count a piece of work as pending; `end()` has to follow."""
        self.begun += 1
        self._running += 1
        if not self._running:  # delayed work may resume after a crash has ended its waiter
            self._notify()

    def end(self) -> None:
        """Count a piece of work as done."""
        self._running -= 1
        if not self._running:
            self._notify()

    def _notify(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def gather(self, works: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
        """Run coroutines concurrently and return their results in order.

        Each counts as pending work until it ends, the last one through the caller's own count. Raises the first
        exception.
        """
        left = len(works)

        def ended(_: object) -> None:
            nonlocal left
            left -= 1
            if left:
                self.end()

        tasks = [asyncio.ensure_future(work) for work in works]
        for number, task in enumerate(tasks):
            if number:
                self.begin()
            task.add_done_callback(ended)
        return await asyncio.gather(*tasks)

    def __enter__(self) -> Activity:
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    async def idle(self) -> None:
        """Return once no work is pending.

        Work that wakes or schedules other work begins that one before its own end. So no turns of the loop need
        to be awaited; only external events (a socket, a timer) can begin work later.
        """
        while self._running:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future
