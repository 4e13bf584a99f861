"""Model check of the Keystore: commands on a few keys of two solutions, in random order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance.check import model_check

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


@model_check(
    "KEY-CMD-1 KEY-CMD-2 KEY-CMD-3 KEY-CMD-5 KEY-GET-1 KEY-GET-2 KEY-SET-1 KEY-SET-3 KEY-SET-4 KEY-DEL-1 KEY-DEL-2 "
    "KEY-INCR-1 KEY-INCR-2 KEY-INCR-3 KEY-EXP-1 KEY-EXP-2 KEY-EXP-3 KEY-LIST-1 KEY-LIST-2 KEY-LIST-3 KEY-MORE-1 "
    "KEY-MORE-2 KEY-MORE-3 KEY-CALL-4",
    "keys of two solutions under any commands in any order, as a model of Redis has them",
)
def model() -> type[Game]:
    """Return the game of the Keystore."""
    from labkit.conformance.keystore.operations.store import Store

    return Store
