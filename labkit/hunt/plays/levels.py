"""Levels of the faults of a play, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from labkit.core.errors import LabError
from labkit.core.handle import warn
from labkit.hunt.fault_choice import FaultChoice
from labkit.hunt.faults.menu import Menu
from labkit.hunt.faults.sites import Sites, sites_of
from labkit.hunt.plays.future import FaultSource, Played, PlayPlan
from labkit.hunt.plays.player import play_seed
from labkit.hunt.story import Story

CALM_SEED = 0  # of the play that shows where faults can hit
TRIES = 10  # seeds that are tried, where the values of one are no future of the story


def fault_source(
    level: str | FaultSource,
    story: Story,
    parameters: Mapping[str, object],
    seen: Callable[[Played], object] = lambda played: None,
) -> FaultSource:
    """Return the source of the faults of a story's plays; plays the story once without faults, to see its places.

    level: `calm`, `rough` or `wild`, a `Menu`, or another source; story, parameters: of the plays; seen: called with
    the play without faults. Raises UnknownError for another name.
    """
    menu = Menu(level) if isinstance(level, str) else level
    if not isinstance(menu, Menu):
        return menu
    without = (*menu.without, *story.without)
    if menu.sites is not None:
        return replace(menu, without=without) if story.without else menu
    placed = replace(menu, sites=calm_sites(story, parameters, seen), without=without)
    if menu.choice != FaultChoice() and not placed.possible(story.promises):
        warn(f"{story.name}: no promise bears the chosen faults, or they can hit nothing: no fault is drawn")
    return placed


def calm_sites(
    story: Story,
    parameters: Mapping[str, object],
    seen: Callable[[Played], object] = lambda played: None,
) -> Sites:
    """Play a story once, without faults and with a fixed seed, and return the places that it has.

    parameters: of the story; seen: called with the play. Raises LabError if no values of ten seeds are a future of the
    story.
    """
    plan = PlayPlan(story, parameters)
    for seed in range(CALM_SEED, CALM_SEED + TRIES):
        played = play_seed(plan, seed)
        if played is not None:
            seen(played)
            return sites_of(played.journal, played.began, played.seconds)
    raise LabError(f"{story.name}: the values of {TRIES} seeds are no future of this story")
