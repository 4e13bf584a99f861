"""The events that a device's request causes, and their payloads (document 1, Events).

data_in      of the device-data service: one for each request that stored something
datapoint    one for each stored datapoint
provisioned  of the device-data service: credentials were issued or replaced
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby

from labkit.context import Context
from labkit.core.bounded import ITEM
from labkit.device_api.exchange import Exchange
from labkit.devices.devices import Devices
from labkit.devices.identities import resource_id
from labkit.devices.registry import DeviceRecord
from labkit.devices.state import Datapoint, numbered
from labkit.http.connection import Connection
from labkit.labtime.events import EventKind, Raised

Payload = dict[str, object]

DATAPOINT = EventKind("device", "datapoint", ("data",))
DATA_IN = EventKind("device2", "event", type="data_in")
PROVISIONED = EventKind("device2", "event", type="provisioned")
EVENTS = (DATAPOINT, DATA_IN, PROVISIONED)


def stored(
    exchange: Exchange,
    devices: Devices,
    device: DeviceRecord,
    points: Sequence[Datapoint],
    first: int,
    api: str,
    received: float,
    others: Sequence[Datapoint] = (),
) -> None:
    """Wake the polls that wait for these datapoints, then emit their events. Call it once they are stored.

    first: number of the first datapoint, as `State.store` returned it; received: lab time of the request in
    seconds; others: those that are not stored, which only data_in has.
    """
    product, identity = device.product, device.identity
    if devices.polls.waiting:
        devices.polls.wake(product, identity, numbered(points, first), api == "write")
    context, connection, micros = exchange.context, exchange.connection, int(received * 1_000_000)
    record, source = exchange.record or exchange.identify(identity), f"{product}/{identity}"
    if not connection.id:  # else a call would be for nothing
        connection.identify(context.identifiers, source)
    sequences = devices.sequences(product, identity, points)
    holds = ITEM * len(points)  # aliases are those of the settings
    for point in points:
        holds += len(point.value)
    for point in others:  # their aliases are the device's
        holds += ITEM + len(point.alias) + len(point.value)
    # The connection itself is no argument, since the journal keeps them.
    describe = partial(
        raised,
        product,
        connection.peer_ip,
        connection.id,
        identity,
        micros,
        points,
        sequences,
        api,
        holds,
        others,
    )
    if not context.events.emit_unheard(source, 1 + len(points), describe, holds, record.sequence):
        context.events.emit(source, describe(), cause=record.sequence, product=product)


def raised(
    product: str,
    ip: str,
    connection_id: str,
    identity: str,
    micros: int,
    points: Sequence[Datapoint],
    sequences: Sequence[int],
    api: str,
    holds: int,
    others: Sequence[Datapoint] = (),
) -> list[Raised]:
    """Return the events of a request that stored datapoints: one data_in, and one datapoint for each of them.

    micros: lab time of the request; sequences: the `seq` of each datapoint; holds: characters of all values; others:
    datapoints of data_in alone.
    """
    whole = partial(data_in, ip, connection_id, identity, micros, [*points, *others], api == "write")
    events: list[Raised] = [(DATA_IN, whole, holds)]
    for point, sequence in zip(points, sequences, strict=True):
        payload = partial(datapoint, product, ip, identity, micros, point, sequence, api)
        events.append((DATAPOINT, payload, ITEM + len(point.value)))
    return events


def provisioned(context: Context, product: str, connection: Connection, identity: str, cause: int) -> None:
    """Emit the event of issued or replaced credentials."""
    connection.identify(context.identifiers, f"{product}/{identity}")
    ip, id = connection.peer_ip, connection.id
    payload = partial(device_data, ip, id, "provisioned", identity, context.clock.micros())
    context.events.emit(f"{product}/{identity}", [(PROVISIONED, payload, None)], cause=cause, product=product)


def device_data(ip: str, connection_id: str, type: str, identity: str, micros: int) -> Payload:
    """Return the fields that all device-data events have; `timestamp` in microseconds."""
    return {
        "type": type,
        "identity": identity,
        "protocol": "onep",
        "ip": ip,
        "connection_id": connection_id,
        "timestamp": micros,
    }


def data_in(
    ip: str, connection_id: str, identity: str, micros: int, points: Sequence[Datapoint], live: bool
) -> Payload:
    """Return the payload of data_in.

    Its `payload` has an entry for each timestamp: {timestamp (microseconds), values {alias: value}}. A request that
    stored nothing has one entry without values, since public scripts read the first entry.
    """
    ordered = points if live else sorted(points, key=lambda point: point.timestamp)
    entries = [
        {
            "timestamp": micros if live else timestamp * 1_000_000,
            "values": {point.alias: point.value for point in group},
        }
        for timestamp, group in groupby(ordered, key=lambda point: point.timestamp)
    ]
    payload = entries or [{"timestamp": micros, "values": {}}]
    return {**device_data(ip, connection_id, "data_in", identity, micros), "payload": payload}


def datapoint(
    product: str,
    ip: str,
    identity: str,
    micros: int,
    point: Datapoint,
    sequence: int,
    api: str,
) -> Payload:
    """Return the payload of datapoint.

    `value` is [timestamp in seconds, value]; `seq` counts the datapoints of the alias.
    """
    return {
        "api": api,
        "alias": point.alias,
        "value": [point.timestamp, point.value],
        "device_sn": identity,
        "rid": resource_id(product, identity, point.alias),
        "seq": sequence,
        "vendor": product,
        "pid": product,
        "source_ip": ip,
        "timestamp": micros,
    }
