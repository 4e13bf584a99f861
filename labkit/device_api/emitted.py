"""The events that a device's request causes, and their payloads (document 1, Events).

data_in      of the device-data service: one for each request that stored something
datapoint    one for each stored datapoint
provisioned  of the device-data service: credentials were issued or replaced
connect, disconnect  of the device-data service, where a solution wants them: a device's first request of a connection,
                     and the end of that connection
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby

from labkit.context import Context
from labkit.core.bounded import ITEM
from labkit.device_api.exchange import Exchange
from labkit.devices.device_events import KINDS, Payload, device_data, emit, is_wanted
from labkit.devices.devices import Devices
from labkit.devices.identities import resource_id
from labkit.devices.registry import DeviceRecord
from labkit.devices.state import Datapoint, numbered
from labkit.http.connection import Connection
from labkit.labtime.events import EventKind, Raised

DATAPOINT = EventKind("device", "datapoint", ("data",))
DATA_IN, PROVISIONED = KINDS["data_in"], KINDS["provisioned"]
EVENTS = (DATAPOINT, *KINDS.values())
MOST_DEVICES = 100  # of one connection that are told apart


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
        exchange.product.domain,
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
    domain: str,
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

    domain: host name of the product; micros: lab time of the request; sequences: the `seq` of each datapoint; holds:
    characters of all values; others: datapoints of data_in alone.
    """
    whole = partial(data_in, domain, ip, connection_id, identity, micros, [*points, *others], api == "write")
    events: list[Raised] = [(DATA_IN, whole, holds)]
    for point, sequence in zip(points, sequences, strict=True):
        payload = partial(datapoint, product, ip, identity, micros, point, sequence, api)
        events.append((DATAPOINT, payload, ITEM + len(point.value)))
    return events


def provisioned(context: Context, product: str, connection: Connection, identity: str, cause: int) -> None:
    """Emit the event of issued or replaced credentials."""
    _emit(context, "provisioned", connection, product, identity, cause)


async def connected(exchange: Exchange, identity: str) -> None:
    """Note that a device uses the request's connection, and emit `connect` and, at its end, `disconnect`."""
    context, connection, product = exchange.context, exchange.connection, exchange.product.id
    if len(connection.devices) >= MOST_DEVICES:
        return
    wanted = is_wanted(context, "connect", product, identity)
    if wanted:
        await context.events.wait_for_capacity(f"{product}/{identity}")
    connection.devices += ((product, identity),)
    connection.ended = partial(disconnected, context, connection)
    if wanted:
        _emit(context, "connect", connection, product, identity, exchange.identify().sequence)


def disconnected(context: Context, connection: Connection) -> None:
    """Emit `disconnect` for each device of a connection that has ended."""
    for product, identity in connection.devices:
        if product in context.products and is_wanted(context, "disconnect", product, identity):
            _emit(context, "disconnect", connection, product, identity, None)


def _emit(
    context: Context, type: str, connection: Connection, product: str, identity: str, cause: int | None
) -> None:
    connection.identify(context.identifiers, f"{product}/{identity}")
    ip, id = connection.peer_ip, connection.id
    emit(context, type, product, identity, ip=ip, connection_id=id, cause=cause)


def data_in(
    domain: str,
    ip: str,
    connection_id: str,
    identity: str,
    micros: int,
    points: Sequence[Datapoint],
    live: bool,
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
    return device_data(domain, ip, connection_id, "data_in", identity, micros, payload=payload)


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
