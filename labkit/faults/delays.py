"""What faults delay at this moment, by actor."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

Begun = asyncio.Queue[tuple[str, str]]


class Delays:
    """Counts the work that faults hold for lab time."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._watching: set[Begun] = set()

    def begin(self, fault: str, actor: str) -> None:
        """A fault holds work of this actor; `end` has to follow."""
        self._counts[actor] += 1
        for queue in self._watching:
            queue.put_nowait((fault, actor))

    def end(self, actor: str) -> None:
        """It goes on, or was given up."""
        self._counts[actor] -= 1
        if not self._counts[actor]:
            del self._counts[actor]

    def count(self, actor: str) -> int:
        """How much of this actor is held."""
        return self._counts.get(actor, 0)

    @contextmanager
    def watch(self) -> Iterator[Begun]:
        """Within: a queue that gets each fault which holds something from now on, and whose that is."""
        queue: Begun = asyncio.Queue()
        self._watching.add(queue)
        try:
            yield queue
        finally:
            self._watching.discard(queue)
