"""Answers of the lab's own listener that the platform itself waits for.

While a fault holds such a request for lab time, the piece of work that waits for its answer is held too: it is no
activity, and the real time that an answer may take does not run.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from labkit.core.turns import current
from labkit.faults.runs import Runs

AWAITED = "X-Labkit-Awaited"  # the header of a request: the key of its answer


class _Answer:
    """One that is waited for."""

    def __init__(
        self, runs: Runs, actor: str, run: int | None, timeout: asyncio.Timeout, patience: float
    ) -> None:
        self._runs = runs
        self._held_as = actor, run, current()
        self._timeout = timeout
        self._patience = patience
        self._held = False

    def hold(self) -> None:
        self._held = True
        self._timeout.reschedule(None)
        self._runs.begin(*self._held_as)

    def go_on(self) -> None:
        """Nothing happens where it is not held (any more)."""
        if self._held:
            self._held = False
            self._runs.end(*self._held_as)
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._patience)


class AwaitedAnswers:
    """All of a lab, by keys that no stranger can guess."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._answers: dict[str, _Answer] = {}

    @asynccontextmanager
    async def one(self, actor: str, run: int | None, patience: float) -> AsyncIterator[dict[str, str]]:
        """Within, a piece of work waits for an answer whose request has the header that this gives.

        run: the record of the run of a script that waits, if it is one; patience: seconds of real time that the answer
        may take, without those for which it is held. Raises TimeoutError.
        """
        key = secrets.token_hex(16)
        async with asyncio.timeout(patience) as timeout:
            answer = self._answers[key] = _Answer(self._runs, actor, run, timeout, patience)
            try:
                yield {AWAITED: key}
            finally:
                del self._answers[key]
                answer.go_on()

    @contextmanager
    def held(self, key: str) -> Iterator[None]:
        """Within, the request of a key is held. Nothing happens where nobody waits for its answer."""
        answer = self._answers.get(key)
        if answer is None:
            yield
            return
        answer.hold()
        try:
            yield
        finally:
            answer.go_on()
