"""Threads for handlers that block: a few, and none left when the lab is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from labkit.core.errors import LabError

T = TypeVar("T")

THREADS = 8
GRACE = 2.0  # seconds of real time that `close` gives to functions which are still running


class Workers:
    """Runs functions in threads, at most `threads` at once; more of them wait for their turn."""

    def __init__(self, threads: int = THREADS) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="labkit-handler")
        self._running: set[Future[Any]] = set()
        self._closed = False

    async def run(self, function: Callable[[], T]) -> T:
        """Run `function` in a thread. Raises what it raises, and LabError once closed."""
        if self._closed:
            raise LabError("the lab is closed")
        future = self._pool.submit(function)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return await asyncio.wrap_future(future)

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
        return asyncio.run_coroutine_threadsafe(call(), loop).result()

    async def close(self) -> bool:
        """Let what runs end, and end the threads. False where a function did not end in time."""
        self._closed = True
        for future in tuple(self._running):
            future.cancel()
        waiting = [asyncio.wrap_future(future) for future in tuple(self._running) if not future.done()]
        late = (await asyncio.wait(waiting, timeout=GRACE))[1] if waiting else set()
        self._pool.shutdown(wait=not late, cancel_futures=True)
        return not late
