"""The threads of a story, their calls, and functions that run beside them."""

from __future__ import annotations

import asyncio
import math
from concurrent.futures import Future
from typing import Any, Generic, NamedTuple, TypeVar

from labkit.labtime.story_work import StoryWork

T = TypeVar("T")
Reached = asyncio.Future[None]


class StoryThread:
    """A thread of a story.

    number: 0 for the story's own, below 0 for that of a function for later; looks: whether it only looks at the lab, so
    that no fault hits its service calls.
    """

    def __init__(self, number: int, work: StoryWork) -> None:
        self.actor = f"story/{-number}"
        self.number = number
        self.work = work
        self.looks = False


class StoryThreadCall:
    """A call of a thread that is in progress. waits: for lab time or for another's end; looked: it ends a wait
    for a look, which is no turn; error: what ends it.
    """

    def __init__(self) -> None:
        self.waits = self.looked = False
        self.error: BaseException | None = None
        self._task = asyncio.current_task()

    def interrupt(self, work: StoryWork, error: BaseException) -> None:
        """End the call with an error. Lab time stands still from now on."""
        self.error = error
        work.begin()
        if self._task is not None:
            self._task.cancel()


class DevicePeriod(NamedTuple):
    """Time of a device in a fleet of a story.

    until: lab time of its end; state: as it ended, such as `failed` or `ended`, empty before; since: lab time of its
    last start.
    """

    until: float = math.inf
    state: str = ""
    since: float = 0.0


class Background(Generic[T]):
    """A function that runs beside the thread that began it. future: of its result, for any thread."""

    def __init__(self, work: StoryWork) -> None:
        self.work = work
        self.future: Future[T] = Future()
        self.waiting: list[tuple[StoryWork, Reached]] = []

    def cancel_with_future(self, task: asyncio.Task[None]) -> None:
        """Cancel the task of the function once `future` is cancelled, in any thread."""
        loop = asyncio.get_running_loop()

        def cancelled(future: Future[T]) -> None:
            if future.cancelled() and not loop.is_closed():
                loop.call_soon_threadsafe(task.cancel)

        self.future.add_done_callback(cancelled)

    def finish(self, result: Any, error: BaseException | None) -> None:
        """Set the result, or the error, unless the future was cancelled."""
        if not self.future.set_running_or_notify_cancel():
            return
        if error is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(error)
