"""Plays of stories: one seed, one future."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from labkit.core.chance import chance
from labkit.core.errors import LabError
from labkit.core.extras import needs
from labkit.hunt.future import Played, PlayPlan, failure_of, play_future
from labkit.hunt.given import GivenFault, GivenFaults, GivenValue, GivenValues
from labkit.hunt.story import Story

SUPPLY = 64 * 1024  # bytes from which the values of a play are drawn


def play(
    story: Story,
    seed: int,
    *,
    check: bool = True,
    parameters: Mapping[str, object] | None = None,
    faults: Iterable[GivenFault] = (),
    values: Iterable[GivenValue] | None = None,
) -> Played:
    """Play one future of a story in a lab of its own, and return the play.

    story: made by `@story`; seed: of the lab and of all values that the story draws: the same seed gives the same play,
    byte for byte. check: whether to raise the error of the story, with a note that names the seed; otherwise it is
    returned. parameters: of the story's function, by name. faults: as in `Played.faults`, or pairs of a kind and
    settings; values: given instead of drawn, pairs of a label and a value as in `Played.drawn`. Raises LabError for a
    story that discards the seed's values, as by `assume` of hypothesis, for one that draws other values than those
    given, and for a promise that did not hold.
    """
    if not isinstance(story, Story):
        raise LabError(f"play: expected a function with @story, not {story!r:.100}")
    if type(seed) is not int:
        raise LabError(f"play: seed: expected a whole number, not {seed!r}")
    plan = PlayPlan(story, parameters or {}, GivenFaults(faults))
    story.with_defaults(plan.parameters)
    if values is not None:
        played: Played | None = play_future(plan, seed, GivenValues(values))
    else:
        played = play_bytes(plan, seed, supply_of(seed))
    if played is None:
        raise LabError(f"{story.name}: the values of seed {seed} are no future of this story")
    error = failure_of(played)
    if check and error is not None:
        if values is None and not played.faults:
            error.add_note(f"play({story.name}, seed={seed}) repeats this")
        raise error
    return played


def supply_of(seed: int, beginning: bytes = b"") -> bytes:
    """Return the bytes that decide the values of a seed. beginning: replaces the first ones."""
    return beginning + chance(seed, "future").randbytes(SUPPLY - len(beginning))


def play_bytes(plan: PlayPlan, seed: int, supply: bytes) -> Played | None:
    """Play the future whose values bytes decide; return None if they are no future of the story.

    seed: of the lab; supply: decides the values, as in `fuzz_one_input` of hypothesis.
    """
    return Player(plan).play(seed, supply)[0]


class Player:
    """Player of many futures of one story, by one test of hypothesis.

    plan: of the plays.
    """

    def __init__(self, plan: PlayPlan) -> None:
        with needs("lab"):
            from hypothesis import given, settings, strategies

        self._plan = plan
        self._seed = 0
        self._played: Played | None = None
        future: Any = settings(database=None)(given(strategies.data())(self._tell()))
        self._fuzz = future.hypothesis.fuzz_one_input

    def play(self, seed: int, supply: bytes) -> tuple[Played | None, bytes]:
        """Play the future that bytes decide; return the play, None if there is no such future, and the bytes used.

        seed: of the lab; supply: as in `play_bytes`.
        """
        self._seed, self._played = seed, None
        used = self._fuzz(supply)
        return (None, b"") if used is None else (self._played, used)

    def _tell(self) -> Any:
        def tell(data: Any) -> None:
            self._played = play_future(self._plan, self._seed, data.draw)

        return tell
