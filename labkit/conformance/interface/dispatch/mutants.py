"""Faults of calls from solution to solution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.faults import CALL, failed, gives
from labkit.conformance.mutant import mutant
from labkit.core.errors import ServiceError
from labkit.services.interface.dispatch import Dispatch, HandlerError
from labkit.solutions.solution import Solution

OPERATION = "labkit.services.interface.dispatch:Dispatch.operation"
PAYLOAD = "labkit.services.interface.published:payload"
INSTALL = "labkit.solutions.solution:Solution.install"


@mutant("IFC-CALL-1", OPERATION)
def data_lost(original: Any) -> Any:
    """an operation's handler gets no data"""

    async def broken(
        self: Dispatch, caller: Any, subscription: Any, definition: Any, published: Any, given: Any
    ) -> Any:
        needed = {"level": 1, "left": 0}  # what the schemas and scripts of some cannot do without
        return await original(self, caller, subscription, definition, published, needed)

    return broken


@mutant("IFC-CALL-1", OPERATION)
def result_lost(original: Any) -> Any:
    """an operation gives nothing"""

    async def broken(self: Dispatch, *given: Any) -> Any:
        await original(self, *given)

    return broken


@mutant("IFC-CALL-1", OPERATION)
def wrapped(original: Any) -> Any:
    """the result of an operation stands in a table of its own"""

    async def broken(self: Dispatch, *given: Any) -> Any:
        return {"result": await original(self, *given)}

    return broken


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


def _with_error(original: Any, change: Any) -> Any:
    """Change the error that a handler returned: change(error)."""

    async def broken(self: Dispatch, *given: Any) -> Any:
        try:
            return await original(self, *given)
        except HandlerError as error:
            raise change(error.as_object()) from None

    return broken


@mutant("IFC-CALL-3", OPERATION)
def status_of_its_own(original: Any) -> Any:
    """whatever status a handler's error has, it is 400"""
    return _with_error(original, lambda error: HandlerError(400, error["error"], error["type"]))


@mutant("IFC-CALL-3", OPERATION)
def type_of_its_own(original: Any) -> Any:
    """the type of a handler's error follows from its status"""
    return _with_error(original, lambda error: ServiceError(error["status"], error["error"]))


@mutant("IFC-CALL-3", OPERATION)
def text_of_its_own(original: Any) -> Any:
    """the text of a handler's error is another"""
    return _with_error(original, lambda error: HandlerError(error["status"], "failed", error["type"]))


def _with_failure(original: Any, change: Any) -> Any:
    """Change the error objects of Interface."""
    return gives(
        original, "Interface", lambda operation, result: change(result) if failed(result) else result
    )


@mutant("IFC-CALL-4", CALL)
def errors_without_status(original: Any) -> Any:
    """the errors of Interface have no status"""
    return _with_failure(original, lambda error: {"type": error["type"], "error": error["error"]})


@mutant("IFC-CALL-4", CALL)
def errors_as_text(original: Any) -> Any:
    """the errors of Interface are texts"""
    return _with_failure(original, lambda error: error["error"])


@mutant("IFC-CALL-4", CALL)
def status_as_text(original: Any) -> Any:
    """the status of an error of Interface is a text"""
    return _with_failure(original, lambda error: {**error, "status": str(error["status"])})


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
