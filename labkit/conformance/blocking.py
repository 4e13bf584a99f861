"""Calls of blocking functions in daemon threads, which a caller can abandon."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


async def in_thread(function: Callable[[], T]) -> T:
    """Return the result of a blocking function, called in a daemon thread.

    Unlike a thread of asyncio's or anyio's own, it delays neither the end of the loop nor that of the process, so
    that a call on a target that never returns can be abandoned.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def done(result: T | None, error: BaseException | None) -> None:
        if future.done():  # the caller was cancelled
            return
        if error is None:
            future.set_result(result)  # type: ignore[arg-type]
        else:
            future.set_exception(error)

    def work() -> None:
        result, error = None, None
        try:
            result = function()
        except BaseException as raised:  # noqa: BLE001 - it is raised in the caller
            error = raised
        with suppress(RuntimeError):  # the loop has been closed
            loop.call_soon_threadsafe(done, result, error)

    threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()
    return await future
