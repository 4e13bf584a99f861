"""One future of a story: its lab, the values and faults drawn for it, and the verdicts on its promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from labkit.core.errors import LabError
from labkit.core.words import plural
from labkit.firmware.program import ProgramEndedError
from labkit.hunt.draw import Draw, DrawFrom, is_end
from labkit.hunt.faults.drawn_faults import DrawnFault, PutFaults
from labkit.hunt.plays.crashes import DeviceCrash
from labkit.hunt.plays.notices import PlayNotices
from labkit.hunt.promises.promise import Promise, StoryEnd, Verdict, Watch
from labkit.hunt.story import Story
from labkit.lab.fleet_limits import FleetLimits
from labkit.lab.lab import Lab
from labkit.lab.snapshot import read_snapshot
from labkit.lab.unused_parts import PartState

NEW_LINE = "\n"
DRAIN = 3600.0  # seconds of lab time in which all that faults delay must have ended


@dataclass(frozen=True, repr=False)
class Played:
    """One play of a story.

    seed: repeats it; journal: of its lab, as text that is equal for equal plays; result: what the function returned;
    drawn: the values that it drew, with their labels, without those that decided on faults; error: what it raised, None
    if nothing; faults: that were put in; verdicts: on the promises that the play judged; hits: how often each fault did
    hit; began: lab time at which the story began; seconds: of lab time that its function took. absent: for each fault
    that hit nothing a sentence about a name that the lab does not have, such as a solution's, or an empty text.
    warnings: sentences about misspelt calls of handlers. limits: of the story's fleets. dropped: number of records that
    the journal has not kept; crashes: of the behaviours of devices; parts: handlers and fleets that the story added, by
    a phrase that names each, with `ran`, `failed` (each run of a handler) or `idle`; looks: names of the records that
    promises' own looks made, only of a play that breaks one.
    """

    seed: int
    journal: str
    result: object
    drawn: tuple[tuple[str | None, object], ...]
    error: BaseException | None = None
    faults: tuple[DrawnFault, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    hits: tuple[int, ...] = ()
    began: float = 0.0
    seconds: float = 0.0
    absent: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    limits: FleetLimits = field(default_factory=FleetLimits)
    dropped: int = 0
    crashes: tuple[DeviceCrash, ...] = ()
    parts: Mapping[str, PartState] = field(default_factory=dict)
    looks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the play in one line, without its journal."""
        states = Counter(each.state for each in self.verdicts)
        counts = {"record": self.journal.count(NEW_LINE), "fault": len(self.faults)}
        counts["drawn value"] = len(self.drawn)
        parts = [_count(number, name) for name, number in counts.items()]
        parts += [f"{self.seconds:g} s of lab time"]
        parts += [f"{_count(number, 'promise')} {state}" for state, number in states.items()]
        parts += [f"{_count(len(self.crashes), 'device')} crashed"] if self.crashes else []
        parts += [_count(len(self.warnings), "warning")] if self.warnings else []
        parts += [type(self.error).__name__] if self.error is not None else []
        return f"<play of seed {self.seed}: {', '.join(parts)}>"


class FaultSource(Protocol):
    """Interface of what decides on the faults of a play: a menu from which they are drawn, or given ones."""

    def faults(self, draw: Draw, promises: tuple[Promise, ...]) -> tuple[DrawnFault, ...]:
        """Return the faults of a play. draw: of its values; promises: of the story."""


class NoFaults:
    """No faults at all."""

    def faults(self, draw: Draw, promises: tuple[Promise, ...]) -> tuple[DrawnFault, ...]:
        return ()


@dataclass(frozen=True)
class PlayPlan:
    """Settings that the plays of a story have in common.

    parameters: of the story's function; faults: where the faults of a play come from; limits: of the story's fleets.
    """

    story: Story
    parameters: Mapping[str, object] = field(default_factory=dict)
    faults: FaultSource = field(default_factory=NoFaults)
    limits: FleetLimits = field(default_factory=FleetLimits)


