"""Faults of calls from solution to solution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.services.interface.dispatch import Dispatch
from labkit.solutions.solution import Solution

OPERATION = "labkit.services.interface.dispatch:Dispatch.operation"
PAYLOAD = "labkit.services.interface.published:payload"
INSTALL = "labkit.solutions.solution:Solution.install"


@mutant("IFC-CALL-2", OPERATION)
def first_operation(original: Any) -> Any:
    """every call reaches the handler of the publisher's first operation"""

    async def broken(
        self: Dispatch, caller: Any, subscription: Any, definition: Any, published: Any, given: Any
    ) -> Any:
        first = next(iter(definition.operations.values()))
        return await original(self, caller, subscription, definition, first, given)

    return broken


@mutant("IFC-CALL-2", OPERATION)
def first_publisher(original: Any) -> Any:
    """the calls for one publisher are handled by another"""

    async def broken(self: Dispatch, caller: Any, subscription: Any, *given: Any) -> Any:
        publisher = "lights" if subscription.publisher == "meters" else subscription.publisher
        return await original(self, caller, replace(subscription, publisher=publisher), *given)

    return broken


@mutant("IFC-CALL-5 IFC-TRIG-9", INSTALL, from_start=True)
def nothing_installed(original: Any) -> Any:
    """the scripts of the configuration are forgotten"""
    return lambda self, service, scripts, names: original(self, service, {}, {})


@mutant("IFC-CALL-5 IFC-TRIG-9", INSTALL, from_start=True)
def installed_over(original: Any) -> Any:
    """the scripts of the configuration replace the handlers that are there"""

    def broken(self: Solution, service: str, scripts: Any, names: Any) -> None:
        original(self, service, scripts, names)
        for event, script in scripts.items():
            self.on(service, event, lua=script)

    return broken


@mutant("IFC-CALL-6", PAYLOAD)
def nothing_configured(original: Any) -> Any:
    """what a subscriber configured does not reach the handler"""
    return lambda published, arguments, configured, restricted=(): original(
        published, arguments, {}, restricted
    )


@mutant("IFC-CALL-6", PAYLOAD)
def configured_over(original: Any) -> Any:
    """what a subscriber configured replaces what it gives"""

    def broken(published: Any, arguments: Any, configured: Any, restricted: Any = ()) -> Any:
        data = original(published, arguments, configured, restricted)
        return data | {name: configured[name] for name in data if name in configured}

    return broken
