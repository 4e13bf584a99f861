"""Queue of the plays of a hunt: which play is next, and outcomes in the order of their numbers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

from labkit.core.errors import LabError
from labkit.hunt.search.coverage import Coverage, Supply
from labkit.hunt.search.rows import PlayRow, PlayTask
from labkit.hunt.workers.pool import ItemOutcome, PlayWorkers


@dataclass(frozen=True)
class DonePlay:
    """Play of a hunt that is over.

    number: of the play; supply: of its values; row: its outcome, None if it has none; lost: why, as a sentence; new:
    number of things that it was the first to show; late: whether its limit of real time ended it.
    """

    number: int
    supply: Supply
    row: PlayRow | None
    lost: str = ""
    new: int = 0
    late: bool = False


class PlayQueue:
    """Plays of a hunt, begun in an order that suits the workers and yielded in that of their numbers.

    workers: that play; first: number of the first play; plays: number of all, None for no end; until: real time, as of
    `time.monotonic`, after which no play begins.
    """

    def __init__(
        self, workers: PlayWorkers[Any, Any], first: int, plays: int | None, until: float | None
    ) -> None:
        self.coverage = Coverage(first)
        self._workers = workers
        self._until = until
        self._numbers = islice(count(first), plays)
        self._next = first
        self._waiting: list[int] = []  # edits of plays that are not over yet
        self._over: dict[int, ItemOutcome[PlayTask, PlayRow]] = {}
        self._is_begun_whole = False

    def __iter__(self) -> Iterator[DonePlay]:
        while not self._is_begun_whole:
            with closing(self._workers.plays(self._tasks())) as plays:
                for each in plays:
                    self._over[each.item.number] = each
                    while self._next in self._over:
                        yield self._done(self._next)
            if self._is_late:
                break
        for number in sorted(self._over):  # after a gap, which only the end of the time leaves
            yield self._done(number)

    @property
    def _is_late(self) -> bool:
        return self._until is not None and time.monotonic() >= self._until

    def _tasks(self) -> Iterator[PlayTask]:
        """Yield the plays that can begin; those that depend on plays under way later, or in another call."""
        while not self._is_late:
            for number in [*self._waiting]:
                if (supply := self.coverage.supply(number)) is not None:
                    self._waiting.remove(number)
                    yield PlayTask(number, supply)
            number = next(self._numbers, -1)
            if number == -1:
                break
            if (supply := self.coverage.supply(number)) is None:
                self._waiting.append(number)
            else:
                yield PlayTask(number, supply)
        self._is_begun_whole = not self._waiting

    def _done(self, number: int) -> DonePlay:
        outcome = self._over.pop(number)
        self._next = number + 1
        supply, row = outcome.item.supply, outcome.result
        if row is None:
            self.coverage.add((), supply, b"")
            return DonePlay(number, supply, None, _reason(outcome), late=outcome.late)
        new = self.coverage.add(row.traits, supply, row.used)
        return DonePlay(number, supply, row, new=new)


def _reason(outcome: ItemOutcome[PlayTask, PlayRow]) -> str:
    error = outcome.error
    if isinstance(error, LabError):
        return str(error)
    return f"{type(error).__name__}: {error}"
