"""Faults of calls from solution to solution that no row can say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.breaking import afterwards
from labkit.conformance.mutant import mutant

OPERATION = "labkit.services.interface.dispatch:Dispatch.operation"
PAYLOAD = "labkit.services.interface.published:payload"
INSTALL = "labkit.solutions.solution:Solution.install"


@mutant("IFC-CALL-2", OPERATION)
def first_operation(original: Any) -> Any:
    """every call reaches the handler of the publisher's first operation"""
    return lambda self, caller, subscription, definition, published, given: original(
        self, caller, subscription, definition, next(iter(definition.operations.values())), given
    )


@mutant("IFC-CALL-2", OPERATION)
def first_publisher(original: Any) -> Any:
    """the calls for one publisher are handled by another"""
    return lambda self, caller, subscription, *given: original(
        self, caller, replace(subscription, publisher="lights"), *given
    )


@mutant("IFC-CALL-5 IFC-TRIG-9", INSTALL, from_start=True)
def nothing_installed(original: Any) -> Any:
    """the scripts of the configuration are forgotten"""
    return lambda self, service, scripts, names: original(self, service, {}, {})


@mutant("IFC-CALL-5 IFC-TRIG-9", INSTALL, from_start=True)
def installed_over(original: Any) -> Any:
    """the scripts of the configuration replace the handlers that are there"""
    return afterwards(
        original,
        lambda _, solution, service, scripts, names: [
            solution.on(service, event, lua=script) for event, script in scripts.items()
        ],
    )


@mutant("IFC-CALL-6", PAYLOAD)
def nothing_configured(original: Any) -> Any:
    """what a subscriber configured does not reach the handler"""
    return lambda published, arguments, configured, *more: original(published, arguments, {}, *more)


@mutant("IFC-CALL-6", PAYLOAD)
def configured_over(original: Any) -> Any:
    """what a subscriber configured replaces what it gives"""
    return lambda published, arguments, configured, *more: original(
        published, {**arguments, **configured}, configured, *more
    )
