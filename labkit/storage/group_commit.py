"""Group commit: calls that share one transaction wait together for its end.

A call that was cancelled while it waited still returns its result, since its data is stored: what follows from stored
data (woken polls, events) must not be lost with the client. The cancellation takes effect at the task's next await.
"""

from __future__ import annotations

import asyncio


class Committed(Exception):
    """Raised in a function of `Database.run` to fail, and yet commit its writes.

    error: raised to the caller after the commit.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(f"committed, then: {error}")
        self.error = error


class CommitGroup:
    """The calls that share the transaction of one turn of the loop.

    failure: why the transaction was or will be rolled back, None while it may be committed.
    """

    __slots__ = ("_waiting", "failure")

    def __init__(self) -> None:
        self.failure: BaseException | None = None
        self._waiting: list[asyncio.Future[None]] = []

    async def wait(self) -> None:
        """Return after the commit. Raises the failure if there was none."""
        # A future for each caller, since the cancellation of a task cancels the future that it waits for.
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await future
        except asyncio.CancelledError:  # it arrives after the end of the turn, which was scheduled earlier
            if self.failure is not None:
                raise
            _postpone_cancellation()

    def end(self) -> None:
        """Resume the waiting calls, with the failure if there was one."""
        for future in self._waiting:
            if future.done():
                continue
            if self.failure is None:
                future.set_result(None)
            else:
                future.set_exception(self.failure)


async def let_others_run() -> None:
    """Return in the next turn of the loop, also for a task that is cancelled meanwhile. Call it once data is stored."""
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        _postpone_cancellation()


def _postpone_cancellation() -> None:
    """Cancel the current task once more: CancelledError is raised where it awaits next."""
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()
    task.cancel()
