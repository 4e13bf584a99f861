"""Plays of a story that are played two times, and the first difference of their journals."""

from __future__ import annotations

import itertools
import time as real_time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit.core.errors import LabError
from labkit.core.handle import short_trace
from labkit.core.journal_differences import JournalDifference, JournalText
from labkit.hunt.plays.breach import breaches_of
from labkit.hunt.plays.future import FaultSource, Played, PlayPlan
from labkit.hunt.plays.levels import fault_source
from labkit.hunt.plays.player import play_bytes, supply_of
from labkit.hunt.story import Story

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
        seeds = "1 seed" if self.seeds == 1 else f"{self.seeds} seeds"
        compared = f"{self.name}, twice: {seeds} compared, {self.records} records, {self.faults} faults"
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


@short_trace
def play_twice(
    story: Story,
    seeds: int | None = None,
    *,
    time: float | None = None,
    level: str | FaultSource = "rough",
    parameters: Mapping[str, object] | None = None,
    first_seed: int = 0,
) -> TwiceOutcome:
    """Play each seed of a story two times, until the journals of one differ.

    seeds: number of seeds, by default 10, or any number where `time` is given; time: real seconds after which no play
    begins; level: of the faults that are drawn, as of `play`; parameters: of the story; first_seed: of the seeds. A
    seed whose values are no future of the story is left out. Raises LabError for a journal that has dropped records,
    which could not be compared.
    """
    given = dict(parameters or {})
    story.with_defaults(given)
    plan = PlayPlan(story, given, fault_source(level, story, given))
    last = None if time is None else real_time.monotonic() + time
    count = seeds if seeds is not None or time is not None else SEEDS
    seeds_seen = records = faults = 0
    for seed in itertools.count(first_seed) if count is None else range(first_seed, first_seed + count):
        if last is not None and real_time.monotonic() >= last:
            break
        plays = [_played(plan, seed) for _ in range(2)]
        if plays == [None, None]:
            continue
        texts = [
            JournalText(name, () if each is None else tuple(each.journal.splitlines()))
            for name, each in zip(("first play", "second play"), plays, strict=True)
        ]
        seeds_seen += 1
        records += len(texts[0].lines)
        faults += 0 if plays[0] is None else len(plays[0].faults)
        difference = JournalDifference.of(*texts)
        if difference.is_worse:
            return TwiceOutcome(story.name, seeds_seen, records, faults, seed, difference)
    return TwiceOutcome(story.name, seeds_seen, records, faults)


def _played(plan: PlayPlan, seed: int) -> Played | None:
    """Play a seed, None if its values are no future of the story. Raises an error of the story's own code."""
    played = play_bytes(plan, seed, supply_of(seed))
    if played is None:
        return None
    if played.dropped:
        kept = len(played.journal.splitlines())
        raise LabError(
            f"{plan.story.name}: the journal has dropped {played.dropped} records of seed {seed}, which cannot be "
            f"compared; the setting journal.records of the story's lab, now {kept}, keeps more"
        )
    for breach in breaches_of(plan.story, played):
        if breach.is_own_error:
            raise LabError(f"{plan.story.name}: seed {seed}: {breach}")
    return played
