"""Plays whose values a seed decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.core.chance import chance
from labkit.core.extras import needs
from labkit.hunt.draw import DrawFrom
from labkit.hunt.plays.future import Played, PlayPlan, play_future

SUPPLY = 64 * 1024  # bytes from which the values of a play are drawn


def supply_of(seed: int) -> bytes:
    """Return the bytes that decide the values of a seed."""
    return chance(seed, "future").randbytes(SUPPLY)


def play_seed(plan: PlayPlan, seed: int) -> Played | None:
    """Play the future of a seed; return None if its values are no future of the story."""
    return FuturePlayer(plan).play(seed)


class FuturePlayer:
    """Player of many futures of one story, by one test of hypothesis.

    plan: of the plays; source: draws the values of a play from what `strategies.data()` gives.
    """

    def __init__(self, plan: PlayPlan, source: Callable[[Any], DrawFrom] = lambda data: data.draw) -> None:
        with needs("lab"):
            from hypothesis import given, settings, strategies

        self._plan = plan
        self._source = source
        self._seed = 0
        self._played: Played | None = None
        future: Any = settings(database=None)(given(strategies.data())(self._tell()))
        self._fuzz = future.hypothesis.fuzz_one_input

    def play(self, seed: int) -> Played | None:
        """Play the future of a seed, which is that of the lab, too; return None if there is no such future."""
        self._seed, self._played = seed, None
        return None if self._fuzz(supply_of(seed)) is None else self._played

    def _tell(self) -> Any:
        def tell(data: Any) -> None:
            self._played = play_future(self._plan, self._seed, self._source(data))

        return tell
