"""Plays whose values bytes decide."""

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


def play_bytes(plan: PlayPlan, seed: int, supply: bytes) -> Played | None:
    """Play the future whose values bytes decide; return None if they are no future of the story.

    seed: of the lab; supply: decides the values, as in `fuzz_one_input` of hypothesis.
    """
    return FuturePlayer(plan).play(seed, supply)


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

    def play(self, seed: int, supply: bytes) -> Played | None:
        """Play the future that bytes decide; return None if there is no such future.

        seed: of the lab; supply: as in `play_bytes`.
        """
        self._seed, self._played = seed, None
        return None if self._fuzz(supply) is None else self._played

    def _tell(self) -> Any:
        def tell(data: Any) -> None:
            self._played = play_future(self._plan, self._seed, self._source(data))

        return tell
