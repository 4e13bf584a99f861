"""Thread pools for sync handlers, which end when the lab is closed.

A handler that calls another solution occupies its thread while it waits for the other handler. To prevent a deadlock,
every depth of nested calls has its own threads: a run only waits for threads of deeper calls, and the number of depths
is limited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, NamedTuple, TypeVar

from labkit.core import nesting
from labkit.core.errors import LabError
from labkit.labtime import time_limits
from labkit.labtime.slots import Slots

T = TypeVar("T")

THREADS = 8  # of each depth of calls
GRACE = 2.0  # seconds of real time
TIME_IS_OVER = "this handler ran for too long (guard.script_time): it may call no service any more"
MOST_ABANDONED = 64  # abandoned threads of a lab at a time; further ones are not replaced
_WORK: ContextVar[Work | None] = ContextVar("work of this thread", default=None)


class Pool(NamedTuple):
    """Threads of one depth of calls, each an executor; the idle threads; and slots that limit the number of threads."""

    threads: set[ThreadPoolExecutor]
    idle: list[ThreadPoolExecutor]
    slots: Slots

    def acquire(self) -> ThreadPoolExecutor:
        """Return an idle or a new thread. The caller must have acquired a slot."""
        if self.idle:
            return self.idle.pop()
        thread = ThreadPoolExecutor(1, thread_name_prefix=f"labkit-handler-{len(self.threads)}")
        self.threads.add(thread)
        return thread

    def release(self, thread: ThreadPoolExecutor) -> None:
        """Return a thread to the pool after its work has ended, and release its slot."""
        if thread in self.threads:
            self.idle.append(thread)
            self.slots.release()

    def abandon(self, thread: ThreadPoolExecutor) -> None:
        """Remove a thread whose work does not end, so that another can replace it. It ends when its work ends."""
        self.threads.discard(thread)
        thread.shutdown(wait=False)
        self.slots.release()

    def shutdown(self) -> None:
        """End the threads once they are idle, and cancel the waits for a slot."""
        self.slots.cancel()
        for thread in self.threads:
            thread.shutdown(wait=False)  # an executor never has more than one function, so nothing is queued


class Work:
    """Function that runs in a thread.

    crashes: the number of crashes at its start; over: whether its time is over, so that its service calls fail; call:
    its pending service call.
    """

    def __init__(self, crashes: int) -> None:
        self.crashes = crashes
        self.over = False
        self.call: Future[Any] | None = None

    def end(self) -> None:
        """Make the pending and all further service calls raise LabError. Call this in the thread of the event loop."""
        self.over = True
        if (call := self.call) is not None:
            call.cancel()


class Workers:
    """Runner of sync functions in thread pools.

    threads: number of functions that run at once at each depth of calls; further ones wait. grace: seconds of real time
    that `close` waits for running functions; while_waiting: context in which a run waits for a
    free thread.

    A Python thread cannot be ended from outside. A function that exceeds its time (time_limits.py) is abandoned:
    its caller gets the error at once, its further service calls raise LabError, and a new thread replaces its thread,
    for at most MOST_ABANDONED such functions at a time.
    """

    def __init__(
        self,
        threads: int = THREADS,
        grace: float = GRACE,
        while_waiting: Callable[[], AbstractAsyncContextManager[object]] = nullcontext,
    ) -> None:
        self._while_waiting = while_waiting
        self._grace = grace
        self._threads = threads
        self._pools: dict[int, Pool] = {}  # by depth
        self._running: set[Future[Any]] = set()
        self._crashed: list[ThreadPoolExecutor] = []  # threads that crashes removed from the pools
        self._abandoned = 0  # number of abandoned threads whose functions still run
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
        thread = pool.acquire()
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
                pool.release(thread)
            else:  # the caller stopped waiting; the function still runs
                self._stop_waiting(pool, thread, work, future)

    def _stop_waiting(self, pool: Pool, thread: ThreadPoolExecutor, work: Work, future: Future[Any]) -> None:
        """Abandon a thread whose caller stopped waiting if its time is over, else release it once its work ends."""
        limit = time_limits.current()
        if limit is None or not limit.expired or self._abandoned >= MOST_ABANDONED:
            _once_done(future, partial(pool.release, thread))
            return
        work.end()
        self._abandoned += 1
        pool.abandon(thread)
        _once_done(future, self._abandoned_ended)

    def _abandoned_ended(self) -> None:
        self._abandoned -= 1

    def _pool(self, depth: int) -> Pool:
        if depth not in self._pools:
            self._pools[depth] = Pool(set(), [], Slots(self._threads, self._while_waiting))
        return self._pools[depth]

    def wait_for(self, call: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> Any:
        """Run the coroutine that `call` returns on the event loop, wait for it, and return its result.

        Call this in a worker's thread. Raises LabError in an event loop's thread, where it would wait for itself; after
        `close` or a crash; and if the time of the worker's function is over.
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
            raise LabError(TIME_IS_OVER)
        if work is not None and work.crashes != self._crashes:
            raise LabError("the platform was restarted while this handler ran")
        future = asyncio.run_coroutine_threadsafe(call(), loop)
        self._calls.add(future)
        if work is not None:
            work.call = future
            if work.over:  # `end` was called before `call` was set
                future.cancel()
        try:
            return future.result()
        except CancelledError:
            if work is not None and work.over:
                raise LabError(TIME_IS_OVER) from None
            raise LabError("the platform was restarted while this handler waited for a service") from None
        finally:
            self._calls.discard(future)

    def crash(self) -> None:
        """Make all service calls of running functions fail; their threads cannot be ended from outside."""
        self._crashes += 1
        while self._pools:
            _, pool = self._pools.popitem()
            pool.shutdown()
            self._crashed += pool.threads
        for future in tuple(self._calls):
            future.cancel()

    def suspend(self) -> None:
        """End the threads, which must be idle; new threads are created on demand."""
        while self._pools:
            for thread in self._pools.popitem()[1].threads:
                thread.shutdown()

    async def close(self) -> bool:
        """Wait for running functions, and end the threads. Returns False if a function did not end in time.

        The thread of such a function remains, since it cannot be ended from outside.
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
        for thread in (*(each for pool in self._pools.values() for each in pool.threads), *self._crashed):
            thread.shutdown(wait=True)
        return True


def _once_done(future: Future[Any], then: Callable[[], object]) -> None:
    """Call `then` on the current event loop when a thread's future is done, unless the loop is closed by then."""
    loop = asyncio.get_running_loop()

    def done(_: object) -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(then)

    future.add_done_callback(done)
