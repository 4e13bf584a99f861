"""Model check of timers: settings, cancels and moves of the clock in two solutions, in random order."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from labkit.conformance.old_models import Model, model_check
from labkit.conformance.solutions.timers.game import TimerGame

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

NAMES = ("a", "A", "é", "a b", "%*?[a]")
DURATIONS = (0, 1000, 1000, 1500, 2000, 3000, 250)  # milliseconds that are whole ticks of the game's clock
INTERVALS = (1000, 1500, 2000, 3000, 500, 0)
MOVES = (Fraction(1, 4), Fraction(1), Fraction(1), Fraction(2), Fraction(7, 2), Fraction(10))


@dataclass(frozen=True)
class SetOnce:
    """Set a timer that fires once."""

    solution: int
    name: str
    duration: int

    async def __call__(self, game: TimerGame) -> None:
        await game.set(self.solution, self.name, self.duration, repeats=False)


@dataclass(frozen=True)
class SetInterval:
    """Set an interval."""

    solution: int
    name: str
    duration: int

    async def __call__(self, game: TimerGame) -> None:
        await game.set(self.solution, self.name, self.duration, repeats=True)


@dataclass(frozen=True)
class CancelTimer:
    """Cancel a timer."""

    solution: int
    name: str

    async def __call__(self, game: TimerGame) -> None:
        await game.cancel(self.solution, self.name)


@dataclass(frozen=True)
class CancelAll:
    """Cancel all timers of a solution."""

    solution: int

    async def __call__(self, game: TimerGame) -> None:
        await game.cancel_all(self.solution)


@dataclass(frozen=True)
class ListTimers:
    """List the timers of a solution."""

    solution: int

    async def __call__(self, game: TimerGame) -> None:
        await game.list_timers(self.solution)


@dataclass(frozen=True)
class MoveClock:
    """Let time pass."""

    seconds: Fraction

    async def __call__(self, game: TimerGame) -> None:
        await game.advance(self.seconds)


def commands() -> SearchStrategy[Any]:
    """Return the calls of scripts, and moves of the clock."""
    from hypothesis import strategies as st

    solutions, names = st.sampled_from([0, 0, 1]), st.sampled_from(NAMES)
    return st.one_of(
        st.builds(SetOnce, solutions, names, st.sampled_from(DURATIONS)),
        st.builds(SetOnce, solutions, names, st.sampled_from(DURATIONS)),
        st.builds(SetInterval, solutions, names, st.sampled_from(INTERVALS)),
        st.builds(CancelTimer, solutions, names),
        st.builds(CancelAll, solutions),
        st.builds(ListTimers, solutions),
        st.builds(MoveClock, st.sampled_from(MOVES)),
        st.builds(MoveClock, st.sampled_from(MOVES)),
    )


RULES = "SOL-TIMER-1 SOL-TIMER-2 SOL-TIMER-3 SOL-TIMER-4 SOL-TIMER-5"

timers = model_check(
    "timers/model",
    "timers of two solutions that are set, cancelled and fire, as a model has them",
    Model(tuple(RULES.split()), commands, TimerGame),
    needs={"clock"},
)
