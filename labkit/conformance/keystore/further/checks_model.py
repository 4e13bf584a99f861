"""Model check of commands on several keys, for two tenants with keys of the same names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance.check import model_check

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


@model_check(
    "KEY-FURTHER-1 KEY-FURTHER-2 KEY-FURTHER-3",
    "commands on several keys of two tenants, with the same names, as a model has them",
)
def model() -> type[Game]:
    """Return the game of commands on several keys."""
    from labkit.conformance.keystore.further.tenants import TwoTenants

    return TwoTenants
