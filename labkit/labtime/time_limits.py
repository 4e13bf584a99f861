"""Limits of real time for a piece of work, paused while the work waits for lab time or for its turn."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

from labkit.core.host_time import perf_counter

T = TypeVar("T")

_CURRENT: ContextVar[TimeLimit | None] = ContextVar("time limit", default=None)


class TimeLimit:
    """Limit of real time for a coroutine: `run` cancels it, and raises TimeoutError, after `seconds`.

    Within the work of another limit (a handler that another solution's handler calls), both run and pause together.
    """

    __slots__ = ("_ended", "_left", "_outer", "_pauses", "_timeout")

    def __init__(self, seconds: float) -> None:
        self._timeout: asyncio.Timeout | None = None  # from the first wait on
        self._ended = False
        self._outer = _CURRENT.get()
        self._pauses = 0
        self._left = seconds

    @property
    def expired(self) -> bool:
        """Whether the time of this limit, or of an outer one, is over."""
        return self.over or (self._outer is not None and self._outer.expired)

    @property
    def over(self) -> bool:
        """Whether the time of this limit is over."""
        return self._timeout is not None and self._timeout.expired()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine. Raises TimeoutError, after cancelling it, once its time is over."""
        token = _CURRENT.set(self)
        began = perf_counter()
        try:
            try:
                waits_for = work.send(None)
            except StopIteration as ended:  # as nearly always, so that most work needs no timer
                return ended.value  # type: ignore[no-any-return]
            self._left -= perf_counter() - began
            async with asyncio.timeout(None if self._pauses else max(self._left, 0.0)) as self._timeout:
                return await _continue(work, waits_for)
        finally:
            self._ended = True
            _CURRENT.reset(token)

    def _pause(self) -> None:
        self._pauses += 1
        if self._pauses == 1 and (timeout := self._running()) is not None:
            self._left = (timeout.when() or 0.0) - asyncio.get_running_loop().time()
            timeout.reschedule(None)
        if self._outer is not None:
            self._outer._pause()

    def _resume(self) -> None:
        self._pauses -= 1
        if not self._pauses and (timeout := self._running()) is not None:
            timeout.reschedule(asyncio.get_running_loop().time() + self._left)
        if self._outer is not None:
            self._outer._resume()

    def _running(self) -> asyncio.Timeout | None:
        """Return the timer of a coroutine that waits, None if there is none, or its time is over."""
        return None if self._timeout is None or self._ended or self._timeout.expired() else self._timeout


@types.coroutine
def _continue(work: Coroutine[Any, Any, T], waits_for: object) -> Generator[object, object, T]:
    """Await the rest of a coroutine whose first step waits for `waits_for`."""
    while True:
        try:
            answer = yield waits_for
        except BaseException as error:  # noqa: BLE001  it is the coroutine's to handle
            step = partial(work.throw, error)
        else:
            step = partial(work.send, answer)
        try:
            waits_for = step()
        except StopIteration as ended:
            return ended.value  # type: ignore[no-any-return]


def current() -> TimeLimit | None:
    """Return the innermost limit of the calling work, or None."""
    return _CURRENT.get()


@contextmanager
def paused() -> Iterator[None]:
    """Pause the limits of the calling work within the block."""
    limit = _CURRENT.get()
    if limit is None:
        yield
        return
    limit._pause()
    try:
        yield
    finally:
        limit._resume()
