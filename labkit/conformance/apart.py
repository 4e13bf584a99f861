"""Calling what blocks in a thread of its own, which a caller that gives up need not wait for."""

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

    Unlike a thread of asyncio's or anyio's own, it holds up neither the end of the loop nor that of the process: what
    a target under test blocks for ever is given up.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def done(result: T | None, error: BaseException | None) -> None:
        if future.done():  # nobody waits any more
            return
        if error is None:
            future.set_result(result)  # type: ignore[arg-type]
        else:
            future.set_exception(error)

    def work() -> None:
        result, error = None, None
        try:
            result = function()
        except BaseException as raised:  # noqa: BLE001 - it is the caller's
            error = raised
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(done, result, error)

    threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()
    return await future
