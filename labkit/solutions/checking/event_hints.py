"""Hints about handlers of events that nothing in the lab emits."""

from __future__ import annotations

from typing import NamedTuple

from labkit.context import Context
from labkit.core.errors import did_you_mean
from labkit.services.calls import Services
from labkit.services.operation import Caller
from labkit.solutions.events import ANY_PRODUCT, DEVICE, DEVICE_DATA
from labkit.solutions.folders.scripts import EVENT, EventScript

ANY = "*"


class EventHint(NamedTuple):
    """A sentence about an event that nothing emits. is_similar: whether it resembles an event that is emitted."""

    text: str
    is_similar: bool


def event_hint(
    context: Context, services: Services, solution: str, service: str, event: str
) -> EventHint | None:
    """Return a hint about an event that nothing emits to this solution; None where something may."""
    kinds: dict[str, set[str]] = {}
    for each in context.events.kinds():
        kinds.setdefault(each.service.lower(), set()).update({each.event, each.type} - {""})
    # Solutions choose freely between the older and the newer key of a device's event.
    of_devices = kinds.get(DEVICE, set()) | kinds.get(DEVICE_DATA, set())
    emitting = sorted(kinds)
    kinds.update(dict.fromkeys([DEVICE, DEVICE_DATA, ANY_PRODUCT, *context.products.names()], of_devices))
    # What a solution subscribed to, and other solutions, may emit events of any name; services declare theirs.
    subscribed = {name.lower() for name in services.operations(Caller(solution))}
    others = (
        subscribed - {each.name.lower() for each in services} | {*context.solutions.names()} - kinds.keys()
    )
    service = service.lower()
    if service in kinds:
        if ANY in kinds[service] or event in kinds[service]:
            return None
        similar = did_you_mean(event, sorted(kinds[service]))
        there = similar or f"; there are: {', '.join(sorted(kinds[service]))}"
        text = f"{service} has no event {event!r}, so that this handler does not run{there}"
        return EventHint(text, bool(similar))
    if service in others:
        return None
    similar = did_you_mean(service, sorted({*kinds, *others}))
    there = f"so that this handler does not run{similar}"
    if not similar:
        there = f"unless the solution subscribes to one of this name; there are: {', '.join(emitting)}"
    return EventHint(f"no service of this lab emits events of {service!r}, {there}", bool(similar))


def hint_of_script(
    context: Context, services: Services, solution: str, handler: EventScript
) -> EventHint | None:
    """Return the hint about a script's event, which also says where the name of its service comes from."""
    hint = event_hint(context, services, solution, handler.service, handler.event)
    header = EVENT.search(handler.script.source.partition("\n")[0])
    if hint is None or header is None or len(header["words"].split()) != 1:
        return hint
    text = f"{hint.text}; the one word of --#EVENT is the event, and the file's name the service"
    return EventHint(text, hint.is_similar)
