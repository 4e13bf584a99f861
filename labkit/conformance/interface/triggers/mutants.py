"""Faults of events to all subscribers, and to one."""

from __future__ import annotations

from typing import Any

from labkit.conformance.faults import CALL, failed, given, gives
from labkit.conformance.mutant import mutant
from labkit.services.calls import Services
from labkit.services.interface.dispatch import Dispatch
from labkit.services.operation import Caller

ALL = "labkit.services.interface.dispatch:Dispatch.trigger_all"
ONE = "labkit.services.interface.dispatch:Dispatch.trigger_one"
POST = "labkit.services.interface.dispatch:Dispatch.post"
NAMES = "labkit.services.interface.dispatch:argument_names"
BIND = "labkit.solutions.registrations:Registrations.bound"
ROUTE = "labkit.services.interface.subscription:Subscription.handler_of"
READ = "labkit.services.interface.configuration:Definition.read"


@mutant("IFC-TRIG-1 IFC-TRIG-2", ALL)
def first_alone(original: Any) -> Any:
    """trigger reaches the first subscriber alone"""

    async def broken(self: Dispatch, cause: Any, subscriptions: Any, event: Any, data: Any) -> Any:
        return await original(self, cause, subscriptions[:1], event, data)

    return broken


@mutant("IFC-TRIG-1", ALL)
def data_as_text(original: Any) -> Any:
    """trigger brings its data as text"""

    async def broken(self: Dispatch, cause: Any, subscriptions: Any, event: Any, data: Any) -> Any:
        return await original(self, cause, subscriptions, event, str(data))

    return broken


@mutant("IFC-TRIG-1 IFC-TRIG-10", ROUTE)
def other_handler(original: Any) -> Any:
    """every event reaches the handler of quiet"""
    return lambda self, event: (self.script_key, "quiet")


def _entries(original: Any, change: Any) -> Any:
    """Change the entries that trigger gives."""

    def changed(operation: str, result: Any) -> Any:
        return [change(each) for each in result] if operation == "trigger" and not failed(result) else result

    return gives(original, "Interface", changed)


@mutant("IFC-TRIG-2 IFC-TRIG-3", CALL)
def solution_as_instance(original: Any) -> Any:
    """instance_id of an entry is the solution's id"""
    return _entries(original, lambda entry: {**entry, "instance_id": entry["solution_id"]})


@mutant("IFC-TRIG-2", CALL)
def no_status(original: Any) -> Any:
    """the entries of trigger have no status"""
    return _entries(original, lambda entry: {name: each for name, each in entry.items() if name != "status"})


@mutant("IFC-TRIG-2", CALL)
def no_result(original: Any) -> Any:
    """the entries of trigger have no result"""
    return _entries(original, lambda entry: {**entry, "result": None})


@mutant("IFC-TRIG-2", CALL)
def count_alone(original: Any) -> Any:
    """trigger tells how many subscribers there are"""
    return gives(
        original,
        "Interface",
        lambda operation, result: (
            len(result) if operation == "trigger" and isinstance(result, list) else result
        ),
    )


@mutant("IFC-TRIG-3", CALL)
def always_a_status(original: Any) -> Any:
    """the entries of an async trigger have a status"""
    return _entries(original, lambda entry: {"status": 202, **entry})


@mutant("IFC-TRIG-3 IFC-TRIG-7", POST)
def never_posted(original: Any) -> Any:
    """an async event is acknowledged and lost"""
    return lambda self, cause, subscription, event, data: {
        "instance_id": subscription.id,
        "solution_id": subscription.subscriber,
    }


def _mode(original: Any, wanted: dict[str, str]) -> Any:
    """Have triggers whose mode is not said use another."""
    return given(
        original,
        "Interface",
        lambda operation, parameters: (
            {"mode": wanted[operation], **parameters} if operation in wanted else parameters
        ),
    )


@mutant("IFC-TRIG-4 IFC-TRIG-5", CALL)
def trigger_waits(original: Any) -> Any:
    """trigger is sync where nothing is said"""
    return _mode(original, {"trigger": "sync"})


@mutant("IFC-TRIG-4 IFC-TRIG-5", CALL)
def one_does_not_wait(original: Any) -> Any:
    """triggerOne is async where nothing is said"""
    return _mode(original, {"triggerOne": "async"})


