"""Plays of a story: one seed, one future."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.core.chance import chance
from labkit.core.errors import LabError
from labkit.core.extras import needs
from labkit.hunt.future import Played, PlayPlan, failure_of, play_future
from labkit.hunt.story import Story

SUPPLY = 64 * 1024  # bytes from which the values of a play are drawn


def play(
    story: Story, seed: int, *, check: bool = True, parameters: Mapping[str, object] | None = None
) -> Played:
    """Play one future of a story in a lab of its own, and return the play.

    story: made by `@story`; seed: of the lab and of all values that the story draws: the same seed gives the same play,
    byte for byte. check: whether to raise the error of the story, with a note that names the seed; otherwise it is
    returned. parameters: of the story's function, by name. Raises LabError for a story that discards the seed's values,
    as by `assume` of hypothesis, and for a promise that did not hold.
    """
    if not isinstance(story, Story):
        raise LabError(f"play: expected a function with @story, not {story!r:.100}")
    if type(seed) is not int:
        raise LabError(f"play: seed: expected a whole number, not {seed!r}")
    plan = PlayPlan(story, parameters or {})
    story.with_defaults(plan.parameters)
    played = play_bytes(plan, seed, chance(seed, "future").randbytes(SUPPLY))
    if played is None:
        raise LabError(f"{story.name}: the values of seed {seed} are no future of this story")
    error = failure_of(played)
    if check and error is not None:
        error.add_note(f"play({story.name}, seed={seed}) repeats this")
        raise error
    return played


def play_bytes(plan: PlayPlan, seed: int, supply: bytes) -> Played | None:
    """Play the future whose values bytes decide; return None if they are no future of the story.

    seed: of the lab; supply: decides the values, as in `fuzz_one_input` of hypothesis.
    """
    plays: list[Played] = []
    with needs("lab"):
        from hypothesis import given, settings, strategies

    def tell(data: Any) -> None:
        plays.append(play_future(plan, seed, data.draw))

    future: Any = settings(database=None)(given(strategies.data())(tell))
    if future.hypothesis.fuzz_one_input(supply) is None:
        return None
    [played] = plays
    return played
