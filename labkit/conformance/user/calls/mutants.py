"""Faults in how the User service is called that no row can say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.breaking import CALL
from labkit.conformance.mutant import instead, patch

secrets_shown = patch(
    "USR-OAUTH-39 USR-SOC-23 USR-JWT-17",
    "labkit.services.operation:Operation.shown",
    "the journal has the parameters as they are",
    lambda original, self, parameters, **_: dict(parameters),
)


@instead("USR-CALL-12", CALL)
def one_people(original: Any, self: Any, caller: Any, service: str, *call: Any) -> Any:
    """all solutions have the same people"""
    caller = replace(caller, solution="probe") if service == "User" else caller
    return original(self, caller, service, *call)
