"""Plays of a hunt, as small plain data that workers return."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from labkit.core.code_lines import names_used
from labkit.core.errors import LabError
from labkit.hunt.plays.breach import Breach, breaches_of
from labkit.hunt.plays.future import PlayPlan
from labkit.hunt.plays.player import FuturePlayer
from labkit.hunt.promises.promise import State
from labkit.hunt.workers.pool import pickled
from labkit.lab.unused_parts import PartState


@dataclass(frozen=True)
class PlayRow:
    """Outcome of one play.

    seconds: real time of the play; records: in its journal; faults: kinds of the drawn faults; hits: number of
    times that faults hit; verdicts: states by promise; breaches: what went wrong; traits: what happened in it;
    is_future: whether its values were a future of the story; warnings, parts: as of `Played`.
    """

    seconds: float
    records: int = 0
    faults: tuple[str, ...] = ()
    hits: int = 0
    verdicts: Mapping[str, State] = field(default_factory=dict)
    breaches: tuple[Breach, ...] = ()
    traits: frozenset[str] = frozenset()
    is_future: bool = True
    warnings: tuple[str, ...] = ()
    parts: Mapping[str, PartState] = field(default_factory=dict)


class RowPlayer:
    """Player of the futures of a plan, whose outcomes are rows. Can be pickled: plays in any process.

    plan: of the plays.
    """

    def __init__(self, plan: PlayPlan) -> None:
        self._plan = plan
        self._player: FuturePlayer | None = None

    def __call__(self, seed: int) -> PlayRow:
        """Play the future of a seed, and return its row."""
        if self._player is None:
            self._player = FuturePlayer(self._plan)
        began = time.perf_counter()
        played = self._player.play(seed)
        seconds = time.perf_counter() - began
        if played is None:
            return PlayRow(seconds, is_future=False)
        return PlayRow(
            seconds,
            played.journal.count("\n"),
            tuple(each.kind for each in played.faults),
            sum(played.hits),
            {each.promise: each.state for each in played.verdicts},
            breaches_of(self._plan.story, played),
            traits_of(played.journal),
            warnings=played.warnings,
            parts=played.parts,
        )

    def expect_travels(self) -> None:
        """Raise LabError for a story that uses what cannot be pickled, naming the line that does."""
        story = self._plan.story
        for function in (story.function, *(each.function for each in story.promises)):
            for name, value, place in names_used(function):
                try:
                    pickled(partial(id, value))
                except LabError as error:
                    raise LabError(
                        f"{story.name}: {place} uses {name!r}, a {type(value).__name__}, which cannot travel to "
                        f"another process: {error.__cause__}; a check finds what devices noted in lab.runs"
                    ) from None

    def __getstate__(self) -> dict[str, object]:
        return {"_plan": self._plan, "_player": None}


def traits_of(journal: str) -> frozenset[str]:
    """Return what happened in a play: statuses, pairs of kinds of records in a row of one actor, faults that hit.

    journal: as canonical text.
    """
    found: set[str] = set()
    before: dict[str, str] = {}
    for line in journal.splitlines():
        record = json.loads(line)
        kind = record["kind"] if record["status"] is None else f"{record['kind']} {record['status']}"
        detail = record["detail"] or {}
        if record["kind"] == "fault" and isinstance(detail, dict):
            found.add(f"fault at {detail.get('where', record['summary'])}")
        actor = record["actor"].rpartition("#")[0]
        if actor in before:
            found.add(f"{before[actor]} → {kind}")
        found.add(kind)
        before[actor] = kind
    return frozenset(found)
