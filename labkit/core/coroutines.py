"""Coroutines that never wait, and the end of tasks that were cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")
END = 0.25  # seconds of real time for the end of what was cancelled or aborted, which may never come


def result_of(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits to its end, and return its result. Raises AssertionError if it waits."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value  # type: ignore[no-any-return]
    coroutine.close()
    raise AssertionError(f"{coroutine!r} waits, which it never should")


async def cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait for their end, at most for END seconds: code of others may ignore a cancellation."""
    if cancelled := [each for each in tasks if not each.done() and each is not asyncio.current_task()]:
        for each in cancelled:
            if not each.cancelling():
                each.cancel()
        await asyncio.wait(cancelled, timeout=END)
