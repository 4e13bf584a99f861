"""Thread pools for handlers that block, which end when the lab is closed.

A handler that calls another solution waits for that one's handler, and occupies a thread meanwhile. So every depth of
calls has threads of its own, which prevents a deadlock: a run only waits for threads of deeper calls, and the deepest
waits for none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, NamedTuple, TypeVar

from labkit.core import nesting, time_limits
from labkit.core.errors import LabError
from labkit.core.slots import Slots

T = TypeVar("T")

THREADS = 8
GRACE = 2.0
OVER = "this handler ran for too long (guard.script_time): it may call no service any more"
MOST_GIVEN_UP = 64  # abandoned threads of a lab at a time: no more of them are replaced
_WORK: ContextVar[Work | None] = ContextVar("work of this thread", default=None)


class Pool(NamedTuple):
    """Threads of one depth (an executor each), the idle ones among them, and slots that limit their number."""

    threads: set[ThreadPoolExecutor]
    idle: list[ThreadPoolExecutor]
    slots: Slots

    def take(self) -> ThreadPoolExecutor:
        """Return an idle or a new thread. The caller has acquired a slot."""
        if self.idle:
            return self.idle.pop()
        thread = ThreadPoolExecutor(1, thread_name_prefix=f"labkit-handler-{len(self.threads)}")
        self.threads.add(thread)
        return thread

    def give_back(self, thread: ThreadPoolExecutor) -> None:
        """Return a thread whose work has ended to the pool, and release its slot."""
        if thread in self.threads:
            self.idle.append(thread)
            self.slots.release()

    def give_up(self, thread: ThreadPoolExecutor) -> None:
        """Remove a thread whose work does not end, so that another may replace it; it ends with its work."""
        self.threads.discard(thread)
        thread.shutdown(wait=False)
        self.slots.release()

    def shutdown(self) -> None:
        """End the threads once they are idle, and cancel the waits for a slot."""
        self.slots.cancel()
        for thread in self.threads:
            thread.shutdown(wait=False)  # nothing is queued there: a thread has one function at a time


class Work:
    """A function that runs in a thread. over: its time is over, it may call no service; call: its pending call."""

    def __init__(self, crashes: int) -> None:
        self.crashes = crashes
        self.over = False
        self.call: Future[Any] | None = None

    def end(self) -> None:
        """Make the pending and every further service call raise LabError. Call this on the loop's thread."""
        self.over = True
        if (call := self.call) is not None:
            call.cancel()


class Workers:
    """Thread pools that run at most `threads` functions at once at each depth of calls; further ones wait.

    grace: seconds of real time that `close` waits for running functions; aside: context in which a run waits for a
    thread.

    Nothing can end a Python thread from outside. A function whose time is over (core/time_limits.py) is abandoned:
    its caller gets the error at once, its service calls raise LabError from then on, and another thread
    replaces its own, for at most MOST_GIVEN_UP such functions at a time.
    """

    def __init__(
        self,
        threads: int = THREADS,
        grace: float = GRACE,
        aside: Callable[[], AbstractAsyncContextManager[object]] = nullcontext,
    ) -> None:
        self._aside = aside
        self._grace = grace
        self._threads = threads
        self._pools: dict[int, Pool] = {}  # by depth
        self._running: set[Future[Any]] = set()
        self._left: list[ThreadPoolExecutor] = []  # by crashes
        self._given_up = 0  # threads whose functions did not end in time, and have not yet
        self._calls: set[Future[Any]] = set()
        self._crashes = 0
        self._closed = False

    async def run(self, function: Callable[[], T]) -> T:
        """Run `function` in a thread, in the caller's context. Raises its errors, and LabError once closed."""
        if self._closed:
            raise LabError("the lab is closed")
        pool = self._pool(nesting.depth())
        if not pool.slots.acquire():
            await pool.slots.wait()
        thread = pool.take()
        work = Work(self._crashes)
        context = copy_context()
        context.run(_WORK.set, work)
        future = thread.submit(context.run, function)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        try:
            return await asyncio.wrap_future(future)
        finally:
            if future.done():
                pool.give_back(thread)
            else:  # the caller gave up; the thread goes on
                self._leave(pool, thread, work, future)

    def _leave(self, pool: Pool, thread: ThreadPoolExecutor, work: Work, future: Future[Any]) -> None:
        """Handle that the caller of a thread's work stopped waiting: abandon the thread if its time is over."""
        limit = time_limits.current()
        if limit is None or not limit.expired or self._given_up >= MOST_GIVEN_UP:
            _once_done(future, partial(pool.give_back, thread))
            return
        work.end()
        self._given_up += 1
        pool.give_up(thread)
        _once_done(future, self._came_back)

    def _came_back(self) -> None:
        self._given_up -= 1

    def _pool(self, depth: int) -> Pool:
        if depth not in self._pools:
            self._pools[depth] = Pool(set(), [], Slots(self._threads, self._aside))
        return self._pools[depth]

    def wait_for(self, call: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> Any:
        """Run the coroutine that `call` returns on the loop, wait for it, and return its result.

        Call this on a worker's thread. Raises LabError on a loop's own thread, which would wait for itself, once
        closed, after a crash, and if the time of the worker's function is over.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            raise LabError("these services block: an async function gets services to await")
        if self._closed:
            raise LabError("the lab is closed")
        work = _WORK.get()
        if work is not None and work.over:
            raise LabError(OVER)
        if work is not None and work.crashes != self._crashes:
            raise LabError("the platform was restarted while this handler ran")
        future = asyncio.run_coroutine_threadsafe(call(), loop)
        self._calls.add(future)
        if work is not None:
            work.call = future
            if work.over:  # meanwhile
                future.cancel()
        try:
            return future.result()
        except CancelledError:
            if work is not None and work.over:
                raise LabError(OVER) from None
            raise LabError("the platform was restarted while this handler waited for a service") from None
        finally:
            self._calls.discard(future)

    def crash(self) -> None:
        """Let no running function call a service any more: nothing can end a Python thread from outside."""
        self._crashes += 1
        while self._pools:
            _, pool = self._pools.popitem()
            pool.shutdown()
            self._left += pool.threads
        for future in tuple(self._calls):
            future.cancel()

    def suspend(self) -> None:
        """End the threads, all idle; new ones are created on demand."""
        while self._pools:
            for thread in self._pools.popitem()[1].threads:
                thread.shutdown()

    async def close(self) -> bool:
        """Wait for running functions, and end the threads. Returns False if a function did not end in time.

        Its thread remains: nothing can end a Python thread from outside.
        """
        self._closed = True
        for pool in self._pools.values():
            pool.shutdown()
        running = [asyncio.wrap_future(future) for future in tuple(self._running)]
        try:
            async with asyncio.timeout(self._grace):
                await asyncio.gather(*running, return_exceptions=True)
        except TimeoutError:
            return False
        for thread in (*(each for pool in self._pools.values() for each in pool.threads), *self._left):
            thread.shutdown(wait=True)
        return True


def _once_done(future: Future[Any], then: Callable[[], object]) -> None:
    """Call `then` on this loop once a thread's future is done, unless the loop is closed."""
    loop = asyncio.get_running_loop()

    def done(_: object) -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(then)

    future.add_done_callback(done)
