"""Events of a device by their types: one payload, and the types that are raised only where a solution wants them."""

from __future__ import annotations

from functools import partial
from typing import Literal, get_args

from labkit.context import Context
from labkit.labtime.events import Event, EventKind

Payload = dict[str, object]

# Nothing here raises the last three: identities do not expire, and devices neither publish nor upload.
EventType = Literal[
    "data_in",
    "provisioned",
    "connect",
    "disconnect",
    "deleted",
    "data_out",
    "expired",
    "publish",
    "content_in",
]
USUAL = ("data_in", "provisioned")  # that the handler of `event` gets unless `events.types` chooses
KINDS = {type: EventKind("device2", "event", type=type) for type in get_args(EventType)}


def device_data(
    domain: str, ip: str, connection_id: str, type: str, identity: str, micros: int, **more: object
) -> Payload:
    """Return the fields that all device-data events have; `timestamp` in microseconds.

    domain: host name of the product; more: further fields.
    """
    return {
        "type": type,
        "domain": domain,
        "identity": identity,
        "protocol": "onep",
        "ip": ip,
        "connection_id": connection_id,
        "timestamp": micros,
        **more,
    }


def is_wanted(context: Context, type: str, product: str, identity: str) -> bool:
    """Return whether a solution handles events of a type; else none is raised, so that the journal stays as it is."""
    return context.events.is_handled(Event(KINDS[type], f"{product}/{identity}", dict, 0, product))


def emit(
    context: Context,
    type: str,
    product: str,
    identity: str,
    *,
    ip: str = "",
    connection_id: str = "",
    cause: int | None = None,
    **more: object,
) -> None:
    """Emit an event that a solution wants. ip, connection_id: of the device's connection, empty without one."""
    domain, micros = context.products.get(product).domain, context.clock.micros()
    payload = partial(device_data, domain, ip, connection_id, type, identity, micros, **more)
    raised = [(KINDS[type], payload, None)]
    context.events.emit(f"{product}/{identity}", raised, cause=cause, product=product)
