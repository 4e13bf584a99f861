"""Counts of the operations that faults are delaying, by actor."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

DelayQueue = asyncio.Queue[tuple[str, str]]


class Delays:
    """Counts the operations that faults are delaying for lab time."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._watching: set[DelayQueue] = set()

    def begin(self, fault: str, actor: str) -> None:
        """Count an operation of this actor that a fault starts to delay; `end` has to follow."""
        self._counts[actor] += 1
        for queue in self._watching:
            queue.put_nowait((fault, actor))

    def end(self, actor: str) -> None:
        """Count the delay as over: the operation resumes, or was cancelled."""
        self._counts[actor] -= 1
        if not self._counts[actor]:
            del self._counts[actor]

    def count(self, actor: str) -> int:
        """Return the number of operations of an actor that faults are delaying."""
        return self._counts.get(actor, 0)

    @contextmanager
    def watch(self) -> Iterator[DelayQueue]:
        """Yield a queue that receives (fault, actor) for every delay that starts within the block."""
        queue: DelayQueue = asyncio.Queue()
        self._watching.add(queue)
        try:
            yield queue
        finally:
            self._watching.discard(queue)
