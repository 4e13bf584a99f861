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
from typing import Any, NamedTuple, TypeVar

from labkit.core import nesting
from labkit.core.errors import LabError
from labkit.core.slots import Slots

T = TypeVar("T")

THREADS = 8
GRACE = 2.0
_CRASHES: ContextVar[int] = ContextVar("crashes before this run", default=0)


class Pool(NamedTuple):
    """Threads, and who may have one."""

    threads: ThreadPoolExecutor
    slots: Slots

    def shutdown(self) -> None:
        """End the threads, each once it has no work; who waits for one gets none."""
        self.slots.cancel()
        self.threads.shutdown(wait=False)  # none waits there: all that were taken in have one


class Workers:
    """Runs functions in threads, at each depth of calls at most `threads` at once; more of them wait for their turn.

    grace: seconds of real time that `close` gives to functions which are still running; aside: within it, a run waits
    for others to end.
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
        self._calls: set[Future[Any]] = set()
        self._crashes = 0
        self._closed = False

    async def run(self, function: Callable[[], T]) -> T:
        """Run `function` in a thread, in the caller's context. Raises what it raises, and LabError once closed."""
        if self._closed:
            raise LabError("the lab is closed")
        threads, slots = self._pool(nesting.depth())
        if not slots.take():
            await slots.wait()
        context = copy_context()
        context.run(_CRASHES.set, self._crashes)
        future = threads.submit(context.run, function)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        try:
            return await asyncio.wrap_future(future)
        finally:
            if future.done():
                slots.give_back()
            else:  # who waited for it gave up; the thread goes on
                _once_done(future, slots.give_back)

    def _pool(self, depth: int) -> Pool:
        if depth not in self._pools:
            threads = ThreadPoolExecutor(self._threads, thread_name_prefix="labkit-handler")
            self._pools[depth] = Pool(threads, Slots(self._threads, self._aside))
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
        if _CRASHES.get() != self._crashes:
            raise LabError("the platform was restarted while this handler ran")
        future = asyncio.run_coroutine_threadsafe(call(), loop)
        self._calls.add(future)
        try:
            return future.result()
        except CancelledError:
            raise LabError("the platform was restarted while this handler waited for a service") from None
        finally:
            self._calls.discard(future)

    def crash(self) -> None:
        """Nothing can end a Python thread from outside: what runs goes on, but it can call no service any more."""
        self._crashes += 1
        while self._pools:
            _, pool = self._pools.popitem()
            pool.shutdown()
            self._left.append(pool.threads)
        for future in tuple(self._calls):
            future.cancel()

    def suspend(self) -> None:
        """End the threads, of which none works; new ones come when they are needed."""
        while self._pools:
            self._pools.popitem()[1].threads.shutdown()

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
        for threads in (*(pool.threads for pool in self._pools.values()), *self._left):
            threads.shutdown(wait=True)
        return True


def _once_done(future: Future[Any], then: Callable[[], object]) -> None:
    """Call `then` on this loop once a thread's future is done, if the loop is still there."""
    loop = asyncio.get_running_loop()

    def done(_: object) -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(then)

    future.add_done_callback(done)
