"""Count of the callbacks that an event loop has scheduled for one async function and has not yet run.

asyncio does not report whether code that awaits something is about to continue. But every task is resumed by
`loop.call_soon` with the context of that task, and the tasks and callbacks of a function inherit its context.
So `call_soon`, replaced for as long as any function on the loop is counted, finds the count that a callback
belongs to. Not counted: threads, timers and sockets, until they resume a task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from typing import Any


class ScheduledCallbacks:
    """Count of the callbacks scheduled by the code within this context manager.

    on_some: called before the first is scheduled; on_none: called once all have run.
    """

    def __init__(self, on_some: Callable[[], object], on_none: Callable[[], object]) -> None:
        self._on_some = on_some
        self._on_none = on_none
        self._scheduled = 0

    def __enter__(self) -> ScheduledCallbacks:
        self._call_soon = _CountingCallSoon.install(asyncio.get_running_loop())
        self._before = _CURRENT.set(self)
        self.count_current()
        return self

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._before)
        self._call_soon.uninstall()

    def count_current(self) -> None:
        """Count the running callback, which may have been scheduled outside."""
        self._call_soon.count(self)

    def begin(self) -> None:
        """Count one more scheduled callback."""
        if not self._scheduled:
            self._on_some()
        self._scheduled += 1

    def end(self) -> None:
        """Count one less."""
        self._scheduled -= 1
        if not self._scheduled:
            self._on_none()


@contextmanager
def uncounted() -> Iterator[None]:
    """Exclude the callbacks of the block from any count: the platform's own code, which a counted function calls."""
    before = _CURRENT.set(None)
    try:
        yield
    finally:
        _CURRENT.reset(before)


class _CountingCallSoon:
    """A counting `call_soon` of a loop; an attribute of the loop itself, which shadows that of its class."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._schedule = loop.call_soon
        self._users = 0
        self._context = Context()  # callbacks that end a count are not counted themselves

    @classmethod
    def install(cls, loop: asyncio.AbstractEventLoop) -> _CountingCallSoon:
        """Return the loop's counting `call_soon`; its first user installs it."""
        found = vars(loop).get("call_soon")
        if not isinstance(found, cls):
            found = vars(loop)["call_soon"] = cls(loop)
        found._users += 1
        return found

    def uninstall(self) -> None:
        """Restore the loop's own `call_soon` after the last user."""
        self._users -= 1
        if not self._users:
            del vars(self._loop)["call_soon"]

    def __call__(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        counted = _CURRENT.get() if context is None else context.get(_CURRENT)
        if counted is not None:
            counted.begin()
        handle = self._schedule(callback, *args, context=context)
        if (
            counted is not None
        ):  # scheduled right behind: a loop keeps the order, and skips cancelled callbacks
            self._schedule(counted.end, context=self._context)
        return handle

    def count(self, counted: ScheduledCallbacks) -> None:
        """Count the running callback until the next turn of the loop."""
        counted.begin()
        self._schedule(counted.end, context=self._context)


_CURRENT: ContextVar[ScheduledCallbacks | None] = ContextVar("count of callbacks", default=None)
