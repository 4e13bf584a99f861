"""Model check of remote procedure calls: datapoints and tags of devices, with namesakes in two products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance.check import model_check

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


@model_check(
    "SOL-RPC-1 SOL-RPC-3 SOL-RPC-5 SOL-RPC-6 SOL-RPC-7 SOL-DEV-12",
    "recorded values and tags of devices with namesakes, for two tenants, as a model has them",
)
def model() -> type[Game]:
    """Return the game of remote procedure calls."""
    from labkit.conformance.solutions.rpc.procedures import Procedures

    return Procedures
