"""Bridge from synchronous code (a notebook's thread) to an event loop in a background thread: a lab's, or of checks."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from contextvars import Context
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar

from labkit.core.errors import LabError, tell_interrupt
from labkit.core.handle import INTERRUPTED, call_name
from labkit.core.process import loop_factory
from labkit.core.progress import Progress, lab_time, wait

FORKED = (
    "this process was forked from the one in which the lab runs: use lab.fork() there for futures of the lab, or "
    "Lab.connect here for a lab that `labkit serve --control` runs"
)
P = ParamSpec("P")
T = TypeVar("T")


class _Outcome(Future[T]):
    """Result of a function that runs on an event loop; cancelling the result cancels the function.

    A wait of Future takes the future's lock in Python's own code: an interrupt there may leave it locked, so that the
    loop's thread waits for ever when it sets the result. `ended` waits for a lock that belongs to waits alone.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop
        self.task: asyncio.Task[None] | None = None
        self.is_over = False
        self._waits = threading.Lock()
        self._waits.acquire()

    def end_waits(self) -> None:
        """Let waits end, once the result, the error or that it is cancelled has been set."""
        self.is_over = True
        try:  # noqa: SIM105  each call of a lab ends here: `suppress` would be three calls more
            self._waits.release()
        except RuntimeError:  # another thread has cancelled it as well
            pass

    def ended(self, seconds: float | None) -> bool:
        """Wait for the end, up to a number of real seconds; return whether it has come."""
        if not self.is_over and self._waits.acquire(timeout=-1 if seconds is None else seconds):
            self._waits.release()  # for other threads that wait
        return self.is_over

    def cancel(self) -> bool:
        if not self.cancelled() and super().cancel():
            self.end_waits()
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._cancel_task)
        return self.cancelled()

    def _cancel_task(self) -> None:
        if self.task is not None:
            self.task.cancel()


class Task(Generic[T]):
    """A coroutine that runs on the lab's loop. time: function of the lab time, None where it is unknown here."""

    def __init__(self, future: Future[T], time: Callable[[], float | None] = lambda: None) -> None:
        self.future = future
        self._time = time
        self._process = os.getpid()

    @property
    def done(self) -> bool:
        """Whether the task has ended."""
        self._expect_process()
        return self.future.done()

    def result(self) -> T:
        """Wait for the result; an interrupt (Ctrl-C) ends the task as well."""
        try:
            return self.wait()
        except BaseException as error:
            self.end(error)
            raise

    def wait(self) -> T:
        """Wait for the result; an interrupt leaves the task alone."""
        self._expect_process()
        if isinstance(self.future, _Outcome):  # else the function has been waited for
            wait(self.future.ended, self.look)
        return self.future.result()

    def end(self, error: BaseException) -> None:
        """Cancel the task, since a wait for it was ended by an error. An interrupt tells the lab time."""
        self.future.cancel()
        if isinstance(error, KeyboardInterrupt) and (now := self._time()) is not None:
            tell_interrupt(error, f"{call_name() or 'a call'}{INTERRUPTED} at {lab_time(now)}")

    def look(self, progress: Progress) -> None:
        """Note the lab time of a wait for this task."""
        if (now := self._time()) is not None:
            progress.note = lab_time(now)

    async def ended(self) -> None:
        """Return once the task has ended, with a result or an error. For the lab's own loop."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        self.future.add_done_callback(lambda _: loop.call_soon_threadsafe(done.set))
        await done.wait()

    def cancel(self) -> None:
        """Cancel the task, if it has not ended yet."""
        self.future.cancel()

    def _expect_process(self) -> None:
        if os.getpid() != self._process and not self.future.done():
            raise LabError(FORKED)


class Portal:
    """Runner of functions on the lab's event loop, which waits for their results. time: as of its tasks."""

    def __init__(self) -> None:
        self.time: Callable[[], float | None] = lambda: None
        self._open = True
        self._process = os.getpid()
        self._under_way: set[_Outcome[Any]] = set()
        started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        # in a context of its own, which a thread would else share with the one that starts it (Python 3.14)
        self._thread = threading.Thread(
            target=Context().run, args=(_serve, started), name="labkit", daemon=True
        )
        self._thread.start()
        self._loop, self._ended = started.result()
        self._ident = self._thread.ident

    def run(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of an async function. Raises LabError on a closed lab or from the loop's own thread."""
        return self.begin(function, *args, **kwargs).result()

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of a synchronous function, called on the loop's thread."""

        async def call() -> T:
            return function(*args, **kwargs)

        return self.run(call)

    def begin(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> Task[T]:
        """Start an async function and return at once."""
        # as `forked` and `here`, with fewer calls
        if os.getpid() != self._process:
            raise LabError(FORKED)
        if not self._open:
            raise LabError("this lab is closed")
        if threading.get_ident() == self._ident:
            raise LabError(
                "a Lab call blocks, so it cannot be made on the lab's own loop; "
                "use the platform's async operations there (an async handler gets them as `services`)"
            )

        outcome: _Outcome[T] = _Outcome(self._loop)
        self._under_way.add(outcome)
        self._loop.call_soon_threadsafe(self._start, partial(function, *args, **kwargs), outcome)
        return Task(outcome, self.time)

    def _start(self, function: Callable[[], Awaitable[T]], outcome: _Outcome[T]) -> None:
        outcome.task = self._loop.create_task(self._complete(function, outcome))

    async def _complete(self, function: Callable[[], Awaitable[T]], outcome: _Outcome[T]) -> None:
        """Call an async function, and set its result or its error."""
        try:
            result = await function()
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError):
                outcome.cancel()
            self._under_way.discard(outcome)
            if outcome.set_running_or_notify_cancel():
                outcome.set_exception(error)
                outcome.end_waits()
            if not isinstance(error, Exception | asyncio.CancelledError):
                raise
        else:
            self._under_way.discard(outcome)
            try:
                outcome.set_result(result)
            except InvalidStateError:  # it was cancelled
                outcome.set_running_or_notify_cancel()
            else:
                outcome.end_waits()

    @property
    def forked(self) -> bool:
        """Whether this process was forked since, so that it has no thread that runs the loop."""
        return os.getpid() != self._process

    @property
    def here(self) -> bool:
        """Whether this is the loop's own thread."""
        return threading.get_ident() == self._ident

    def close(self) -> None:
        """End the loop and its thread."""
        self._open = False
        for each in [*self._under_way]:
            with suppress(CancelledError):
                each.exception()
        with suppress(RuntimeError):  # it has ended already
            self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()


def _serve(started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    """Run an event loop until its event is set. started: gets both."""

    async def serve() -> None:
        ended = asyncio.Event()
        started.set_result((asyncio.get_running_loop(), ended))
        await ended.wait()

    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(serve())
    except BaseException as error:
        if started.done():
            raise
        started.set_exception(error)