def play_future(plan: PlayPlan, seed: int, source: DrawFrom) -> Played:
    """Play one future of a story, and return the play with the story's error, if any.

    seed: of the lab; source: draws the values. Raises what hypothesis raises to end a play, LabError for parameters
    that the story does not have.
    """
    story, parameters = plan.story, plan.story.with_defaults(plan.parameters)
    result: object = None
    failed: Exception | None = None
    crashed: ProgramEndedError | None = None
    verdicts: list[Verdict] = []
    faults: tuple[DrawnFault, ...] = ()
    put: PutFaults | None = None
    with _lab_of(story, seed, parameters) as lab:
        told, notices = lab.story(), PlayNotices(lab, plan.limits)

        def draw_here(strategy: Any, label: Any = None) -> Any:
            # hypothesis draws in the thread of its test alone
            return told.run_in_own_thread(partial(source, strategy, label))

        draw = Draw(draw_here)
        began = notices.began
        ended: float | None = None
        try:
            with told:
                notices.begin()
                # by a `Draw` of their own: a play's values are those that the story draws
                faults = plan.faults.faults(Draw(draw_here), story.promises)
                watches = _watches(lab, story.promises, faults)
                put = PutFaults(lab, faults)
                try:
                    result = story.function(lab, draw, **parameters)
                except ProgramEndedError as error:  # a promise may be about that
                    crashed = error
                    notices.accept_ends()
                ended = lab.clock.time
                end = StoryEnd(ended, *put.end())
                lab.drain(within=DRAIN)
                verdicts = [watch.verdict(end) for watch in watches]
        except Exception as error:
            if is_end(error):
                raise
            failed = error
        if failed is None and not any(each.state == "broken" for each in verdicts):
            failed = crashed
        draw.expect_running()
        return Played(
            seed,
            lab.journal.canonical(),
            result,
            tuple(draw.values),
            failed,
            faults,
            tuple(_with_name(lab, each) for each in verdicts),
            () if put is None else put.hits,
            began,
            (lab.clock.time if ended is None else ended) - began,
            absent=() if put is None else put.absent,
            limits=plan.limits,
            **notices.of_play(verdicts, has_promises=bool(story.promises)),
        )


def _lab_of(story: Story, seed: int, parameters: Mapping[str, object]) -> Lab:
    """Return the lab of a play. Raises LabError for a past that cannot be continued."""
    settings = story.lab_settings(parameters)
    if story.past is None:
        return Lab(seed=seed, **settings)
    past = read_snapshot(story.past)
    lab = Lab(seed=past.seed, **settings)
    try:
        lab.restore(past)
    except BaseException:
        lab.close()
        raise
    return lab


def _watches(lab: Lab, promises: tuple[Promise, ...], faults: tuple[DrawnFault, ...]) -> list[Watch]:
    """Begin to watch over the promises that must hold under all these faults."""
    return [
        each.watch(lab)
        for each in promises
        if all(each.bears(fault.kind, fault.settings) for fault in faults)
    ]


def _count(number: int, name: str) -> str:
    return f"{number or 'no'} {plural(number, name)}"


def _with_name(lab: Lab, verdict: Verdict) -> Verdict:
    """Return the verdict with the name of the record that shows the breach."""
    if verdict.record is None:
        return verdict
    return replace(verdict, record_name=lab.journal.canonical_name(verdict.record))


def failure_of(played: Played) -> LabError | BaseException | None:
    """Return the error of a play: the story's own, that of a promise, or of a device's behaviour; None without any."""
    if played.error is not None:
        return played.error
    for each in played.verdicts:
        if each.state in ("broken", "failed"):
            return LabError(f"the promise {each.promise!r} is {each.state}: {each.reason}")
    for crash in played.crashes:
        return LabError(f"the behaviour of {crash}")
    return None
