"""Faults of events to all subscribers, and to one."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import mutant
from labkit.services.interface.dispatch import Dispatch

ALL = "labkit.services.interface.dispatch:Dispatch.trigger_all"
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


@mutant("IFC-TRIG-3 IFC-TRIG-7", POST)
def never_posted(original: Any) -> Any:
    """an async event is acknowledged and lost"""
    return lambda self, cause, subscription, event, data: {
        "instance_id": subscription.id,
        "solution_id": subscription.subscriber,
    }


@mutant("IFC-TRIG-5", READ)
def mode_forgotten(original: Any) -> Any:
    """the mode of the configuration is forgotten"""

    def broken(cls: Any, /, plain: Any, **named: Any) -> Any:
        return original.__func__(cls, {key: each for key, each in plain.items() if key != "mode"}, **named)

    return classmethod(broken)


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
