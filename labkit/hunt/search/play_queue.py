"""Queue of the plays of a hunt: which play is next, and outcomes in the order of their numbers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count, islice, takewhile
from typing import Any

from labkit.core.errors import LabError
from labkit.hunt.search.rows import PlayRow
from labkit.hunt.workers.pool import ItemOutcome, PlayWorkers


@dataclass(frozen=True)
class DonePlay:
    """Play of a hunt that is over.

    number: of the play, which is its seed; row: its outcome, None if it has none; lost: why, as a sentence; new: number
    of things that it was the first to show; late: whether its limit of real time ended it.
    """

    number: int
    row: PlayRow | None
    lost: str = ""
    new: int = 0
    late: bool = False


class PlayQueue:
    """Plays of a hunt, yielded in the order of their numbers.

    workers: that play; first: number of the first play; plays: number of all, None for no end; until: real time, as of
    `time.monotonic`, after which no play begins.
    """

    def __init__(
        self, workers: PlayWorkers[Any, Any], first: int, plays: int | None, until: float | None
    ) -> None:
        self._workers = workers
        self._until = until
        self._seeds = islice(count(first), plays)
        self._next = first
        self._seen: set[str] = set()

    def __iter__(self) -> Iterator[DonePlay]:
        over: dict[int, ItemOutcome[int, PlayRow]] = {}
        seeds = takewhile(lambda seed: not self._is_late, self._seeds)
        with closing(self._workers.plays(seeds)) as plays:
            for each in plays:
                over[each.item] = each
                while self._next in over:
                    yield self._done(over.pop(self._next))
                    self._next += 1

    @property
    def _is_late(self) -> bool:
        return self._until is not None and time.monotonic() >= self._until

    def _done(self, outcome: ItemOutcome[int, PlayRow]) -> DonePlay:
        row = outcome.result
        if row is None:
            return DonePlay(outcome.item, None, _reason(outcome), late=outcome.late)
        new = len(row.traits - self._seen)
        self._seen |= row.traits
        return DonePlay(outcome.item, row, new=new)


def _reason(outcome: ItemOutcome[int, PlayRow]) -> str:
    error = outcome.error
    if isinstance(error, LabError):
        return str(error)
    return f"{type(error).__name__}: {error}"
