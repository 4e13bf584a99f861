"""Faults of events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.mutant import mutant, patch
from labkit.device_api import emitted
from labkit.device_api.authenticate import authenticate
from labkit.device_api.exchange import Exchange
from labkit.devices.devices import Devices
from labkit.devices.state import Datapoint
from labkit.http.error import HttpError
from labkit.labtime.events import Events, HandlerOutcome
from labkit.solutions.solution import PlatformSolution

STORED = "labkit.device_api.emitted:stored"
WRITE = "labkit.device_api.alias:write"


async def _emit(exchange: Exchange, devices: Devices, *points: Datapoint) -> None:
    device = await authenticate(exchange, devices.registry)
    emitted.stored(exchange, devices, device, points, 0, "write", exchange.context.clock.now())


async def _emitted_after(original: Any, exchange: Exchange, devices: Devices) -> Any:
    response = await original(exchange, devices)
    await _emit(exchange, devices)
    return response


empty_data_in = patch("DEV-ALIAS-9 DEV-EVT-1", WRITE, "a write raises another data_in, without values")(
    _emitted_after
)
reads_emitted = patch("DEV-EVT-11", "labkit.device_api.alias:read", "a read raises a data_in")(_emitted_after)


@patch("DEV-EVT-3 SOL-MET-2", "labkit.solutions.delivery:Delivery.receivers", from_start=True)
def every_solution(original: Any, self: Any, event: Any) -> Any:
    """solutions receive the events of devices of all products"""
    if event.product is None:
        return original(self, event)
    products = {product for solution in self.solutions.values() for product in solution.products}
    found = [pair for product in products for pair in original(self, replace(event, product=product))]
    return list(dict(found).items())


@patch("DEV-EVT-1", STORED)
def hybrid_is_silent(original: Any, exchange: Exchange, *stored: Any) -> None:
    """a hybrid write raises no event"""
    if not exchange.query():
        original(exchange, *stored)


@patch("DEV-EVT-1 DEV-EVT-5", STORED)
def one_each(
    original: Any, exchange: Any, devices: Any, device: Any, points: Any, first: int, *how: Any
) -> None:
    """a write of several aliases raises a data_in for each of them"""
    for number, point in enumerate(points, first):
        original(exchange, devices, device, [point], number, *how)


@patch("DEV-EVT-8 DEV-REC-8", "labkit.device_api.api:ProductSite.answer")
async def refusals_emitted(original: Any, self: Any, exchange: Exchange) -> Any:
    """a write or record that is refused raises events"""
    try:
        response = await original(self, exchange)
    except HttpError as refusal:
        response = refusal
    if response.status in (400, 409) and exchange.request.method == "POST":
        await _emit(exchange, self._devices, Datapoint("text", exchange.context.clock.seconds(), "refused"))
    if isinstance(response, HttpError):
        raise response
    return response


@patch("DEV-EVT-9", "labkit.labtime.events:Events.queue")
def newest_first(original: Any, self: Events, source: str, receiver: str, handler: Any, event: Any) -> None:
    """the newest event is handled next"""
    original(self, source, receiver, handler, event)
    self._lanes[source, receiver].rotate(1)


@patch("DEV-EVT-9", "labkit.devices.state:State.store")
async def unknown_aliases_emitted(original: Any, self: Any, product: Any, identity: Any, *points: Any) -> Any:
    """events are raised though nothing is stored"""
    _, first, found = await original(self, product, identity, [], *points[1:])
    return points[0], first, found


@patch("DEV-EVT-10", WRITE, alone=True)
async def handlers_awaited(original: Any, exchange: Exchange, devices: Devices) -> Any:
    """the device gets its answer when all handlers have ended"""
    response = await original(exchange, devices)
    exchange.context.events._capacity = 1
    await exchange.context.events.wait_for_capacity(exchange.identify().actor)  # until none is queued
    return response


@mutant("DEV-EVT-10", "labkit.solutions.solution:PlatformSolution.handle")
def silent_after_failure(original: Any) -> Any:
    """a solution whose handler failed receives no further events"""
    failed: set[str] = set()

    async def broken(self: PlatformSolution, *event: Any, **options: Any) -> HandlerOutcome:
        outcome = HandlerOutcome(204) if self.id in failed else await original(self, *event, **options)
        if outcome.error is not None:
            failed.add(self.id)
        return outcome

    return broken


@patch("DEV-EVT-12", "labkit.labtime.events:Events.queue")
def one_lane(original: Any, self: Events, source: str, receiver: str, handler: Any, event: Any) -> None:
    """the events of a device wait for the handlers of all solutions"""
    original(self, source, "", handler, event)