@mutant("IFC-TRIG-5", READ)
def mode_forgotten(original: Any) -> Any:
    """the mode of the configuration is forgotten"""

    def broken(cls: Any, /, plain: Any, **named: Any) -> Any:
        return original.__func__(cls, {key: each for key, each in plain.items() if key != "mode"}, **named)

    return classmethod(broken)


@mutant("IFC-TRIG-6", CALL)
def by_solution_alone(original: Any) -> Any:
    """triggerOne does not know the ids of subscriptions"""
    return given(
        original,
        "Interface",
        lambda operation, parameters: (
            {**parameters, "target": "nobody"} if "-" in str(parameters.get("target")) else parameters
        ),
    )


@mutant("IFC-TRIG-6", CALL)
def to_another(original: Any) -> Any:
    """triggerOne reaches hall, whomever it names"""
    return given(
        original,
        "Interface",
        lambda operation, parameters: (
            {**parameters, "target": "hall"} if operation == "triggerOne" else parameters
        ),
    )


@mutant("IFC-TRIG-7", ONE)
def one_gives_nothing(original: Any) -> Any:
    """triggerOne gives nothing"""

    async def broken(self: Dispatch, *given: Any) -> Any:
        await original(self, *given)

    return broken


@mutant("IFC-TRIG-7", CALL)
def one_acknowledges(original: Any) -> Any:
    """triggerOne gives true where it has nothing to give"""
    return gives(
        original,
        "Interface",
        lambda operation, result: True if operation == "triggerOne" and result is None else result,
    )


@mutant("IFC-TRIG-8", NAMES)
def no_title(original: Any) -> Any:
    """payloads are called event, whatever the schema says"""
    return lambda schema, *others: ("event", *(each for each in others if each != "event"))


@mutant("IFC-TRIG-8", BIND)
def no_default_title(original: Any) -> Any:
    """payloads without a title are called data"""
    return lambda self, registration, names: original(
        self, registration, ("data",) if names == ("event",) else names
    )


@mutant("IFC-TRIG-10", ROUTE)
def triggers_forgotten(original: Any) -> Any:
    """the triggers of subscribers lead nowhere"""
    return lambda self, event: (self.script_key, event)


@mutant("IFC-TRIG-10", ROUTE)
def same_service(original: Any) -> Any:
    """triggers cannot lead to another service"""
    return lambda self, event: (self.script_key, original(self, event)[1])


def _text(original: Any, operation: str) -> Any:
    """Give the errors of an operation another text."""
    return gives(
        original,
        "Interface",
        lambda called, result: (
            {**result, "error": "Not Found"} if called == operation and failed(result) else result
        ),
    )


@mutant("IFC-TRIG-11", CALL)
def service_unnamed(original: Any) -> Any:
    """the error of trigger does not say that there is no service"""
    return _text(original, "trigger")


@mutant("IFC-TRIG-11", CALL)
def nothing_to_trigger(original: Any) -> Any:
    """trigger of a solution that publishes nothing gives an empty list"""
    return gives(
        original,
        "Interface",
        lambda called, result: [] if called == "trigger" and failed(result) else result,
    )


@mutant("IFC-TRIG-12", CALL)
def target_unnamed(original: Any) -> Any:
    """the error of triggerOne does not say that there is no target"""
    return _text(original, "triggerOne")


@mutant("IFC-TRIG-12", CALL)
def nobody_is_fine(original: Any) -> Any:
    """triggerOne of nobody gives nil"""
    return gives(
        original,
        "Interface",
        lambda called, result: None if called == "triggerOne" and failed(result) else result,
    )


@mutant("IFC-TRIG-13", CALL)
def others_refused(original: Any) -> Any:
    """trigger and triggerOne refuse what they do not know"""
    known = {"event", "mode", "data", "target"}

    async def broken(self: Services, caller: Caller, service: str, name: str, parameters: Any = None) -> Any:
        if service == "Interface" and name.startswith("trigger") and set(parameters) - known:
            return {"type": "QueryError", "error": "unknown property", "status": 400}
        return await original(self, caller, service, name, parameters)

    return broken
