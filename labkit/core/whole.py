"""Operations on the lab as a whole: one after the other, each to its end, while requests wait where needed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from labkit.core.errors import LabError

T = TypeVar("T")
# The operation whose work this is. Tasks that it begins, such as those of connections, keep it when it is over.
_WITHIN: ContextVar[asyncio.Event | None] = ContextVar("operation on the whole lab", default=None)


class WholeLab:
    """Runs operations on a lab one after the other.

    stopped: why the lab answers nothing any more, None while it works. bars: whether requests have to call `enter`.
    """

    def __init__(self) -> None:
        self.stopped: str | None = None
        self.bars = False
        self._stopped_by = ""
        self._over: asyncio.Event | None = None  # of the operation that is under way
        self._shut = False  # requests wait for its end

    @property
    def is_busy(self) -> bool:
        """Whether an operation is under way."""
        return self._over is not None

    def is_within(self) -> bool:
        """Return whether the caller is part of the operation that is under way."""
        return self._over is not None and _WITHIN.get() is self._over

    async def run(
        self,
        work: Callable[[], Awaitable[T]],
        *,
        still: Callable[[], Awaitable[object]] | None = None,
        mends: str = "",
    ) -> T:
        """Run an operation after those before it, and return its result; one within another runs at once.

        Once begun, it goes on to its end, also if its caller is cancelled. still: returns once nothing is under way
        that the operation would disturb; then requests that arrive wait for its end. mends: name by which `changing`
        has stopped the lab, if this operation may end that. Raises LabError in a lab that has stopped.
        """
        if self.is_within():
            return await work()
        if still is not None:
            await still()
        while self._over is not None:
            await self._over.wait()
            if still is not None:
                await still()
        self.expect_working(mends)
        self._over, self._shut = asyncio.Event(), still is not None
        self._set_bars()
        running = asyncio.ensure_future(self._perform(work, self._over))
        running.add_done_callback(
            lambda done: done.cancelled() or done.exception()
        )  # the caller may have left
        return await asyncio.shield(running)

    async def _perform(self, work: Callable[[], Awaitable[T]], over: asyncio.Event) -> T:
        _WITHIN.set(over)
        try:
            return await work()
        finally:
            self._over, self._shut = None, False
            self._set_bars()
            over.set()

    @contextmanager
    def changing(self, name: str) -> Iterator[None]:
        """Stop the lab if the block fails, since it would leave a half of the old state; go on again if it succeeds."""
        try:
            yield
        except Exception as error:
            self._stopped_by = name
            self.stopped = (
                f"the lab has stopped, since its {name} failed: {error}; mend that, and {name} it again"
            )
            raise
        else:
            self.stopped = None
        finally:
            self._set_bars()

    def expect_working(self, mends: str = "") -> None:
        """Raise LabError in a lab that has stopped, except by the operation `mends`."""
        if self.stopped is not None and mends != self._stopped_by:
            raise LabError(self.stopped)

    async def enter(self) -> str | None:
        """Return once requests need not wait: None, or why the lab has stopped."""
        while self._shut and self._over is not None:
            await self._over.wait()
        return self.stopped

    def _set_bars(self) -> None:
        self.bars = self._shut or self.stopped is not None
