"""Promises that are judged by the journal, once the story is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from labkit.core.code_lines import raised_at, with_line
from labkit.core.journal import Journal
from labkit.core.records import Record
from labkit.hunt.promises.promise import State, StoryEnd, Verdict
from labkit.lab.observer import LabObserver
from labkit.labtime.story_threads import DevicePeriod


class Finding(NamedTuple):
    """Finding of a judge: as a verdict, without the name of the promise."""

    state: State
    reason: str = ""
    at: float | None = None
    record: int | None = None


@dataclass(frozen=True)
class Evidence:
    """Evidence of a story that a judge reads.

    products: ids; solutions: ids, with those of their products; devices: of fleets, and programs that were devices, by
    actor; quiet_since, last_hit: as of `StoryEnd`; now: lab time of the judgement.
    """

    journal: Journal
    products: frozenset[str]
    solutions: Mapping[str, tuple[str, ...]]
    devices: Mapping[str, DevicePeriod]
    quiet_since: float | None
    last_hit: int
    now: float

    def is_device(self, actor: str) -> bool:
        """Return whether a name in the journal is that of a device."""
        product, slash, _ = actor.partition("/")
        return bool(slash) and product in self.products


Judge = Callable[[Evidence], Finding]


class ReadingWatch:
    """Judges a promise by the journal at the end of the story.

    needs_all: whether the missing of a record is a breach, so that an incomplete journal tells nothing; otherwise it
    shows breaches still. wait: seconds of lab time after the last fault that the judge has to see, if fleets still run.
    function: of the promise's author, which the judge calls, and whose line an error names; None without one.
    """

    def __init__(
        self,
        name: str,
        observer: LabObserver,
        judge: Judge,
        *,
        needs_all: bool = False,
        wait: float = 0.0,
        function: Callable[..., object] | None = None,
    ) -> None:
        self._name = name
        self._function = function
        self._observer = observer
        self._judge = judge
        self._needs_all = needs_all
        self._wait = wait
        self._clears = 0
        observer.follow_clears(self._cleared)

    def verdict(self, end: StoryEnd) -> Verdict:
        self._wait_until((end.quiet_since or 0.0) + self._wait)
        observer = self._observer
        products, solutions = frozenset(observer.product_ids()), observer.solutions()
        fleets, programs, now = observer.fleet_devices(), observer.programs(), observer.now

        def judge(journal: Journal) -> Finding:
            gap = self._gap(journal)
            if gap and self._needs_all:
                return Finding("failed", gap)
            devices = {**fleets, **_devices_of(programs, products, journal)}
            try:
                found = self._judge(
                    Evidence(journal, products, solutions, devices, end.quiet_since, end.last_hit, now)
                )
            except Exception as error:  # noqa: BLE001  a function of the promise may raise anything
                place, _ = raised_at(self._function, error)
                return Finding("failed", with_line(f"its code raised {type(error).__name__}: {error}", place))
            return found if found.state == "broken" or not gap else Finding("failed", gap)

        return Verdict(self._name, *observer.read(judge))

    def _wait_until(self, when: float) -> None:
        """Let lab time pass, as long as a fleet or a program runs that could still break the promise, or keep it."""
        observer = self._observer
        if observer.now >= when:
            return
        ends = (*observer.fleet_devices().values(), *observer.programs().values())
        if any(each.until > observer.now for each in ends):
            observer.wait(when - observer.now)

    def _cleared(self) -> None:
        self._clears += 1

    def _gap(self, journal: Journal) -> str:
        """Return a sentence about records that the journal lacks, empty if it has all."""
        if self._clears:
            return "the journal was cleared in the story, so that nobody can judge what was before"
        if journal.dropped:
            return (
                f"the journal has dropped {journal.dropped} records, so that nobody can judge them; the setting "
                "journal.records of the story's lab keeps more"
            )
        if any("left_out" in (each.detail or ()) for each in journal.iterate("warning")):
            return (
                "the journal has left out records of a run, so that nobody can judge them; the setting "
                "journal.per_run of the story's lab keeps more"
            )
        return ""


def _devices_of(
    programs: Mapping[str, DevicePeriod], products: frozenset[str], journal: Journal
) -> dict[str, DevicePeriod]:
    """Return the programs that have sent requests as devices of products, by their names in the journal."""
    if not programs:
        return {}
    seen = {each.actor for each in journal.iterate("request")}
    names = {f"{product}/{name}": period for product in products for name, period in programs.items()}
    return {actor: names[actor] for actor in sorted(seen & names.keys())}


def finding_of(record: Record, reason: str) -> Finding:
    """Return the finding of a breach that a record shows."""
    return Finding("broken", reason, record.time / 1_000_000, record.sequence)
