"""Model check of websockets: messages, pushes and ends in two solutions, in random order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance.check import model_check

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


@model_check(
    "SOL-WS-2 SOL-WS-3 SOL-WS-4 SOL-WS-5",
    "websockets of two solutions that are opened, used and ended, as a model has them",
)
def model() -> type[Game]:
    """Return the game of websockets."""
    from labkit.conformance.solutions.websockets.websockets import Websockets

    return Websockets
