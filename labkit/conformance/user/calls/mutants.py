"""Faults in how the User service is called, whichever of its groups an operation belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from labkit.conformance.faults import CALL, failed, given, gives
from labkit.conformance.mutant import mutant
from labkit.core.errors import ServiceError
from labkit.core.events import EventKind, Events
from labkit.services.calls import Services
from labkit.services.operation import Caller, Operation
from labkit.services.user.group import ACCOUNT

ARGUMENTS = "labkit.services.operation:Operation.arguments"
ERROR = "labkit.services.user.errors:error_object"
FIND = "labkit.services.calls:find_operation"


@mutant("USR-CALL-1", CALL)
def parameters_lost(original: Any) -> Any:
    """no parameter arrives"""
    return given(original, "User", lambda operation, parameters: {})


@mutant("USR-CALL-1", CALL)
def no_results(original: Any) -> Any:
    """calls give nothing"""
    return gives(original, "User", lambda operation, result: None)


@mutant("USR-CALL-1", CALL)
def wrapped(original: Any) -> Any:
    """a result stands in a table of its own"""
    return gives(original, "User", lambda operation, result: {"value": result})


@mutant("USR-CALL-2", FIND)
def no_such_operation(original: Any) -> Any:
    """one operation of a group is not there"""

    def broken(services: Any, caller: Caller, service: str, operation: str) -> Any:
        return original(services, caller, service, "" if operation == "listRoleParamUsers" else operation)

    return broken


@mutant("USR-CALL-3", "labkit.solutions.routes:Routes.match")
def operations_have_paths(original: Any) -> Any:
    """operations are reached by paths of the solution's domain"""
    return lambda self, method, path: original(
        self, method, f"/call{path}" if path.startswith("/User/") else path
    )


@mutant("USR-CALL-4", CALL)
def raises(original: Any) -> Any:
    """a call that fails raises an error in the script"""

    def check(operation: str, result: Any) -> Any:
        if failed(result):
            raise ValueError(result["error"])
        return result

    return gives(original, "User", check)


@mutant("USR-CALL-4 USR-CALL-7", ERROR)
def status_as_text(original: Any) -> Any:
    """the status of an error is a text"""
    return lambda error: {**original(error), "status": str(error.status)}


@mutant("USR-CALL-4 USR-CALL-7", ERROR)
def no_type(original: Any) -> Any:
    """an error has no type"""
    return lambda error: {name: value for name, value in original(error).items() if name != "type"}


@mutant("USR-CALL-7 USR-GUIDE-2", ERROR)
def inner_fault(original: Any) -> Any:
    """every error blames the server"""
    return lambda error: {**original(error), "status": 500}


@mutant("USR-CALL-5 USR-ROLE-14 USR-SOC-4 USR-SOC-5 USR-OAUTH-6", CALL)
def empty_for_nil(original: Any) -> Any:
    """an operation that has nothing to return gives an empty table"""
    return gives(original, "User", lambda operation, result: {} if result is None else result)


@mutant("USR-USER-9 USR-ASSIGN-17", CALL)
def true_for_ok(original: Any) -> Any:
    """an operation that says 'OK' gives true"""
    return gives(original, "User", lambda operation, result: True if result == "OK" else result)


@mutant("USR-CALL-6", ARGUMENTS)
def token_required(original: Any) -> Any:
    """every operation asks for a token"""

    def broken(self: Operation, parameters: Mapping[str, object]) -> Any:
        if self.service == "User" and "token" not in parameters:
            raise ServiceError(401, "no token")
        return original(self, parameters)

    return broken


@mutant("USR-CALL-7", ERROR)
def plain_text(original: Any) -> Any:
    """the error is plain text"""
    return lambda error: {**original(error), "error": error.message}


@mutant("USR-CALL-8", ARGUMENTS)
def unknown_refused(original: Any) -> Any:
    """a parameter that no operation knows is refused"""

    def broken(self: Operation, parameters: Mapping[str, object]) -> Any:
        if unknown := parameters.keys() - self.attributes.keys():
            raise ServiceError(400, f"unknown parameter {min(unknown)}")
        return original(self, parameters)

    return broken


@mutant("USR-CALL-9 USR-ROLE-18", "labkit.services.user.errors:unknown")
def unknown_is_wrong(original: Any) -> Any:
    """what is not there is 400"""
    return lambda what, name: ServiceError(400, f"{what} {name} does not exist.")


@mutant("USR-CALL-11", CALL)
def empty_lists_lost(original: Any) -> Any:
    """an empty list becomes an object"""

    def hollow(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: hollow(each) for name, each in value.items()}
        return {} if value == [] else value

    return gives(original, "User", lambda operation, result: hollow(result))


@mutant("USR-CALL-12", CALL)
def one_people(original: Any) -> Any:
    """all solutions have the same people"""

    async def broken(
        self: Services, caller: Caller, service: str, operation: str, parameters: Any = None
    ) -> Any:
        shared = replace(caller, solution="probe") if service == "User" else caller
        return await original(self, shared, service, operation, parameters)

    return broken


@mutant("USR-CALL-13", "labkit.core.events:Events.emit")
def no_event(original: Any) -> Any:
    """no event tells of users"""
    return lambda self, kind, *event, **concerns: (
        None if kind is ACCOUNT else original(self, kind, *event, **concerns)
    )


@mutant("USR-CALL-13", "labkit.core.events:Events.emit")
def always_created(original: Any) -> Any:
    """every event says that a user was created"""

    def broken(self: Events, kind: EventKind, source: str, payload: Any, **concerns: Any) -> None:
        changed = (lambda: {**payload(), "type": "CREATE"}) if kind is ACCOUNT else payload
        original(self, kind, source, changed, **concerns)

    return broken


@mutant("USR-OAUTH-39 USR-SOC-23 USR-JWT-17", "labkit.services.operation:Operation.shown")
def secrets_shown(original: Any) -> Any:
    """the journal has the parameters as they are"""
    return lambda self, parameters, **_: dict(parameters)
