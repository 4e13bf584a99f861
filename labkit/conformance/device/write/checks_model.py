"""Model check of device values: write, read, hybrid, record and long polls of several devices in random order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance.check import model_check

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


@model_check(
    "DEV-ALIAS-1 DEV-ALIAS-5 DEV-ALIAS-6 DEV-READ-1 DEV-READ-2 DEV-READ-4 DEV-READ-5 DEV-READ-6 DEV-HYBRID-1 "
    "DEV-HYBRID-2 DEV-HYBRID-4 DEV-HYBRID-5 DEV-REC-1 DEV-REC-4 DEV-REC-6 DEV-REC-7 DEV-REC-12 DEV-REC-14 DEV-REC-16 "
    "DEV-POLL-1 DEV-POLL-2 DEV-POLL-3 DEV-POLL-5 DEV-POLL-6 DEV-POLL-7 DEV-POLL-11 DEV-POLL-14 DEV-POLL-19 DEV-POLL-21 "
    "DEV-POLL-22 DEV-POLL-23 DEV-POLL-24 DEV-POLL-25 DEV-POLL-27 DEV-POLL-28 DEV-POLL-29 DEV-POLL-30 DEV-POLL-32 "
    "DEV-AUTH-7 DEV-TLS-1 DEV-ALIAS-9 DEV-EVT-1 DEV-EVT-2 DEV-EVT-3 "
    "DEV-EVT-4 DEV-EVT-5 DEV-EVT-6 DEV-EVT-7",
    "values of devices that write, record, read and poll in any order, as a model has them",
)
def model() -> type[Game]:
    """Return the game of device values."""
    from labkit.conformance.device.write.values import Values

    return Values
