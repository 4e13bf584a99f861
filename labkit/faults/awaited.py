"""Registry of the requests that the platform sends to the lab's own listener and whose answers it awaits.

While a fault delays such a request for lab time, the work that waits for its answer is suspended too: it does
not count as activity, and the real-time limit of the answer does not run.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from labkit.core.turns import current
from labkit.faults.runs import DelayedRuns

AWAITED = "X-Labkit-Awaited"  # the header of a request: the key of its answer


class _Answer:
    """An awaited answer, with its real-time limit."""

    def __init__(
        self, runs: DelayedRuns, actor: str, run: int | None, timeout: asyncio.Timeout, patience: float
    ) -> None:
        self._runs = runs
        self._held_as = actor, run, current()
        self._timeout = timeout
        self._patience = patience
        self._held = False

    def suspend(self) -> None:
        self._held = True
        self._timeout.reschedule(None)
        self._runs.begin(*self._held_as)

    def resume(self) -> None:
        """Resume the waiting work and restart its time limit; do nothing unless it is suspended."""
        if self._held:
            self._held = False
            self._runs.end(*self._held_as)
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._patience)


class AwaitedAnswers:
    """The awaited answers of a lab, by keys that clients cannot guess."""

    def __init__(self, runs: DelayedRuns) -> None:
        self._runs = runs
        self._answers: dict[str, _Answer] = {}

    @asynccontextmanager
    async def expect(self, actor: str, run: int | None, patience: float) -> AsyncIterator[dict[str, str]]:
        """Limit the real time within the block and yield the header that its request must carry.

        run: the record of the script run that waits, if any; patience: seconds of real time that the answer may
        take, without delays by faults. Raises TimeoutError.
        """
        key = secrets.token_hex(16)
        async with asyncio.timeout(patience) as timeout:
            answer = self._answers[key] = _Answer(self._runs, actor, run, timeout, patience)
            try:
                yield {AWAITED: key}
            finally:
                del self._answers[key]
                answer.resume()

    @contextmanager
    def suspended(self, key: str) -> Iterator[None]:
        """Suspend the work that waits for the answer with this key within the block; an unknown key has no effect."""
        answer = self._answers.get(key)
        if answer is None:
            yield
            return
        answer.suspend()
        try:
            yield
        finally:
            answer.resume()
