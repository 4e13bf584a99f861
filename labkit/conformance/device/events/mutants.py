"""Faults of events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aiohttp import web

from labkit.conformance.mutant import mutant
from labkit.core.events import Events
from labkit.device_api.api import DeviceApi
from labkit.device_api.authenticate import authenticate
from labkit.device_api.exchange import Exchange
from labkit.device_api.rooms import Rooms
from labkit.devices.registry import Device
from labkit.devices.state import Datapoint
from labkit.http.error import HttpError
from labkit.platform import Platform
from labkit.solutions.room import Solutions
from labkit.solutions.solution import Outcome, Solution

DATAPOINT = "labkit.device_api.emitted:datapoint"
DATA_IN = "labkit.device_api.emitted:data_in"
DEVICE_DATA = "labkit.device_api.emitted:device_data"
LINKED = "labkit.solutions.room:Solutions.linked"
STORED = "labkit.device_api.rooms:Rooms.stored"
WRITE = "labkit.device_api.alias:write"

Payload = dict[str, Any]


@mutant("DEV-EVT-1", STORED)
def hybrid_is_silent(original: Any) -> Any:
    """a hybrid write raises no event"""

    def broken(
        self: Rooms, exchange: Exchange, device: Device, points: Sequence[Datapoint], api: str
    ) -> None:
        if not exchange.query():
            original(self, exchange, device, points, api)

    return broken


@mutant("DEV-EVT-1 DEV-EVT-5 DEV-EVT-7 DEV-EVT-9 DEV-ALIAS-10", STORED)
def all_twice(original: Any) -> Any:
    """every event is raised twice"""

    def broken(
        self: Rooms, exchange: Exchange, device: Device, points: Sequence[Datapoint], api: str
    ) -> None:
        original(self, exchange, device, points, api)
        original(self, exchange, device, points, api)

    return broken


@mutant("DEV-EVT-1 DEV-EVT-5", STORED)
def one_each(original: Any) -> Any:
    """a write of several aliases raises a data_in for each of them"""

    def broken(
        self: Rooms, exchange: Exchange, device: Device, points: Sequence[Datapoint], api: str
    ) -> None:
        for point in points:
            original(self, exchange, device, [point], api)

    return broken


@mutant("DEV-EVT-2 DEV-EVT-11", DEVICE_DATA)
def milliseconds(original: Any) -> Any:
    """the timestamp of a device-data event is in milliseconds"""
    return _told(original, lambda event: event | {"timestamp": event["timestamp"] // 1000})


@mutant("DEV-EVT-2 DEV-EVT-11", DEVICE_DATA)
def no_connection(original: Any) -> Any:
    """a device-data event has no connection_id"""
    return _told(original, lambda event: {n: v for n, v in event.items() if n != "connection_id"})


@mutant("DEV-EVT-2", DATA_IN)
def values_as_numbers(original: Any) -> Any:
    """values of a data_in that look like numbers are numbers"""

    def numbers(event: Payload) -> Payload:
        for entry in event["payload"]:
            entry["values"] = {name: _number(value) for name, value in entry["values"].items()}
        return event

    return _told(original, numbers)


@mutant("DEV-EVT-3", LINKED)
def every_solution(original: Any) -> Any:
    """solutions are told of the devices of all products"""
    return lambda self, product: list(self)


@mutant("DEV-EVT-3", LINKED)
def first_solution(original: Any) -> Any:
    """only the first solution of a product is told"""

    def broken(self: Solutions, product: str) -> list[Solution]:
        linked: list[Solution] = original(self, product)
        return linked[:1]

    return broken


@mutant("DEV-EVT-4", DATAPOINT)
def live(original: Any) -> Any:
    """element 1 of data.value is the word live"""
    return _told(original, lambda event: event | {"value": ["live", event["value"][1]]})


@mutant("DEV-EVT-4", DATAPOINT)
def value_as_number(original: Any) -> Any:
    """element 2 of data.value is a number where it looks like one"""
    return _told(original, lambda event: event | {"value": [event["value"][0], _number(event["value"][1])]})


@mutant("DEV-EVT-4", DATAPOINT)
def turned_round(original: Any) -> Any:
    """data.value has the value first"""

    def turn(event: Payload) -> Payload:
        return event if event["alias"] == "Text" else event | {"value": event["value"][::-1]}

    return _told(original, turn)


@mutant("DEV-EVT-5", STORED)
def first_alias_only(original: Any) -> Any:
    """a write of several aliases raises one datapoint"""
    return lambda self, exchange, device, points, api: original(self, exchange, device, points[:1], api)


@mutant("DEV-EVT-6", "labkit.device_api.rooms:Rooms._next")
def never_counted(original: Any) -> Any:
    """seq is always 1"""
    return lambda self, *resource: 1


@mutant("DEV-EVT-6 DEV-EVT-7", DATAPOINT)
def always_write(original: Any) -> Any:
    """api is write whatever it was"""
    return _told(original, lambda event: event | {"api": "write"})


@mutant("DEV-EVT-6", DATAPOINT)
def no_product(original: Any) -> Any:
    """a datapoint has no vendor"""
    return _told(original, lambda event: {n: v for n, v in event.items() if n != "vendor"})


@mutant("DEV-EVT-7", DATA_IN)
def first_entry_only(original: Any) -> Any:
    """the data_in of a record has the first timestamp alone"""
    return _told(original, lambda event: event | {"payload": event["payload"][:1]})


@mutant("DEV-EVT-8 DEV-REC-8", "labkit.device_api.api:DeviceApi._endpoint")
def told_of_refusals(original: Any) -> Any:
    """a write or record that is refused raises events"""

    async def tell(self: DeviceApi, exchange: Exchange) -> None:
        device = await authenticate(exchange, self._rooms.registry)
        point = Datapoint("text", self._rooms.clock.seconds(), "refused")
        self._rooms.stored(exchange, device, [point], "write")

    async def broken(self: DeviceApi, exchange: Exchange) -> web.StreamResponse:
        try:
            response: web.StreamResponse = await original(self, exchange)
        except HttpError as refusal:
            if refusal.status == 400 and exchange.request.method == "POST":
                await tell(self, exchange)
            raise
        if response.status == 409:
            await tell(self, exchange)
        return response

    return broken


@mutant("DEV-ALIAS-9 DEV-EVT-1", WRITE)
def told_of_nothing(original: Any) -> Any:
    """a write raises one more data_in, of nothing"""
    return _told_after(original)


@mutant("DEV-EVT-9", "labkit.core.events:Events.emit")
def newest_first(original: Any) -> Any:
    """the event that came last is handled next"""

    def broken(self: Events, source: str, receiver: str, handler: Any, event: Any) -> None:
        original(self, source, receiver, handler, event)
        self._lanes[source, receiver].rotate(1)

    return broken


@mutant("DEV-EVT-9", "labkit.devices.state:_store")
def told_of_what_is_not_there(original: Any) -> Any:
    """events come though nothing is stored"""
    return lambda connection, product, identity, points, read: original(
        connection, product, identity, [], read
    )


@mutant("DEV-EVT-10", WRITE)
def handlers_awaited(original: Any) -> Any:
    """the device gets its answer when all handlers have ended"""

    async def broken(exchange: Exchange, rooms: Rooms) -> web.StreamResponse:
        response: web.StreamResponse = await original(exchange, rooms)
        rooms.events._capacity = 1
        await rooms.events.room(exchange.identify().actor)  # until none is queued
        return response

    return broken


@mutant("DEV-EVT-10", "labkit.solutions.solution:Solution.handle")
def silent_after_failure(original: Any) -> Any:
    """a solution whose handler failed is told of nothing more"""
    failed: set[str] = set()

    async def broken(self: Solution, *event: Any, **options: Any) -> Outcome | None:
        if self.id in failed:
            return None
        outcome: Outcome | None = await original(self, *event, **options)
        if outcome is not None and outcome.error is not None:
            failed.add(self.id)
        return outcome

    return broken


@mutant("DEV-EVT-10", "labkit.platform:Platform._emit")
def unheard_refused(original: Any) -> Any:
    """a write that no solution handles is answered 404"""

    def broken(self: Platform, product: str, identity: str, event: str, payload: Any, cause: int) -> None:
        if not self.solutions.linked(product) and event == "data_in":
            raise HttpError(404, "nobody handles this")
        original(self, product, identity, event, payload, cause)

    return broken


@mutant("DEV-EVT-11", "labkit.device_api.rooms:Rooms.provisioned")
def silently_provisioned(original: Any) -> Any:
    """a provisioning raises no event"""
    return lambda self, product, connection, identity, cause: None


@mutant("DEV-EVT-11", "labkit.device_api.alias:read")
def told_of_reads(original: Any) -> Any:
    """a read raises a data_in"""
    return _told_after(original)


def _told_after(original: Any) -> Any:
    async def broken(exchange: Exchange, rooms: Rooms) -> web.StreamResponse:
        response: web.StreamResponse = await original(exchange, rooms)
        rooms.stored(exchange, await authenticate(exchange, rooms.registry), [], "write")
        return response

    return broken


def _told(original: Any, change: Any) -> Any:
    return lambda *arguments: change(original(*arguments))


def _number(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value
