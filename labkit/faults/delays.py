"""The operations that faults are delaying."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

DelayQueue = asyncio.Queue[tuple[str, str]]
REMEMBERED = 1_000  # newest delays, for watches that were asked for just before


@dataclass(frozen=True, eq=False, slots=True)
class Held:
    """An operation, or an event, that faults delay. due: lab time at which it goes on; text: description of it."""

    text: str
    due: float


class Delays:
    """The operations that faults are delaying for lab time."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._held: dict[Held, str] = {}  # its actor
        self._watching: set[DelayQueue] = set()
        self._newest: deque[tuple[str, str]] = deque(maxlen=REMEMBERED)
        self.started = 0  # delays so far

    def begin(self, fault: str, actor: str, due: float) -> Held:
        """Return an operation of this actor that a fault starts to delay until `due`; `end` has to follow with it."""
        held = Held(f"{actor}, delayed by {fault!r}", due)
        self._held[held] = actor
        self._counts[actor] += 1
        self.started += 1
        self._newest.append((fault, actor))
        for queue in self._watching:
            queue.put_nowait((fault, actor))
        return held

    def end(self, held: Held) -> None:
        """Count the delay as over: the operation resumes, or was cancelled."""
        actor = self._held.pop(held)
        self._counts[actor] -= 1
        if not self._counts[actor]:
            del self._counts[actor]

    def count(self, actor: str) -> int:
        """Return the number of operations of an actor that faults are delaying."""
        return self._counts.get(actor, 0)

    def held(self) -> list[Held]:
        """Return the operations that faults are delaying, in the order in which their delays began."""
        return list(self._held)

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
