"""Search for the smallest play that breaks the same promise as a given one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from labkit.core.canonical import CanonicalRecord
from labkit.core.errors import LabError
from labkit.core.extras import needs
from labkit.hunt.faults.drawn_faults import OF_DEVICES, DrawnFault
from labkit.hunt.faults.recipes import SHORTEST
from labkit.hunt.plays.breach import Breach, breaches_of
from labkit.hunt.plays.future import Played, PlayPlan, play_future
from labkit.hunt.plays.given import GivenFaults, GivenValues
from labkit.hunt.plays.play import play_given
from labkit.hunt.workers.time_limit import time_limit
from labkit.hunt.workers.worker import WorkerError
from labkit.lab.fleet_limits import FleetLimits

PLAYS = 500  # of one search, by default
SECONDS = 60.0  # of real time
RESERVE = (
    0.25  # share of both, in addition, to leave out faults at the end, to limit fleets, and to end faults
)
DEVICES = (1, 2, 3, 5, 10, 20, 50, 100)
TIMES = (60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 6 * 3600.0, 86400.0)  # seconds of a run


@dataclass(frozen=True)
class Shrunk:
    """Smallest play that was found, with what it broke.

    plays: number of plays of the search; seconds: its real time; is_complete: whether it ended by itself, rather than
    at a limit or by Ctrl-C.
    """

    played: Played
    breach: Breach
    plays: int
    seconds: float
    is_complete: bool


class _BreaksAgainError(Exception):
    """A smaller play breaks the same promise."""


class _LimitReachedError(KeyboardInterrupt):
    """End of a search at its limit: hypothesis lets a KeyboardInterrupt through, and tries nothing more."""


def shrink(
    plan: PlayPlan,
    seed: int,
    supply: bytes,
    breach: Breach,
    *,
    plays: int = PLAYS,
    seconds: float = SECONDS,
    within: float | None = None,
    progress: Callable[[Played], object] = lambda played: None,
) -> Shrunk:
    """Return the smallest play that breaks the same promise as the play of these bytes.

    Faults, and all that the story draws, are cut down: numbers to their lower bounds, choices to the first option. Then
    the story's fleets get fewer devices and shorter runs. No fault that is left lasts longer than the story.
    plan, seed, supply: of the play that breaks a promise, as in `play_bytes`; breach: what it broke; plays, seconds:
    limits of the search; within: real seconds of one play, None for no limit; progress: called with each smaller play.
    Raises LabError if the play does not break it again.
    """
    search = _Search(plan, seed, breach, plays, seconds, within, progress)
    is_complete = search.run(supply)
    if search.best is None:
        raise LabError(f"the play of seed {seed} does not break again: {breach}")
    is_complete = search.drop_faults() and search.cut_fleets() and search.end_faults() and is_complete
    played, found = search.best
    return Shrunk(played, found, search.count, time.perf_counter() - search.began, is_complete)


class _Search:
    def __init__(
        self,
        plan: PlayPlan,
        seed: int,
        breach: Breach,
        plays: int,
        seconds: float,
        within: float | None,
        progress: Callable[[Played], object],
    ) -> None:
        self.best: tuple[Played, Breach] | None = None
        self.began = time.perf_counter()
        self.count = 0
        self._plan = plan
        self._seed = seed
        self._breach = breach
        self._plays = plays
        self._seconds = seconds
        self._until = self.began + seconds
        self._within = within
        self._progress = progress

    def run(self, supply: bytes) -> bool:
        """Search with hypothesis. Return whether it ended by itself."""
        with needs("lab"):
            from hypothesis import HealthCheck, Phase, Verbosity, given, settings, strategies
            from hypothesis.database import InMemoryExampleDatabase
            from hypothesis.errors import Flaky

        options = settings(
            database=InMemoryExampleDatabase(),
            phases=(Phase.reuse, Phase.shrink),
            deadline=None,
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            verbosity=Verbosity.quiet,
        )
        # a test of its own for each search: one that has been called before shrinks nothing
        test: Any = options(given(strategies.data())(self._test()))
        try:
            test.hypothesis.fuzz_one_input(supply)  # puts the choices of a failure into the database
        except _BreaksAgainError:
            pass
        else:  # the play is fair without hypothesis: `shrink` says that it does not break again
            return True
        try:
            with _without_constants():
                test()
        except _BreaksAgainError:
            return True
        except (Flaky, KeyboardInterrupt):
            pass
        return False

    def drop_faults(self) -> bool:
        """Leave out each fault that is not needed, with the same values. Return whether all were tried."""
        assert self.best is not None
        self._plays = self.count + int(self._plays * RESERVE)
        self._until = time.perf_counter() + self._seconds * RESERVE
        place = 0
        while place < len(self.best[0].faults):
            faults = self.best[0].faults
            kept = self._try((*faults[:place], *faults[place + 1 :]))
            if kept is None:
                return False
            place += not kept
        return True

    def end_faults(self) -> bool:
        """End each fault of a lab with the story. Return whether all were tried."""
        assert self.best is not None
        for place in range(len(self.best[0].faults)):
            for later in (0.0, SHORTEST):  # a fault that hits the last moment ends behind it
                played = self.best[0]
                ended = _ended(played.faults[place], played.seconds + later)
                if ended is None:
                    break
                if self._try((*played.faults[:place], ended, *played.faults[place + 1 :])) is None:
                    return False
        return True

    def cut_fleets(self) -> bool:
        """Limit the devices of the story's fleets, and their runs. Return whether all was tried.

        Not where the promise breaks without faults, too: then the limit may break what the story expects of itself.
        """
        assert self.best is not None
        if not self.best[0].faults:
            return True
        for smaller in (
            _shorter_runs,
            _smaller_fleets,
        ):  # a shorter run makes the plays for smaller fleets shorter
            for limits in smaller(self.best[0]):
                kept = self._try(self.best[0].faults, limits)
                if kept is None:
                    return False
                if kept:
                    break
        return True

    def _try(self, faults: tuple[DrawnFault, ...], limits: FleetLimits | None = None) -> bool | None:
        """Play the best play with other faults or limits, and keep it if it breaks. Return whether; None at the end."""
        assert self.best is not None
        played = self.best[0]
        try:
            smaller = self._play(faults, limits or played.limits)
            if smaller is None or not self._breaks(smaller):
                return False
            if limits is not None and not self._is_fair(smaller, limits):
                return False
        except KeyboardInterrupt:
            return None
        except LabError:  # draws other values than before, or takes too long
            return False
        return self._keep(smaller)

    def _play(self, faults: tuple[DrawnFault, ...], limits: FleetLimits) -> Played | None:
        """Play the best play with other faults and limits."""
        assert self.best is not None
        self._expect_time()
        self.count += 1
        plan = replace(self._plan, faults=GivenFaults(faults), limits=limits)
        with time_limit(self._within):
            return play_given(plan, self._seed, GivenValues(self.best[0].drawn))

    def _is_fair(self, played: Played, limits: FleetLimits) -> bool:
        """Return whether limits make a play smaller, and break nothing by themselves."""
        assert self.best is not None
        if (
            played.journal == self.best[0].journal
        ):  # the limits took nothing away, and would only be more to read
            return False
        calm = self._play((), limits)
        return calm is not None and not self._breaks(calm)

    def _breaks(self, played: Played) -> bool:
        """Return whether a play breaks the same promise."""
        return self._found(played) is not None

    def _found(self, played: Played) -> Breach | None:
        """Return the breach of the same promise in a play, None if it has none."""
        breaches = breaches_of(self._plan.story, played)
        return next((each for each in breaches if self._breach.is_same_as(each)), None)

    def _test(self) -> Callable[[Any], None]:
        def test(data: Any) -> None:
            self._expect_time()
            self.count += 1
            try:
                with time_limit(self._within):
                    played = play_future(self._plan, self._seed, data.draw)
            except WorkerError:  # takes too long
                return
            if self._keep(played):
                raise _BreaksAgainError

        return test

    def _keep(self, played: Played) -> bool:
        """Keep a play if it breaks the same promise and is no larger. Return whether it breaks it."""
        found = self._found(played)
        if found is None:
            return False
        # Of equal size, hypothesis' later one has smaller values.
        if self.best is None or _size(played) <= _size(self.best[0]):
            self.best = (played, found)
            self._progress(played)
        return True

    def _expect_time(self) -> None:
        if self.count >= self._plays or time.perf_counter() >= self._until:
            raise _LimitReachedError


@contextmanager
def _without_constants() -> Iterator[None]:
    """Keep hypothesis from reading the source of all local modules within the block, to draw the constants in it.

    That takes seconds in each process that shrinks in a checkout, and leaves .hypothesis/constants in its folder.
    """
    with needs("lab"):
        from hypothesis.internal.conjecture import providers

    read = providers._get_local_constants
    providers._get_local_constants = lambda: providers._local_constants
    try:
        yield
    finally:
        providers._get_local_constants = read


def _size(played: Played) -> tuple[int, int]:
    return len(played.faults), len(played.drawn)


def _shorter_runs(played: Played) -> list[FleetLimits]:
    """Return limits for shorter runs of a play's fleets, the shortest first."""
    return [replace(played.limits, seconds=each) for each in TIMES if each < played.seconds]


def _smaller_fleets(played: Played) -> list[FleetLimits]:
    """Return limits for smaller fleets of a play, the smallest first."""
    records = map(CanonicalRecord.parse, played.journal.splitlines())
    devices = {each.actor for each in records if each.kind == "request" and "/" in each.actor}
    return [replace(played.limits, devices=each) for each in DEVICES if each < len(devices)]


def _ended(fault: DrawnFault, seconds: float) -> DrawnFault | None:
    """Return a fault that ends with the story, None if it does already, or does not last. seconds: of the story."""
    settings = fault.settings
    if fault.kind in OF_DEVICES or "seconds" not in settings:
        return None
    rest = max(SHORTEST, round(seconds - settings.get("after", 0.0), 6))
    return DrawnFault(fault.kind, {**settings, "seconds": rest}) if settings["seconds"] > rest else None
