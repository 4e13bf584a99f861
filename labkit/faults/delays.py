"""Counts of the operations that faults are delaying, by actor."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager

DelayQueue = asyncio.Queue[tuple[str, str]]
REMEMBERED = 1_000  # newest delays, for watches that were asked for just before


class Delays:
    """Counts the operations that faults are delaying for lab time."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._watching: set[DelayQueue] = set()
        self._newest: deque[tuple[str, str]] = deque(maxlen=REMEMBERED)
        self.started = 0  # delays so far

    def begin(self, fault: str, actor: str) -> None:
        """Count an operation of this actor that a fault starts to delay; `end` has to follow."""
        self._counts[actor] += 1
        self.started += 1
        self._newest.append((fault, actor))
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
    def watch(self, since: int | None = None) -> Iterator[DelayQueue]:
        """Yield a queue that receives (fault, actor) for every delay that starts within the block.

        since: an earlier value of `started`: the delays that have started after it come first.
        """
        queue: DelayQueue = asyncio.Queue()
        missed = 0 if since is None else min(self.started - since, len(self._newest))
        for each in list(self._newest)[len(self._newest) - max(missed, 0) :]:
            queue.put_nowait(each)
        self._watching.add(queue)
        try:
            yield queue
        finally:
            self._watching.discard(queue)
