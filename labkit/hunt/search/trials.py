"""Trials: plays that may be smaller ones of a failure, as small plain data that workers take and return."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Self

from labkit.core.canonical import CanonicalRecord
from labkit.core.errors import LabError
from labkit.core.words import counted
from labkit.hunt.faults.drawn_faults import DrawnFault
from labkit.hunt.plays.breach import Breach, breaches_of
from labkit.hunt.plays.choices import ChosenValue, ChosenValues, Size, recorded
from labkit.hunt.plays.future import Played, PlayPlan
from labkit.hunt.plays.given import GivenFaults
from labkit.hunt.plays.play import play_given
from labkit.hunt.plays.player import FuturePlayer
from labkit.hunt.plays.written import digest
from labkit.hunt.search.rows import PlayRow, RowPlayer
from labkit.hunt.workers.pool import PlayWorkers
from labkit.lab.fleet_limits import FleetLimits


@dataclass(frozen=True)
class PlayTrial:
    """Play that is tried.

    seed, faults, values, limits: of the play, which draws as many values at most; without values it is the play that
    the plan has for the seed, with its faults; breach: that it has to break again;
    before: digest of the journal that it has to differ from, if its limits are new: then it may also not break without
    faults, since the limits could break what the story expects of itself.
    """

    seed: int
    breach: Breach
    faults: tuple[DrawnFault, ...] = ()
    values: tuple[ChosenValue, ...] | None = None
    limits: FleetLimits = field(default_factory=FleetLimits)
    before: str = ""

    def play(self, plan: PlayPlan) -> tuple[Played | None, tuple[ChosenValue, ...]]:
        """Play it; return the play, None if it is no future of the story, with its values. Raises LabError."""
        if self.values is None:
            drawn: list[ChosenValue] = []
            played = FuturePlayer(plan, recorded(drawn)).play(self.seed)
            # the faults come first
            return played, tuple(drawn[len(drawn) - len(played.drawn) :] if played is not None else ())
        source = ChosenValues(self.values)
        plan = replace(plan, faults=GivenFaults(self.faults), limits=self.limits)
        return play_given(plan, self.seed, source), tuple(source.drawn)

    def row(self, plan: PlayPlan) -> TrialRow:
        """Play it, and return its row."""
        plays = 1
        try:
            played, values = self.play(plan)
            if played is None or (found := self.broken(plan, played)) is None:
                return TrialRow(plays)
            row = TrialRow.of(played, values, found)
            if self.before:
                if row.journal == self.before:  # the limits took nothing away
                    return TrialRow(plays)
                plays += 1
                calm, _ = replace(self, faults=()).play(plan)
                if calm is None or self.broken(plan, calm) is not None:
                    return TrialRow(plays)
        except LabError:  # draws other values than it may
            return TrialRow(plays)
        return replace(row, plays=plays)

    def broken(self, plan: PlayPlan, played: Played) -> Breach | None:
        """Return the breach of the same promise in a play, None if it has none."""
        return next(filter(self.breach.is_same_as, breaches_of(plan.story, played)), None)


@dataclass(frozen=True)
class TrialRow:
    """Outcome of a trial.

    plays: that it took; breach: the same again, None if it does not break, and then there is nothing else; faults,
    values, limits, seconds: of the play; journal: its digest; devices: number of those that sent requests; has_fleets:
    whether the story has any.
    """

    plays: int = 1
    breach: Breach | None = None
    faults: tuple[DrawnFault, ...] = ()
    values: tuple[ChosenValue, ...] = ()
    limits: FleetLimits = field(default_factory=FleetLimits)
    seconds: float = 0.0
    journal: str = ""
    devices: int = 0
    has_fleets: bool = False

    @classmethod
    def of(cls, played: Played, values: Iterable[ChosenValue], breach: Breach) -> Self:
        """Return the row of a play. values: as it drew them."""
        records = map(CanonicalRecord.parse, played.journal.splitlines())
        devices = {each.actor for each in records if each.kind == "request" and "/" in each.actor}
        return cls(
            1,
            breach,
            played.faults,
            tuple(values),
            played.limits,
            played.seconds,
            digest(played),
            len(devices),
            any(each.startswith("the fleet") for each in played.parts),
        )

    @property
    def size(self) -> tuple[int, int, list[Size]]:
        """Size of the values."""
        sizes = [size for each in self.values for size in each.sizes]
        return len(self.values), len(sizes), sizes

    def __str__(self) -> str:
        return f"{counted(len(self.faults), 'fault')}, {counted(len(self.values), 'value')}"


class TaskPlayer:
    """Player of the plays of a hunt, and of trials. Can be pickled. plan: of the plays."""

    def __init__(self, plan: PlayPlan) -> None:
        self._plan = plan
        self._rows = RowPlayer(plan)

    def __call__(self, task: int | PlayTrial) -> PlayRow | TrialRow:
        """Return the outcome of a task: the seed of a play, or a trial."""
        return task.row(self._plan) if isinstance(task, PlayTrial) else self._rows(task)

    def workers(
        self, count: int | None, *, within: float | None, dask: Any = None
    ) -> PlayWorkers[int | PlayTrial, Any]:
        """Return workers that play tasks. Raises LabError, naming a line of the story that uses what cannot travel."""
        try:
            return PlayWorkers(count, self, within=within, dask=dask)
        except LabError:
            self._rows.expect_travels()
            raise
