"""Set of background tasks that are awaited at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from labkit.core.coroutines import cancel

T = TypeVar("T")


class Tasks:
    """Set of tasks until they are done; `finish()` returns when all are."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run `work` on the running loop."""
        task = asyncio.get_running_loop().create_task(work)
        self.keep(task)
        return task

    def keep(self, task: asyncio.Task[Any]) -> None:
        """Add a task that was started elsewhere."""
        if not task.done():
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def cancel(self) -> None:
        """Cancel the tasks, except the one that calls this; `finish` has to follow."""
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()

    async def finish(self, grace: float = 0.0) -> None:
        """Wait `grace` seconds of real time for the tasks, then cancel the remaining ones, as `cancel` does."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace)
        await cancel(self._tasks)
