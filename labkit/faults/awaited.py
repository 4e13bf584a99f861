"""Registry of the requests that the platform sends to the lab's own listener and whose answers it awaits.

While a fault delays such a request for lab time, or a service call of the route that answers it, the work that waits
for its answer is suspended too: it does not count as activity, and the real-time limit of the answer does not run.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

from labkit.faults.runs import DelayedRuns
from labkit.labtime.turns import current

AWAITED = "X-Labkit-Awaited"  # the header of a request: the key of its answer


_AWAITED_AS: ContextVar[str] = ContextVar("key of the answer that this run is to give", default="")


@contextmanager
def awaited_as(key: str) -> Iterator[None]:
    """Run a route within the block whose answer is awaited with this key, if it is not empty."""
    token = _AWAITED_AS.set(key)
    try:
        yield
    finally:
        _AWAITED_AS.reset(token)


class _Answer:
    """An awaited answer, with its real-time limit."""

    def __init__(
        self, runs: DelayedRuns, actor: str, run: int | None, timeout: asyncio.Timeout, patience: float
    ) -> None:
        self._runs = runs
        self._held_as = actor, run, current()
        self._timeout = timeout
        self._patience = patience
        self._delays = 0  # of the answer at present

    def suspend(self) -> None:
        self._delays += 1
        if self._delays == 1:
            self._timeout.reschedule(None)
            self._runs.begin(*self._held_as)

    def resume(self) -> None:
        """End one delay: after the last one, resume the waiting work and restart its time limit."""
        self._delays -= 1
        if not self._delays:
            self._runs.end(*self._held_as)
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._patience)

    def end(self) -> None:
        """End all delays, since nobody waits for the answer any more."""
        if self._delays > 0:
            self._delays = 1
            self.resume()


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
                answer.end()

    @contextmanager
    def suspended(self, key: str = "") -> Iterator[None]:
        """Suspend the work that waits for an answer within the block; an unknown key has no effect.

        key: of the answer; by default of the one that the present run is to give.
        """
        answer = self._answers.get(key or _AWAITED_AS.get())
        if answer is None:
            yield
            return
        answer.suspend()
        try:
            yield
        finally:
            answer.resume()
