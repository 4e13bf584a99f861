"""Faults of events to all subscribers, and to one, that no row can express."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import change_arguments
from labkit.conformance.interface.definition.mutants import reads, without
from labkit.conformance.mutant import patch

ALL = "labkit.services.interface.dispatch:Dispatch.trigger_all"
ROUTE = "labkit.services.interface.subscription:InterfaceSubscription.handler_of"

first_alone = patch("IFC-TRIG-1 IFC-TRIG-2", ALL, "trigger reaches the first subscriber alone")(
    change_arguments(subscriptions=lambda subscriptions: subscriptions[:1])
)
other_handler = patch("IFC-TRIG-1 IFC-TRIG-10", ROUTE, "every event reaches the handler of quiet")(
    lambda original, self, event: (self.script_key, "quiet")
)
mode_forgotten = reads("IFC-TRIG-5", "the mode of the configuration is ignored", without("mode"))
no_default_title = patch(
    "IFC-TRIG-8",
    "labkit.solutions.registrations:Registrations.bound",
    "payloads without a title are named data",
)(change_arguments(names=lambda names: ("data",) if names == ("event",) else names))
triggers_forgotten = patch("IFC-TRIG-10", ROUTE, "the triggers of subscribers are ignored")(
    lambda original, self, event: (self.script_key, event)
)
same_service = patch("IFC-TRIG-10", ROUTE, "triggers cannot route to another service")(
    lambda original, self, event: (self.script_key, original(self, event)[1])
)


@patch("IFC-TRIG-8", "labkit.services.interface.dispatch:argument_names")
def no_title(original: Any, schema: Any, *others: str) -> Any:
    """payloads are named event, whatever the schema's title"""
    return ("event", *(each for each in others if each != "event"))


@patch("IFC-TRIG-17 IFC-SUB-15", "labkit.services.interface.service:Interface.active")
def of_all_publishers(original: Any, self: Any, publisher: str) -> Any:
    """a publisher has the subscribers of others, too"""
    found = [each for name in ("lights", "meters", publisher) for each in original(self, name)]
    return list({each.subscriber: each for each in found}.values())
