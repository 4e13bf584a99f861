"""Keys of event handlers: the keys under which an event's handler is looked up, and names of the event's argument.

A handler is registered under a service and an event: `--#EVENT device datapoint`,
`services/device_datapoint.lua`, `solution.on("device", "datapoint", …)`. Events of devices have an older and
a newer form, and public solutions use several keys for them. The first key in a row that has a handler is used:

    datapoint (one for each value stored)
        `<product id> datapoint`, `{product.id} datapoint`, `device datapoint`, `device2 datapoint`
    data_in, provisioned (one for each request), and other types of a device's events
        `<product id> event`, `{product.id} event`, `device2 event`, `device event`; beside it that of the type:
        `<product id> connect`, `{product.id} connect`, `device2 connect`, `device connect`
    any other
        `<service> <event>` only

`{product.id}` matches every product of the solution. Services are compared without letter case, events with it.
An event without a handler is delivered to `config fallback`, if that has a handler.
"""

from __future__ import annotations

from collections.abc import Iterator

from labkit.labtime.events import EventKind, Events

Key = tuple[str, str]

DEVICE, DEVICE_DATA = "device", "device2"
ANY_PRODUCT = "{product.id}"
FALLBACK: Key = ("config", "fallback")
WEBSOCKETS: Key = ("websocket", "websocket_info")  # of websockets at paths without a route of their own

# Events that solutions may handle, but no service of labkit emits: events of the web server, and in public folders.
# `*` is every event of a service. If public scripts use two names for an argument, both are defined.
EVENTS = (
    EventKind("webservice", "*", ("request",)),
    EventKind("websocket", "*", ("websocketInfo", "websocket_info", "response")),
    EventKind(*FALLBACK),
)


def key(service: str, event: str) -> Key:
    """Return the key under which the handler of an event is stored."""
    return service.lower(), event


def candidates(service: str, event: str, product: str | None) -> Iterator[Key]:
    """Return the keys under which the handler of an event may be stored, in order of preference."""
    if service not in (DEVICE, DEVICE_DATA):
        yield key(service, event)
        return
    if product is not None:
        yield key(product, event)
    yield key(ANY_PRODUCT, event)
    yield from (
        ((DEVICE, event), (DEVICE_DATA, event))
        if event == "datapoint"
        else (
            (DEVICE_DATA, event),
            (DEVICE, event),
        )
    )


def arguments(known: Events, service: str, event: str) -> tuple[str, ...]:
    """Return the names of the argument of an event's handler."""
    if event == "datapoint":
        return ("data",)
    kind = known.kind(service, event)
    return ("event",) if kind is None else kind.arguments
