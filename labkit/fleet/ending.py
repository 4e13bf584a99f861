"""How the lives of devices end: in time, or left behind; and what is said of an error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

GRACE = 0.5  # seconds of real time for what a device still does in a `finally`
PATIENCE = 0.05  # and then, until one that has not ended is cancelled again
CANCELLED = 20  # how often it is in all
# Behind. Whom nobody holds would be told to end once more, which it catches: so these are held as long as the process.
LEFT: set[asyncio.Task[None]] = set()

Lives = Mapping[int, asyncio.Task[None]]


async def end(lives: Lives) -> Lives:
    """Cancel all of them, and return once they have gone from `lives`. Gives those that catch it time and again."""
    for number in range(CANCELLED):
        if not lives:
            return {}
        tasks = list(lives.values())
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=PATIENCE if number else GRACE)
    left = dict(lives)
    for task in left.values():
        LEFT.add(task)
        asyncio._unregister_task(task)  # or who closes the loop would wait for it
    return left


def error_text(error: BaseException) -> str:
    """Kind and text of any error."""
    return f"{type(error).__name__}: {text_of(error)}"


def text_of(value: object, text: Callable[[object], str] = str) -> str:
    """A text of anything, also of what has none."""
    try:
        return text(value)
    except Exception:  # noqa: BLE001  its class is not ours
        return "<its text cannot be made>"
