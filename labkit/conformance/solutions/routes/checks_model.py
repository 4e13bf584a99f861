"""Model check of routes, requests and responses: random paths, queries, bodies and results of scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance.check import model_check

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


@model_check(
    "SOL-ROUTE-2 SOL-ROUTE-3 SOL-ROUTE-4 SOL-REQ-1 SOL-REQ-2 SOL-REQ-3 SOL-REQ-4 SOL-REQ-5 SOL-RESP-1 "
    "SOL-RESP-2 SOL-RESP-3 SOL-RESP-4 SOL-RESP-5 SOL-RESP-6 SOL-RESP-8",
    "requests to overlapping routes, and the answers of scripts, as a model has them",
)
def model() -> type[Game]:
    """Return the game of routes."""
    from labkit.conformance.solutions.routes.requests import Requests

    return Requests
