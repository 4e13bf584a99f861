"""Search for the smallest play that breaks the same promise as a given one."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, NamedTuple

from labkit.core.errors import LabError
from labkit.core.handle import warn
from labkit.core.words import counted
from labkit.hunt.draw import LADDER
from labkit.hunt.fault_choice import FaultChoice
from labkit.hunt.faults.drawn_faults import OF_DEVICES, DrawnFault
from labkit.hunt.faults.recipes import SPANS, STATUSES
from labkit.hunt.faults.sizes import SHORTEST
from labkit.hunt.plays.breach import Breach
from labkit.hunt.plays.choices import ChosenValue
from labkit.hunt.plays.future import Played, PlayPlan
from labkit.hunt.search.trials import PlayTrial, TaskPlayer, TrialRow
from labkit.hunt.workers.pool import LATER, PlayWorkers
from labkit.hunt.workers.time_limit import time_limit

PLAYS = 400  # of one search, by default
LIMITS: list[tuple[str, Any]] = [  # of fleets, in the order in which they are tried
    *(("seconds", each) for each in (60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 6 * 3600.0, 86400.0)),
    *(("devices", each) for each in (1, 2, 3, 5, 10, 20, 50, 100)),
]
FEWEST = 8  # devices of a fault, of which each is tried alone
# Settings of faults with simpler values, the simplest first; None: without it.
SIMPLER: dict[str, tuple[float | None, ...]] = {
    "after": (None,),
    "every": (None,),
    "chance": (None,),
    "first": (1,),
    "delay": LADDER,
    "late": LADDER,
    "down": (0.0, *LADDER),
}

Place = tuple[int, int, int]  # in a pass: of a fault or value, and within it
START: Place = (0, 0, 0)
Changes = dict[str, Any]  # fields of a trial
Edits = Iterator[tuple[Place, Changes]]


@dataclass(frozen=True)
class Shrunk:
    """Smallest play that was found, with what it broke.

    plays: number of plays of the search; seconds: its real time; is_complete: whether it ended by itself, rather than
    at its number of plays or by Ctrl-C; interrupted: whether Ctrl-C ended it.
    """

    played: Played
    breach: Breach
    plays: int
    seconds: float
    is_complete: bool
    interrupted: bool


def shrink(
    plan: PlayPlan,
    trial: PlayTrial,
    *,
    plays: int = PLAYS,
    within: float | None = None,
    workers: PlayWorkers[Any, Any] | None = None,
    progress: Callable[[int, TrialRow], object] = lambda count, row: None,
) -> Shrunk:
    """Return the smallest play that breaks the same promise as a given one.

    Faults that are not needed are left out, the others get simpler settings, and end with the story. The values that
    the story draws become the simplest that will do, and its fleets get fewer devices and shorter runs. Which play is
    found depends on `plays`, and not on the workers, which play ahead what is needed if a smaller play does not break.
    plan, trial: the play that breaks a promise; plays: number of plays of the search; within: real seconds of one play
    in this process, None for no limit; workers: call a `TaskPlayer` of the story and its parameters, by default in this
    process; progress: called with the number of plays and the smallest one so far. Raises LabError if the play does not
    break it again.
    """
    with time_limit(within):
        played, values = trial.play(plan)
    began = time.perf_counter()
    again = LabError(f"the play of seed {trial.seed} does not break again: {trial.breach}")
    if played is None or (found := trial.broken(plan, played)) is None:
        raise again
    first = TrialRow.of(played, values, found)
    search = _Search(plan, trial, first, plays, progress)
    pool = workers or PlayWorkers(0, TaskPlayer(plan), within=within)
    interrupted = False
    try:
        with closing(pool.plays(search.trials())) as outcomes:
            for each in outcomes:
                search.add(each.item, each.result)
                if search.is_over:
                    break
    except KeyboardInterrupt:
        search.is_complete, interrupted = False, True
        warn(
            f"cutting down interrupted after {counted(search.count, 'play')}; this is the smallest play so far"
        )
    best = search.best
    if best is not first:
        smallest = replace(trial, faults=best.faults, values=best.values, limits=best.limits)
        with time_limit(within):
            played, _ = smallest.play(plan)
        if played is None or (found := smallest.broken(plan, played)) is None:
            raise again
    seconds = time.perf_counter() - began
    return Shrunk(played, found, search.count, seconds, search.is_complete, interrupted)


class _Search:
    """Search that tries one smaller play after the other, and plays ahead on the assumption that none will do."""

    def __init__(
        self,
        plan: PlayPlan,
        trial: PlayTrial,
        first: TrialRow,
        plays: int,
        progress: Callable[[int, TrialRow], object],
    ) -> None:
        self.best = first
        self.count = 1
        self.is_over = self.is_complete = False
        self._trial = trial
        self._plays = plays
        self._progress = progress
        self._choice: FaultChoice = getattr(plan.faults, "choice", FaultChoice())
        self._known: dict[str, TrialRow] = {}
        self._judged: set[str] = set()
        self._ahead: deque[_Candidate] = deque()  # in the order in which they are judged
        self._candidates = self._smaller(0, START, is_smaller=False)
        self._advance()

    def trials(self) -> Iterator[Any]:
        """Yield the plays to try, and LATER as long as the next one depends on those under way."""
        begun: set[str] = set()
        while not self.is_over:
            due = [each for each in self._ahead if each.key not in begun and each.key not in self._known]
            if due:
                begun.add(due[0].key)
                yield due[0].trial
            elif not self._look_ahead():
                yield LATER

    def add(self, trial: PlayTrial, row: TrialRow | None) -> None:
        """Note the outcome of a trial, None if it had none, and judge what can be judged now."""
        self._known[repr(trial)] = row or TrialRow()
        self._advance()

    def _look_ahead(self) -> bool:
        """Add the next smaller play to those that are tried. Return False if there is none."""
        found = next(self._candidates, None)
        if found is not None:
            self._ahead.append(found)
        return found is not None

    def _advance(self) -> None:
        """Judge plays in their order, as far as their outcomes are known."""
        while self._ahead or self._look_ahead():
            step, place, trial, key = self._ahead[0]
            if key not in self._judged and self.count >= self._plays:
                self.is_over = True
                return
            if (row := self._known.get(key)) is None:
                return
            self._ahead.popleft()
            if key not in self._judged:
                self._judged.add(key)
                self.count += row.plays
            if row.breach is not None and self._is_smaller(trial, row):
                self.best = row
                self._ahead.clear()
                self._candidates = self._smaller(step, place, is_smaller=True)
            self._progress(self.count, self.best)
        self.is_over = self.is_complete = True

    def _is_smaller(self, trial: PlayTrial, row: TrialRow) -> bool:
        is_other = (trial.faults, trial.limits) != (self.best.faults, self.best.limits)
        return is_other or row.size < self.best.size

    def _smaller(self, step: int, place: Place, *, is_smaller: bool) -> Iterator[_Candidate]:
        """Yield the plays to try from a place on, until a whole round of passes has found none that will do.

        step: number of the pass, counted over all rounds; is_smaller: whether this round has found one already.
        """
        for number in count(step):
            for found, changes in PASSES[number % len(PASSES)](self.best, place):
                is_allowed = all(
                    self._choice.allows(each.kind, each.settings) for each in changes.get("faults", ())
                )
                if is_allowed and (number < len(PASSES) or "limits" not in changes):
                    yield self._candidate(number, found, changes)
            place = START
            if number % len(PASSES) == len(PASSES) - 1:
                if not is_smaller:
                    return
                is_smaller = False

    def _candidate(self, step: int, place: Place, changes: Changes) -> _Candidate:
        best = self.best
        kept: Changes = {"faults": best.faults, "values": best.values, "limits": best.limits}
        trial = replace(self._trial, **{**kept, **changes})
        return _Candidate(step, place, trial, repr(trial))


class _Candidate(NamedTuple):
    """A play to try. step, place: where the search goes on if it will do; key: by which its outcome is known."""

    step: int
    place: Place
    trial: PlayTrial
    key: str


def _without_faults(row: TrialRow, start: Place) -> Edits:
    """Leave out all faults, or all but one, and then one after the other."""
    faults = row.faults
    if start == START and len(faults) > 1:
        yield START, {"faults": ()}
        yield from ((START, {"faults": (each,)}) for each in faults)
    for number in range(start[0], len(faults)):
        yield (number, 0, 0), {"faults": (*faults[:number], *faults[number + 1 :])}


def _shorter(row: TrialRow, start: Place) -> Edits:
    """Limit the runs of fleets, the shortest first, and then their devices.

    Not where the promise breaks without faults, too: then the limit may break what the story expects of itself.
    """
    if not (row.faults and row.has_fleets):
        return
    for number, (name, value) in enumerate(LIMITS):
        limit = getattr(row.limits, name) or getattr(row, name)
        if number >= start[0] and value < limit:
            yield (number, 0, 0), {"limits": replace(row.limits, **{name: value}), "before": row.journal}


def _simpler_values(row: TrialRow, start: Place) -> Edits:
    """Cut down all values, and then one after the other; a count also together with what it counts."""
    values = row.values
    if start == START and len(values) > 1:
        yield START, {"values": tuple(replace(each, choices=()) for each in values)}
    for number in range(start[0], len(values)):
        at = start[1:] if number == start[0] else (0, 0)
        for part, low, each in values[number].simpler(*at):
            yield (number, part, low), {"values": (*values[:number], each, *values[number + 1 :])}
        for rest in _fewer(values[number], values[number + 1 :]):
            yield (number, 0, 0), {"values": (*values[:number], *rest)}


def _fewer(value: ChosenValue, others: tuple[ChosenValue, ...]) -> Iterator[tuple[ChosenValue, ...]]:
    """Yield a count that is lower, with the values behind it of which the first ones are left out."""
    labels = [each.label for each in others]
    match value:
        case ChosenValue(choices=(int(number),), simplest=(int(least),), value=None):
            if not 0 < abs(number - least) <= len(others) or value.label == labels[0] is not None:
                return  # it counts something else, or is one of a series itself
            size = labels.index(labels[0], 1) if labels[0] in labels[1:] else len(labels)
            for fewer in dict.fromkeys((abs(number - least) // 2, 1)):
                if 0 < fewer * size <= len(others):
                    lower = replace(value, choices=(number - fewer if number > least else number + fewer,))
                    yield (lower, *others[fewer * size :], *(ChosenValue(),) * (fewer * size))


def _simpler_faults(row: TrialRow, start: Place) -> Edits:
    """Give the faults simpler settings."""
    faults = row.faults
    for number in range(start[0], len(faults)):
        for settings in _simpler(faults[number].settings):
            each = DrawnFault(faults[number].kind, settings)
            yield (number, 0, 0), {"faults": (*faults[:number], each, *faults[number + 1 :])}


def _simpler(settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name, values in SIMPLER.items():
        for value in values:
            if value is None:
                if name in settings:
                    yield {key: each for key, each in settings.items() if key != name}
            elif isinstance(settings.get(name), int | float) and value < settings[name]:
                yield {**settings, name: value}
    if "where" in settings and "seconds" in settings and "first" not in settings:
        yield {**settings, "first": 1}
    for name, options in (("status", STATUSES), ("calls", SPANS)):
        earlier = options[: options.index(settings[name])] if settings.get(name) in options else ()
        yield from ({**settings, name: each} for each in earlier)
    for name in ("identity", "devices"):
        several = settings.get(name)
        if isinstance(several, list | tuple) and len(several) > 1:
            yield from ({**settings, name: [each]} for each in several[:FEWEST])


def _ended(row: TrialRow, start: Place) -> Edits:
    """End each fault of a lab with the story; one that hits the last moment ends behind it."""
    faults = row.faults
    for number in range(start[0], len(faults)):
        fault, settings = faults[number], faults[number].settings
        for later in (0.0, SHORTEST):
            rest = max(SHORTEST, round(row.seconds + later - settings.get("after", 0.0), 6))
            if fault.kind not in OF_DEVICES and settings.get("seconds", 0.0) > rest:
                each = DrawnFault(fault.kind, {**settings, "seconds": rest})
                yield (number, 0, 0), {"faults": (*faults[:number], each, *faults[number + 1 :])}


PASSES = (_without_faults, _simpler_values, _simpler_faults, _shorter, _ended)  # of a round
