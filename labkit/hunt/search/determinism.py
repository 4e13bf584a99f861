"""Plays of a story that are played two times, and the first difference of their journals."""

from __future__ import annotations

import itertools
import time as real_time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from labkit.core.errors import LabError
from labkit.core.handle import short_trace
from labkit.core.journal_differences import JournalDifference, JournalText
from labkit.core.progress import Progress
from labkit.core.words import counted
from labkit.hunt.plays.breach import breaches_of
from labkit.hunt.plays.future import FaultSource, Played, PlayPlan
from labkit.hunt.plays.levels import fault_source
from labkit.hunt.plays.player import play_seed
from labkit.hunt.story import Story
from labkit.hunt.workers.pool import ItemOutcome, plays_over

R = TypeVar("R")
SEEDS = 10  # without a number and without a time


@dataclass(frozen=True)
class TwiceOutcome:
    """Outcome of seeds that were played two times.

    name: of the story; seeds: that were compared; records: in their journals; faults: that were drawn; seed: of the
    plays that differ, None if all are equal; difference: of their journals.
    """

    name: str
    seeds: int
    records: int
    faults: int
    seed: int | None = None
    difference: JournalDifference | None = None

    @property
    def good(self) -> bool:
        """Whether seeds were compared, and all were equal."""
        return self.difference is None and self.seeds > 0

    @property
    def text(self) -> str:
        """The outcome as lines of text."""
        seeds, records = counted(self.seeds, "seed"), counted(self.records, "record")
        compared = f"{self.name}, twice: {seeds} compared, {records}, {counted(self.faults, 'fault')}"
        if self.difference is None:
            return (
                f"{compared}; the journals of both plays are equal"
                if self.seeds
                else f"{compared}: nothing is known"
            )
        return f"{compared}; the two plays of seed {self.seed} differ\n{self.difference}"

    def as_dict(self) -> dict[str, Any]:
        """Return the outcome as data for JSON."""
        found = None if self.difference is None else self.difference.as_dict()
        counts = {"seeds": self.seeds, "records": self.records, "faults": self.faults}
        return {"story": self.name, **counts, "equal": self.good, "seed": self.seed, "difference": found}


@dataclass(frozen=True)
class TwiceRow:
    """Both plays of one seed. records: of the first; faults: that were drawn; difference: None if they are equal."""

    records: int
    faults: int
    difference: JournalDifference | None


class TwicePlayer:
    """Player of seeds, each two times. Can be pickled: plays in any process. plan: of the plays."""

    def __init__(self, plan: PlayPlan) -> None:
        self._plan = plan

    def __call__(self, seed: int) -> TwiceRow | None:
        """Play a seed two times. Return None if its values are no future of the story."""
        plays = [_played(self._plan, seed) for _ in range(2)]
        if plays == [None, None]:
            return None
        what = f"{self._plan.story.name}: seed {seed}"
        texts = [
            JournalText(name, ())
            if each is None
            else JournalText.whole(name, each.journal, each.dropped, what)
            for name, each in zip(("first play", "second play"), plays, strict=True)
        ]
        difference = JournalDifference.of(*texts)
        return TwiceRow(
            len(texts[0].lines),
            0 if plays[0] is None else len(plays[0].faults),
            difference if difference.is_worse else None,
        )


@short_trace
def play_twice(
    story: Story,
    seeds: int | None = None,
    *,
    time: float | None = None,
    level: str | FaultSource = "rough",
    parameters: Mapping[str, object] | None = None,
    first_seed: int = 0,
    workers: int | None = None,
    dask: Any = None,
) -> TwiceOutcome:
    """Play each seed of a story two times, until the journals of one differ.

    seeds: number of seeds, by default 10, or any number where `time` is given; time: real seconds after which no play
    begins; level: of the faults that are drawn, as of `play`; parameters: of the story; first_seed: of the seeds;
    workers, dask: as of `hunt`. A seed whose values are no future of the story is left out. Raises LabError for a
    journal that has dropped records, which could not be compared, and for an error of the story's own code.
    """
    given = dict(parameters or {})
    story.with_defaults(given)
    plan = PlayPlan(story, given, fault_source(level, story, given))
    count = seeds if seeds is not None or time is not None else SEEDS
    compared = records = faults = 0
    tasks = _seeds(first_seed, count, None if time is None else real_time.monotonic() + time)
    with (
        Progress(f"play_twice of {story.name}", count, "seed") as bar,
        closing(plays_over(workers, TwicePlayer(plan), tasks, dask=dask)) as outcomes,
    ):
        for outcome in _in_order(outcomes, first_seed):
            bar.update()
            if outcome.error is not None:
                raise outcome.error
            row = outcome.result
            if row is None:
                continue
            compared, records, faults = compared + 1, records + row.records, faults + row.faults
            if row.difference is not None:
                return TwiceOutcome(story.name, compared, records, faults, outcome.item, row.difference)
    return TwiceOutcome(story.name, compared, records, faults)


def _seeds(first: int, count: int | None, last: float | None) -> Iterator[int]:
    """Yield seeds. count: of them, None for no end; last: real time after which none is yielded."""
    for seed in islice(itertools.count(first), count):
        if last is not None and real_time.monotonic() >= last:
            return
        yield seed


def _in_order(outcomes: Iterable[ItemOutcome[int, R]], first: int) -> Iterator[ItemOutcome[int, R]]:
    """Yield the outcomes of numbers from `first` on in the order of the numbers."""
    early: dict[int, ItemOutcome[int, R]] = {}
    for each in outcomes:
        early[each.item] = each
        while first in early:
            yield early.pop(first)
            first += 1


def _played(plan: PlayPlan, seed: int) -> Played | None:
    """Play a seed, None if its values are no future of the story. Raises an error of the story's own code."""
    played = play_seed(plan, seed)
    if played is None:
        return None
    for breach in breaches_of(plan.story, played):
        if breach.is_own_error:
            raise LabError(f"{plan.story.name}: seed {seed}: {breach}")
    return played
