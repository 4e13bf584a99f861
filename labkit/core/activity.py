"""Work in progress, counted, so that somebody can wait until there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")


class Activity:
    """Counts what is going on; `idle()` returns once nothing is.

    Used as a context manager around each piece of work. begun: how many pieces ever were.
    """

    def __init__(self) -> None:
        self.begun = 0
        self._running = 0
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def running(self) -> int:
        """How many pieces of work are going on."""
        return self._running

    def begin(self) -> None:
        """A piece of work begins; `end()` has to follow."""
        self.begun += 1
        self._running += 1
        if not self._running:  # what was held in a crash goes on after whoever waited for it has ended
            self._tell()

    def end(self) -> None:
        """A piece of work is over."""
        self._running -= 1
        if not self._running:
            self._tell()

    def _tell(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def gather(self, works: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
        """The results of several works, side by side, each a piece of work of its own; the one that waits for them
        stands for the last of them.

        Raises what the first raises that does.
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
        """Return once no work is going on.

        Who wakes a piece of work, or schedules another one, begins it at that moment, before its own work ends. So no
        turns of the loop are awaited in which something might still begin, except by what comes from outside: a socket,
        a timer.
        """
        while self._running:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future
