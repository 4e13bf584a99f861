"""The payloads of the events that a request causes (document 1, Events).

data_in      on the device-data service: one for each request that stored something
datapoint    to solutions: one for each datapoint stored
provisioned  on the device-data service: credentials were given or replaced
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import groupby

from labkit.device_api.exchange import Connection
from labkit.devices.state import Datapoint

Payload = dict[str, object]


def device_data(connection: Connection, type: str, identity: str, micros: int) -> Payload:
    """What every device-data event has; `timestamp` in microseconds."""
    return {
        "type": type,
        "identity": identity,
        "protocol": "onep",
        "ip": connection.peer_ip,
        "connection_id": connection.id,
        "timestamp": micros,
    }


def data_in(
    connection: Connection, identity: str, micros: int, points: Sequence[Datapoint], live: bool
) -> Payload:
    """`payload` has an entry for each timestamp: {timestamp (microseconds), values {alias: value}}."""
    ordered = points if live else sorted(points, key=lambda point: point.timestamp)
    entries = [
        {
            "timestamp": micros if live else timestamp * 1_000_000,
            "values": {point.alias: point.value for point in group},
        }
        for timestamp, group in groupby(ordered, key=lambda point: point.timestamp)
    ]
    return {**device_data(connection, "data_in", identity, micros), "payload": entries}


def datapoint(
    product: str,
    connection: Connection,
    identity: str,
    micros: int,
    point: Datapoint,
    sequence: int,
    api: str,
) -> Payload:
    """`value` is [timestamp in seconds, value]; `seq` counts the datapoints of the alias."""
    return {
        "api": api,
        "alias": point.alias,
        "value": [point.timestamp, point.value],
        "device_sn": identity,
        "rid": hashlib.sha1(
            f"{product}/{identity}/{point.alias}".encode(), usedforsecurity=False
        ).hexdigest(),
        "seq": sequence,
        "vendor": product,
        "pid": product,
        "source_ip": connection.peer_ip,
        "timestamp": micros,
    }
