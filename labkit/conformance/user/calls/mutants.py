"""Faults in how the User service is called that no row can say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.breaking import CALL
from labkit.conformance.mutant import mutant


@mutant("USR-CALL-12", CALL)
def one_people(original: Any) -> Any:
    """all solutions have the same people"""
    return lambda self, caller, service, *call: original(
        self, replace(caller, solution="probe") if service == "User" else caller, service, *call
    )


@mutant("USR-OAUTH-39 USR-SOC-23 USR-JWT-17", "labkit.services.operation:Operation.shown")
def secrets_shown(original: Any) -> Any:
    """the journal has the parameters as they are"""
    return lambda self, parameters, **_: dict(parameters)
