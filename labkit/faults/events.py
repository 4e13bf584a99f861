"""Faults of events, applied to the delivery to each handler."""

from __future__ import annotations

from typing import Any

from labkit.faults.fault import ActiveFault
from labkit.faults.fields import plain_copy
from labkit.faults.lanes import Arrival, Lanes
from labkit.faults.tools import FaultTools
from labkit.labtime.events import Event, Events, Handler


class EventFaults:
    """The active faults of events, oldest first."""

    def __init__(
        self, faults: tuple[ActiveFault, ...], tools: FaultTools, events: Events, lanes: Lanes
    ) -> None:
        self._faults = faults
        self._tools = tools
        self._events = events
        self._lanes = lanes

    def deliver(self, event: Event, solution: str, handler: Handler) -> None:
        """Queue an event for a handler as the faults change, delay, double or drop it; or cut the power instead."""
        payload: Any = event.payload()
        times = [0.0]  # when it arrives, in seconds from now; each once
        delay = 0.0
        for fault in self._faults:
            changed, hit = self._hit(fault, event, solution, payload)
            if not hit:
                continue
            settings, payload = fault.settings, changed
            if settings.restart:
                self._tools.cut_power(settings.down or 0.0)
            if settings.lost or settings.restart:
                return
            if settings.doubled:
                times.append(times[-1] + (settings.late or 0.0))
            elif settings.late is not None:
                times = [each + settings.late for each in times]
            delay += fault.draw_delay(event.source)
        for number, seconds in enumerate(times):
            given = plain_copy(payload) if number else payload
            self._lanes.add(Arrival(event, event.source, solution, handler, given, delay), seconds)

    def _hit(self, fault: ActiveFault, event: Event, solution: str, payload: Any) -> tuple[Any, bool]:
        """Return the payload as a fault changes it, and whether the fault hits."""
        if not _concerns(fault, event, solution) or not fault.if_given.are_met_by(payload):
            return payload, False
        changed, found = fault.changes.apply(payload) if fault.changes else (payload, True)
        waits = fault.settings.late is not None or fault.settings.delay is not None
        if not found or (waits and self._lanes.is_full):
            return payload, False
        return changed, self._tools.hits(fault, event.source, event.cause)


def _concerns(fault: ActiveFault, event: Event, solution: str) -> bool:
    kind = event.kind
    if not fault.is_at(kind.service.lower(), kind.event.lower(), kind.type.lower()):
        return False
    product, slash, identity = event.source.partition("/")
    owned = bool(slash) and product == event.product
    return fault.is_for(product=event.product, identity=identity if owned else None, solution=solution)
