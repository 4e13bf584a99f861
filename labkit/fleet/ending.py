"""Cancellation of device tasks, and texts of errors that user code raised."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from labkit.core.errors import did_you_mean

GRACE = 0.5  # real seconds for a device to finish its `finally` clauses
PATIENCE = 0.05  # real seconds until a device that has not ended is cancelled again
MOST_CANCELLATIONS = 20  # of one device
# Tasks that never ended. They are kept, since the garbage collector would throw GeneratorExit into them in vain.
ABANDONED: set[asyncio.Task[None]] = set()

Lives = Mapping[int, asyncio.Task[None]]


async def end(lives: Lives) -> Lives:
    """Cancel all tasks and return once they have been removed from `lives`.

    Return the tasks that keep catching the CancelledError; they are abandoned.
    """
    for number in range(MOST_CANCELLATIONS):
        if not lives:
            return {}
        tasks = list(lives.values())
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=PATIENCE if number else GRACE)
    left = dict(lives)
    for task in left.values():
        ABANDONED.add(task)
        asyncio._unregister_task(task)  # else closing the loop would wait for it
    return left


def error_text(error: BaseException) -> str:
    """Return type and message of an exception in one text, with the attribute that was probably meant."""
    return f"{type(error).__name__}: {text_of(error)}{text_of(error, _meant)}"


def _meant(error: object) -> str:
    return (
        did_you_mean(error.name, dir(error.obj)) if isinstance(error, AttributeError) and error.name else ""
    )


def text_of(value: object, text: Callable[[object], str] = str) -> str:
    """Return `text(value)`, or a placeholder if that raises."""
    try:
        return text(value)
    except Exception:  # noqa: BLE001  a user's class may raise anything
        return "<its text cannot be made>"
