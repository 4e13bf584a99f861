"""Limits of real time for a piece of work, paused while the work waits for lab time or for its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Self

_CURRENT: ContextVar[TimeLimit | None] = ContextVar("time limit", default=None)


class TimeLimit:
    """Context manager that cancels the code in its block, and raises TimeoutError, after `seconds` of real time.

    Within the block of another limit (a handler that another solution's handler calls), both run and pause together.
    """

    __slots__ = ("_left", "_loop", "_outer", "_pauses", "_timeout", "_token")

    def __init__(self, seconds: float) -> None:
        self._timeout = asyncio.timeout(seconds)
        self._outer = _CURRENT.get()
        self._pauses = 0
        self._left = 0.0

    @property
    def expired(self) -> bool:
        """Whether the time of this limit, or of an outer one, is over."""
        return self._timeout.expired() or (self._outer is not None and self._outer.expired)

    @property
    def over(self) -> bool:
        """Whether the time of this limit is over."""
        return self._timeout.expired()

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        await self._timeout.__aenter__()
        self._token: Token[TimeLimit | None] | None = _CURRENT.set(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._token is not None
        _CURRENT.reset(self._token)
        self._token = None
        await self._timeout.__aexit__(kind, error, trace)

    def _pause(self) -> None:
        self._pauses += 1
        if self._pauses == 1 and self._is_running():
            self._left = (self._timeout.when() or 0.0) - self._loop.time()
            self._timeout.reschedule(None)
        if self._outer is not None:
            self._outer._pause()

    def _resume(self) -> None:
        self._pauses -= 1
        if not self._pauses and self._is_running():
            self._timeout.reschedule(self._loop.time() + self._left)
        if self._outer is not None:
            self._outer._resume()

    def _is_running(self) -> bool:
        return self._token is not None and not self._timeout.expired()


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
