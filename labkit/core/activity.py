"""Work in progress, counted, so that somebody can wait until there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator, Sequence
from types import TracebackType, coroutine
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

    @coroutine
    def idle(self) -> Generator[Any, None, None]:
        """Return once no work is going on and the loop has turned without new work."""
        quiet = 0
        while quiet < 3:  # a finished piece may have scheduled its successor for the next turns
            if self._running:
                quiet = 0
                future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._waiting.append(future)
                yield from future
            else:
                quiet += 1
                yield  # lets the loop turn once, as `asyncio.sleep(0)` does at more cost
