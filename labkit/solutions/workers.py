"""Threads for handlers that block: a few, and none left when the lab is closed.

A handler that calls another solution waits for its handler, and holds a thread meanwhile. So each depth of calls
has threads of its own: a run waits only for threads whose runs wait for deeper ones, and the deepest wait for none.
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
MOST_GIVEN_UP = 64  # threads of a lab at a time whose functions do not end: no more of them are replaced
_WORK: ContextVar[Work | None] = ContextVar("work of this thread", default=None)


class Pool(NamedTuple):
    """Threads, each an executor of its own, those without work, and who may have one."""

    threads: set[ThreadPoolExecutor]
    idle: list[ThreadPoolExecutor]
    slots: Slots

    def take(self) -> ThreadPoolExecutor:
        """Return a thread without work, for who has a slot."""
        if self.idle:
            return self.idle.pop()
        thread = ThreadPoolExecutor(1, thread_name_prefix=f"labkit-handler-{len(self.threads)}")
        self.threads.add(thread)
        return thread

    def give_back(self, thread: ThreadPoolExecutor) -> None:
        """Take back a thread whose work has ended, and its slot."""
        if thread in self.threads:
            self.idle.append(thread)
            self.slots.release()

    def give_up(self, thread: ThreadPoolExecutor) -> None:
        """Have another thread in the place of one whose work does not end; that one ends with its work."""
        self.threads.discard(thread)
        thread.shutdown(wait=False)
        self.slots.release()

    def shutdown(self) -> None:
        """End the threads, each once it has no work; who waits for one gets none."""
        self.slots.cancel()
        for thread in self.threads:
            thread.shutdown(wait=False)  # nothing waits there: each has one piece of work at most


class Work:
    """A function in a thread. over: it took too long, and may call no service any more; call: that it waits for."""

    def __init__(self, crashes: int) -> None:
        self.crashes = crashes
        self.over = False
        self.call: Future[Any] | None = None

    def end(self) -> None:
        """On the loop: have what it waits for, and each further call of a service, raise LabError."""
        self.over = True
        if (call := self.call) is not None:
            call.cancel()


class Workers:
    """Runs functions in threads, at each depth of calls at most `threads` at once; more of them wait for their turn.

    grace: seconds of real time that `close` gives to functions which are still running; aside: within it, a run waits
    for others to end.

    Nothing can end a Python thread from outside. A function whose time is over (core/time_limits.py) is left to itself:
    its caller gets the error at once, each of its calls of a service raises LabError from then on, and another thread
    takes its place, for at most MOST_GIVEN_UP such functions at a time.
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
        """Run `function` in a thread, in the caller's context. Raises what it raises, and LabError once closed."""
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
        """Nobody waits for the work of a thread any more."""
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
        """From a worker's thread: run the coroutine that `call` makes on the loop, and wait for its result.

        Raises LabError on the loop's own thread, where it would wait for itself, and once closed.
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
        """Nothing can end a Python thread from outside: what runs goes on, but it can call no service any more."""
        self._crashes += 1
        while self._pools:
            _, pool = self._pools.popitem()
            pool.shutdown()
            self._left += pool.threads
        for future in tuple(self._calls):
            future.cancel()

    def suspend(self) -> None:
        """End the threads, of which none works; new ones come when they are needed."""
        while self._pools:
            for thread in self._pools.popitem()[1].threads:
                thread.shutdown()

    async def close(self) -> bool:
        """Let what runs end, and end the threads. False where a function did not end in time.

        Nothing can end a Python thread from outside: that one is left behind.
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
    """Call `then` on this loop once a thread's future is done, if the loop is still there."""
    loop = asyncio.get_running_loop()

    def done(_: object) -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(then)

    future.add_done_callback(done)
