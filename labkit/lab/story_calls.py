"""Calls of a story's threads, which the story's scheduler orders while lab time moves."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

from labkit.control.clock import number_of, seconds_of
from labkit.control.firmware import FirmwareControl
from labkit.core.errors import LabError
from labkit.core.progress import wait
from labkit.lab.portal import Portal, Task
from labkit.labtime.story_scheduler import OVER, VirtualStoryScheduler
from labkit.labtime.story_threads import Background, StoryThread
from labkit.labtime.story_work import CURRENT
from labkit.labtime.turns import current

P = ParamSpec("P")
T = TypeVar("T")

OTHER_THREAD = (
    "a story runs in one thread, since others would make its order a matter of real time: "
    "use lab.at(seconds, function) or lab.begin(function) instead of a thread"
)


class StoryTask(Task[T]):
    """A function that runs on the lab's loop beside the thread that began it."""

    def __init__(self, story: StoryCalls, begun: Background[T]) -> None:
        super().__init__(begun.future)
        self._story = story
        self._begun = begun

    def result(self) -> T:
        self._wait()
        return super().result()

    def wait(self) -> T:
        self._wait()
        return super().wait()

    def _wait(self) -> None:
        if not (self.done or self._story.scheduler.over):
            self._story.run(self._story.scheduler.ended, self._begun)


class StoryCalls:
    """Route of calls by a story's threads, and by handlers in threads, to the scheduler of the story."""

    def __init__(self, portal: Portal, firmware: FirmwareControl, scheduler: VirtualStoryScheduler) -> None:
        self.scheduler = scheduler
        self.threads: list[threading.Thread] = []  # of functions for later
        self.calls: list[Future[Any]] = []  # that have begun, or are to begin
        self.looks: list[range] = []  # records of looks at the lab, by their numbers
        self.runs: list[Any] = []  # of fleets, each a Run, in the order of their starts
        self._portal = portal
        self._firmware = firmware
        self._own = threading.get_ident()
        self._threads: dict[int, StoryThread] = {self._own: scheduler.main}  # by thread
        self._errands: SimpleQueue[Callable[[], object] | Future[Any]] = SimpleQueue()

    def run(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of an async function. Raises LabError in a thread that does not belong to the story."""
        ident = threading.get_ident()
        thread = self._threads.get(ident)
        if thread is not None and ident == self._own:
            work = partial(function, *args, **kwargs)
            return self._result_of(self._portal.begin(self.scheduler.call, thread, work))
        if thread is not None:
            return self._portal.run(self.scheduler.call, thread, partial(function, *args, **kwargs))
        if self._portal.here:
            return self._portal.run(function, *args, **kwargs)  # raises LabError
        if (turn := current()) is None:
            raise LabError(OTHER_THREAD)
        return self._portal.run(self.scheduler.asked, turn, partial(function, *args, **kwargs))

    def _result_of(self, task: Task[T]) -> T:
        """Wait for a call of the story's own thread, which meanwhile runs what others ask it to."""
        task.future.add_done_callback(self._errands.put)

        def ended(seconds: float | None) -> bool:
            with suppress(Empty):
                if (errand := self._errands.get(timeout=seconds)) is task.future:
                    return True
                if not isinstance(errand, Future):  # else an earlier call, which was interrupted
                    errand()
            return False

        try:
            wait(ended, task.look)
        except BaseException as error:  # an interrupt (Ctrl-C)
            task.end(error)
            raise
        return task.result()

    def run_in_own_thread(self, function: Callable[[], T]) -> T:
        """Return the result of a function, called in the story's own thread, which waits while other threads run."""
        if threading.get_ident() == self._own:
            return function()
        future: Future[T] = Future()
        self._errands.put(partial(complete, future, function))
        return future.result()

    def begin(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> StoryTask[T]:
        """Start an async function, and return once it waits or has ended."""
        begun = self.run(self.scheduler.start, partial(function, *args, **kwargs))
        self.run(_nothing)  # the story continues once the function has settled
        return StoryTask(self, begun)

    def close(self) -> None:
        """Wait for the end of the threads of a story that is over, and end the calls that never began."""
        for thread in self.threads:
            thread.join()
        for call in self.calls:
            if not call.done():
                call.set_exception(LabError(OVER))

    def wait(self, seconds: float) -> None:
        """Let lab time pass."""
        self.run(self._wait, seconds)

    async def _wait(self, seconds: float) -> None:
        await self._firmware.expect_all()
        work = CURRENT.get()
        assert work is not None
        await work.wait_until(self.scheduler.clock.after(seconds))

    def at(self, when: float | datetime, function: Callable[[], object]) -> None:
        """Call a function in a thread of its own. when: as of `Lab.at`."""
        if not callable(function):
            raise LabError(f"at: expected a function without arguments, not {function!r}")
        moment = seconds_of(when, "at") if isinstance(when, datetime) else None
        seconds = (
            0.0 if moment is not None else number_of(when, "at", "expected seconds from now, or a datetime")
        )
        if seconds < 0:
            raise LabError(f"at: expected seconds from now, 0 or more, not {seconds:g}")
        self.run(self._at, seconds, moment, function)

    async def _at(self, seconds: float, moment: float | None, function: Callable[[], object]) -> None:
        clock = self.scheduler.clock
        if moment is not None:
            clock.check(moment)
        when = clock.after(seconds) if moment is None else moment
        await self.scheduler.later(when, lambda thread: self._start(thread, function))

    def look(self, every: float, function: Callable[[], bool]) -> None:
        """Call a function every so many seconds, between everything else, in a thread of its own, until it is False.

        While it takes lab time, looks are left out.
        """
        clock = self.scheduler.clock
        begun = clock.now()

        def look() -> None:
            looks = 1
            while function():
                while begun + looks * every <= clock.now():
                    looks += 1
                self.run(self.scheduler.next_look, begun + looks * every)

        self.run(self.scheduler.look, begun + every, lambda thread: self._start(thread, look))

    def _start(self, of: StoryThread, function: Callable[[], object]) -> None:
        thread = threading.Thread(target=self._run, args=(of, function), daemon=True)
        self.threads.append(thread)
        thread.start()

    def _run(self, of: StoryThread, function: Callable[[], object]) -> None:
        self._threads[threading.get_ident()] = of
        error: BaseException | None = None
        try:
            function()
        except BaseException as raised:  # noqa: BLE001  the story's own thread raises it
            error = raised
        del self._threads[threading.get_ident()]
        self._portal.run(self.scheduler.leave_story, of, error)


def complete(future: Future[T], function: Callable[[], T]) -> None:
    """Call a function, and set its result or its error in a future."""
    try:
        future.set_result(function())
    except BaseException as error:  # noqa: BLE001  whoever waits for the future gets it
        future.set_exception(error)


async def _nothing() -> None:
    """Do nothing."""
