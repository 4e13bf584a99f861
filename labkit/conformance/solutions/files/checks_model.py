"""Model check of static files and CORS: random paths, methods and origins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance.check import model_check

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


@model_check(
    "SOL-ASSET-1 SOL-ASSET-2 SOL-ASSET-3 SOL-ASSET-4 SOL-CORS-1 SOL-CORS-2 SOL-CORS-3 SOL-CORS-4 SOL-ROUTE-3 "
    "SOL-ROUTE-4",
    "static files, their methods, and what pages of other origins may do, as a model has them",
)
def model() -> type[Game]:
    """Return the game of static files and CORS."""
    from labkit.conformance.solutions.files.browsing import Browsing

    return Browsing
