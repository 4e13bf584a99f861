"""Faults of calls from solution to solution that no row can express."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.breaking import change_arguments
from labkit.conformance.mutant import patch

OPERATION = "labkit.services.interface.dispatch:Dispatch.operation"
PAYLOAD = "labkit.services.interface.published:payload"
INSTALL = "labkit.solutions.solution:PlatformSolution.install"

first_publisher = patch("IFC-CALL-2", OPERATION, "the calls for one publisher are handled by another")(
    change_arguments(subscription=lambda subscription: replace(subscription, publisher="lights"))
)
nothing_installed = patch(
    "IFC-CALL-5 IFC-TRIG-9", INSTALL, "the scripts of the configuration are not installed", from_start=True
)(change_arguments(scripts={}, names={}))
nothing_configured = patch(
    "IFC-CALL-6", PAYLOAD, "a subscriber's configured parameters do not reach the handler"
)(change_arguments(configured={}))


@patch("IFC-CALL-2", OPERATION)
def first_operation(
    original: Any, self: Any, caller: Any, subscription: Any, definition: Any, *of: Any
) -> Any:
    """every call reaches the handler of the publisher's first operation"""
    first = next(iter(definition.operations.values()))
    return original(self, caller, subscription, definition, first, *of[1:])


@patch("IFC-CALL-5 IFC-TRIG-9", INSTALL, from_start=True)
def installed_over(original: Any, self: Any, service: str, scripts: Any, names: Any) -> None:
    """installing a configuration overwrites the solution's own event handlers"""
    original(self, service, scripts, names)
    for event, script in scripts.items():
        self.on(service, event, lua=script, replace=True)


@patch("IFC-CALL-15", PAYLOAD)
def restricted_by_key_alone(
    original: Any, published: Any, arguments: Any, configured: Any, restricted: Any = frozenset()
) -> Any:
    """x-exosite-restricted in a property of an operation has no effect"""
    return original(published, arguments, configured, restricted - {"wing", "tone"})


@patch("IFC-CALL-15", PAYLOAD)
def any_floor(
    original: Any, published: Any, arguments: Any, configured: Any, restricted: Any = frozenset()
) -> Any:
    """x-exosite-restricted in an entry of the parameters has no effect"""
    return original(published, arguments, configured, restricted - {"floor"})


@patch("IFC-CALL-6", PAYLOAD)
def configured_over(original: Any, published: Any, arguments: Any, configured: Any, *of: Any) -> Any:
    """a subscriber's configured parameters replace the arguments of its calls"""
    return original(published, {**arguments, **configured}, configured, *of)


@patch("IFC-CALL-7", OPERATION)
def called_by_publisher(original: Any, self: Any, caller: Any, subscription: Any, *of: Any) -> Any:
    """a handler sees the publisher as its caller"""
    return original(self, caller, replace(subscription, subscriber=subscription.publisher), *of)


services_of_another = patch(
    "IFC-CALL-11",
    "labkit.services.interface.service:Interface.services",
    "each solution has the services that garden subscribes to",
)(lambda original, self, solution: original(self, "garden"))
