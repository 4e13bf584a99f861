"""Events: in order within a lane, lanes side by side, bounded, and never in the way of who emits them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from labkit.core.activity import Activity

Handler = Callable[[Any], Awaitable[object]]

LANE_CAPACITY = 1000


class Events:
    """Delivers events to handlers.

    A lane is an ordered queue (one for each device and solution). `emit` never waits. `room` does: whoever is
    about to cause more events for a full source waits there first, so that queues stay bounded.
    """

    def __init__(
        self,
        activity: Activity,
        failed: Callable[[BaseException], object],
        held: Callable[[str, int], object],
        capacity: int = LANE_CAPACITY,
    ) -> None:
        self._activity = activity
        self._failed = failed
        self._held = held
        self._capacity = capacity
        self._lanes: dict[tuple[str, str], deque[tuple[Handler, Any]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}
        self._load: dict[str, int] = {}

    def emit(self, source: str, receiver: str, handler: Handler, event: Any) -> None:
        """Queue `event` of `source` for `receiver`; `handler` gets it after all that came before it there."""
        self._activity.begin()
        self._load[source] = self._load.get(source, 0) + 1
        key = (source, receiver)
        lane = self._lanes.get(key)
        if lane is not None:
            lane.append((handler, event))
            return
        self._lanes[key] = deque([(handler, event)])
        task = asyncio.get_running_loop().create_task(self._drain(key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def room(self, source: str) -> None:
        """Return once `source` has fewer events queued than the capacity; tells `held` if that takes time."""
        if self._load.get(source, 0) < self._capacity:
            return
        self._held(source, self._load[source])
        while self._load.get(source, 0) >= self._capacity:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(source, []).append(future)
            await future

    async def close(self) -> None:
        """Drop what is queued and end the handlers that run."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for key in list(self._lanes):  # of tasks that were cancelled before they began
            self._drop(key)

    async def _drain(self, key: tuple[str, str]) -> None:
        lane = self._lanes[key]
        try:
            while lane:
                handler, event = lane.popleft()
                try:
                    await handler(event)
                except Exception as error:  # noqa: BLE001 - a handler may raise anything; the lane goes on
                    self._failed(error)
                finally:
                    self._done(key[0])
        finally:
            self._drop(key)

    def _drop(self, key: tuple[str, str]) -> None:
        for _ in self._lanes.pop(key):
            self._done(key[0])

    def _done(self, source: str) -> None:
        left = self._load[source] - 1
        if left:
            self._load[source] = left
        else:
            del self._load[source]
        if left < self._capacity:
            for future in self._waiting.pop(source, ()):
                if not future.done():
                    future.set_result(None)
        self._activity.end()
