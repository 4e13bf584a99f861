"""Faults of events to all subscribers, and to one, that no row can say."""

from __future__ import annotations

from typing import Any

from labkit.conformance.interface.definition.mutants import READ, read, without
from labkit.conformance.mutant import mutant, patch

ALL = "labkit.services.interface.dispatch:Dispatch.trigger_all"
ROUTE = "labkit.services.interface.subscription:Subscription.handler_of"


@mutant("IFC-TRIG-1 IFC-TRIG-2", ALL)
def first_alone(original: Any) -> Any:
    """trigger reaches the first subscriber alone"""
    return lambda self, cause, subscriptions, *given: original(self, cause, subscriptions[:1], *given)


@mutant("IFC-TRIG-1", ALL)
def data_as_text(original: Any) -> Any:
    """trigger brings its data as text"""
    return lambda *given: original(*given[:-1], str(given[-1]))


@mutant("IFC-TRIG-1 IFC-TRIG-10", ROUTE)
def other_handler(original: Any) -> Any:
    """every event reaches the handler of quiet"""
    return lambda self, event: (self.script_key, "quiet")


@mutant("IFC-TRIG-3 IFC-TRIG-7", "labkit.services.interface.dispatch:Dispatch.post")
def never_posted(original: Any) -> Any:
    """an async event is acknowledged and lost"""
    return lambda self, cause, to, *_: {"instance_id": to.id, "solution_id": to.subscriber}


mode_forgotten = patch(
    "IFC-TRIG-5", READ, "the mode of the configuration is forgotten", read(without("mode"))
)


@mutant("IFC-TRIG-8", "labkit.services.interface.dispatch:argument_names")
def no_title(original: Any) -> Any:
    """payloads are called event, whatever the schema says"""
    return lambda schema, *others: ("event", *(each for each in others if each != "event"))


@mutant("IFC-TRIG-8", "labkit.solutions.registrations:Registrations.bound")
def no_default_title(original: Any) -> Any:
    """payloads without a title are called data"""
    return lambda self, to, names: original(self, to, ("data",) if names == ("event",) else names)


@mutant("IFC-TRIG-10", ROUTE)
def triggers_forgotten(original: Any) -> Any:
    """the triggers of subscribers lead nowhere"""
    return lambda self, event: (self.script_key, event)


@mutant("IFC-TRIG-10", ROUTE)
def same_service(original: Any) -> Any:
    """triggers cannot lead to another service"""
    return lambda self, event: (self.script_key, original(self, event)[1])
