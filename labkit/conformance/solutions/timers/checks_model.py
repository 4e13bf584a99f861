"""Model check of timers: settings, cancels and moves of the clock in two solutions, in random order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance.check import model_check

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


@model_check(
    "SOL-TIMER-1 SOL-TIMER-2 SOL-TIMER-3 SOL-TIMER-4 SOL-TIMER-5",
    "timers of two solutions that are set, cancelled and fire, as a model has them",
    needs={"clock"},
)
def model() -> type[Game]:
    """Return the game of timers."""
    from labkit.conformance.solutions.timers.timers import Timers

    return Timers
