"""Model check of subscriptions, quotas and events: two publishers and three subscribers, in random order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance.check import model_check

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


@model_check(
    "IFC-LIFE-1 IFC-LIFE-3 IFC-LIFE-4 IFC-LIFE-8 IFC-LIFE-9 IFC-LIFE-11 IFC-CALL-4 IFC-CALL-6 IFC-CALL-9 IFC-CALL-11 "
    "IFC-CALL-13 IFC-QUO-2 IFC-QUO-3 IFC-QUO-5 IFC-SUB-7 IFC-SUB-8 IFC-SUB-9 IFC-SUB-10 IFC-SUB-11 IFC-SUB-12 "
    "IFC-SUB-14 IFC-SUB-15 IFC-TRIG-1 IFC-TRIG-2 IFC-TRIG-3 IFC-TRIG-7 IFC-TRIG-12 IFC-TRIG-14 IFC-TRIG-15",
    "subscriptions, quotas and events of two publishers in any order, as a model has them",
    needs={"settings", "clock", "journal"},
)
def model() -> type[Game]:
    """Return the game of subscriptions."""
    from labkit.conformance.interface.subscribers.subscriptions import Subscriptions

    return Subscriptions
