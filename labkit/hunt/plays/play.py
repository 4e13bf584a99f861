"""Plays of stories: one seed, one future."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping

from labkit.core.errors import LabError
from labkit.core.extras import needs
from labkit.core.handle import short_trace, warn
from labkit.hunt.draw import DrawFrom
from labkit.hunt.plays.future import FaultSource, Played, PlayPlan, failure_of, play_future
from labkit.hunt.plays.given import GivenFault, GivenFaults, GivenValue, GivenValues
from labkit.hunt.plays.levels import fault_source
from labkit.hunt.plays.player import play_seed
from labkit.hunt.story import Story
from labkit.lab.fleet_limits import FleetLimits


@short_trace
def play(
    story: Story,
    seed: int,
    *,
    check: bool = True,
    parameters: Mapping[str, object] | None = None,
    level: str | FaultSource | None = None,
    faults: Iterable[GivenFault] = (),
    values: Iterable[GivenValue] | None = None,
    limits: Mapping[str, object] | None = None,
) -> Played:
    """Play one future of a story in a lab of its own, and return the play.

    story: made by `@story`; seed: of the lab and of all values that the story draws: the same seed gives the same play,
    byte for byte. check: whether to raise the error of the story, with a note that names the seed; otherwise it is
    returned. parameters: of the story's function, by name. level: of the faults that the seed draws, `calm`, `rough` or
    `wild`, or a `Menu`; none are drawn without it. faults: instead of drawn ones, as in `Played.faults`, or pairs of a
    kind and settings; values: given instead of drawn, pairs of a label and a value as in `Played.drawn`. limits: of the
    story's fleets: `devices` with one behaviour in a fleet, `seconds` of lab time of a run. Raises LabError for a story
    that discards the seed's values, as by `assume` of hypothesis, for one that draws other values than those given, for
    wrong faults, for a promise that did not hold, and for a given fault that hit nothing since the story's lab never
    had what it names; the last two only with `check`. Warns of misspelt calls of handlers.
    """
    played = play_unwarned(
        story,
        seed,
        check=check,
        parameters=parameters,
        level=level,
        faults=faults,
        values=values,
        limits=limits,
    )
    for text in played.warnings:
        warn(text)
    return played


def play_unwarned(
    story: Story,
    seed: int,
    *,
    check: bool = True,
    parameters: Mapping[str, object] | None = None,
    level: str | FaultSource | None = None,
    faults: Iterable[GivenFault] = (),
    values: Iterable[GivenValue] | None = None,
    limits: Mapping[str, object] | None = None,
) -> Played:
    """Play one future of a story as `play` does, but leave the warnings to the caller."""
    if not isinstance(story, Story):
        raise LabError(f"play: expected a function with @story, not {story!r:.100}")
    if type(seed) is not int:
        raise LabError(f"play: seed: expected a whole number, not {seed!r}")
    given = tuple(faults)
    if given and level is not None:
        raise LabError("play: faults that are given go without a level, from which they would be drawn")
    story.with_defaults(parameters or {})
    source = GivenFaults(given) if level is None else fault_source(level, story, parameters or {})
    plan = PlayPlan(story, parameters or {}, source, FleetLimits.of(limits or {}))
    if values is not None:
        played: Played | None = play_given(plan, seed, GivenValues(values))
    else:
        played = play_seed(plan, seed)
    if played is None:
        which = f"of seed {seed}" if values is None else "given"
        raise LabError(f"{story.name}: the values {which} are no future of this story")
    error = failure_of(played)
    absent = _absent(played) if given else []
    if check and error is not None:
        if values is None and not given and not limits:
            shown = f", level={level!r}" if isinstance(level, str) else ""
            if level is None or shown:
                shown += f", parameters={dict(parameters)!r}" if parameters else ""
                error.add_note(f"play({story.name}, seed={seed}{shown}) repeats this")
        for text in (*absent, *played.warnings):
            error.add_note(f"warning: {text}")
        raise error
    if check and absent:
        raise LabError(f"play: {'; '.join(absent)}")
    return played


def _absent(played: Played) -> list[str]:
    """Return a sentence for each fault that hit nothing since the lab does not have what it names."""
    faults = zip(played.faults, played.absent, strict=False)  # none of a story that failed before its faults
    return [f"fault {number}, {each.kind}: {text}" for number, (each, text) in enumerate(faults, 1) if text]


def play_given(plan: PlayPlan, seed: int, values: DrawFrom) -> Played | None:
    """Play the future of given values; return None if the story discards them. plan, seed: as in `play_future`."""
    with needs("lab"):
        from hypothesis.errors import HypothesisDeprecationWarning, UnsatisfiedAssumption

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HypothesisDeprecationWarning)  # of `assume`, as no test of its runs
        try:
            return play_future(plan, seed, values)
        except UnsatisfiedAssumption:
            return None
