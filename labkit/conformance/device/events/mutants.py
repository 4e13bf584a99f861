"""Faults of events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aiohttp import web

from labkit.conformance.mutant import mutant
from labkit.core.events import Events
from labkit.device_api import emitted
from labkit.device_api.api import ProductSite
from labkit.device_api.authenticate import authenticate
from labkit.device_api.exchange import Exchange
from labkit.devices.devices import Devices
from labkit.devices.registry import Device
from labkit.devices.state import Datapoint, State, Stored
from labkit.http.error import HttpError
from labkit.solutions.solution import Outcome, Solution

LINKED = "labkit.solutions.delivery:Delivery.concerned"
STORED = "labkit.device_api.emitted:stored"
WRITE = "labkit.device_api.alias:write"


@mutant("DEV-EVT-1", STORED)
def hybrid_is_silent(original: Any) -> Any:
    """a hybrid write raises no event"""

    def broken(
        exchange: Exchange, devices: Devices, device: Device, points: Sequence[Stored], *rest: Any
    ) -> None:
        if not exchange.query():
            original(exchange, devices, device, points, *rest)

    return broken


@mutant("DEV-EVT-1 DEV-EVT-5", STORED)
def one_each(original: Any) -> Any:
    """a write of several aliases raises a data_in for each of them"""

    def broken(
        exchange: Exchange, devices: Devices, device: Device, points: Sequence[Stored], *rest: Any
    ) -> None:
        for point in points:
            original(exchange, devices, device, [point], *rest)

    return broken


@mutant("DEV-EVT-3", LINKED)
def every_solution(original: Any) -> Any:
    """solutions are told of the devices of all products"""
    return lambda self, event: list(self.solutions)


@mutant("DEV-EVT-8 DEV-REC-8", "labkit.device_api.api:ProductSite.answer")
def refusals_emitted(original: Any) -> Any:
    """a write or record that is refused raises events"""

    async def tell(self: ProductSite, exchange: Exchange) -> None:
        device = await authenticate(exchange, self._devices.registry)
        point = Datapoint("text", exchange.context.clock.seconds(), "refused")
        emitted.stored(
            exchange, self._devices, device, [Stored(point, 0)], "write", exchange.context.clock.now()
        )

    async def broken(self: ProductSite, exchange: Exchange) -> web.StreamResponse:
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
def empty_data_in(original: Any) -> Any:
    """a write raises one more data_in, of nothing"""
    return _emitted_after(original)


@mutant("DEV-EVT-9", "labkit.core.events:Events.queue")
def newest_first(original: Any) -> Any:
    """the event that came last is handled next"""

    def broken(self: Events, source: str, receiver: str, handler: Any, event: Any) -> None:
        original(self, source, receiver, handler, event)
        self._lanes[source, receiver].rotate(1)

    return broken


@mutant("DEV-EVT-9", "labkit.devices.state:State.store")
def unknown_aliases_emitted(original: Any) -> Any:
    """events come though nothing is stored"""

    async def broken(self: State, product: str, identity: str, points: Any, *rest: Any) -> Any:
        _, found = await original(self, product, identity, [], *rest)
        return [Stored(each, number) for number, each in enumerate(points, 1)], found

    return broken


@mutant("DEV-EVT-10", WRITE)
def handlers_awaited(original: Any) -> Any:
    """the device gets its answer when all handlers have ended"""

    async def broken(exchange: Exchange, devices: Devices) -> web.StreamResponse:
        response: web.StreamResponse = await original(exchange, devices)
        exchange.context.events._capacity = 1
        await exchange.context.events.capacity(exchange.identify().actor)  # until none is queued
        return response

    return broken


@mutant("DEV-EVT-10", "labkit.solutions.solution:Solution.handle")
def silent_after_failure(original: Any) -> Any:
    """a solution whose handler failed is told of nothing more"""
    failed: set[str] = set()

    async def broken(self: Solution, *event: Any, **options: Any) -> Outcome:
        if self.id in failed:
            return Outcome(204)
        outcome: Outcome = await original(self, *event, **options)
        if outcome.error is not None:
            failed.add(self.id)
        return outcome

    return broken


@mutant("DEV-EVT-11", "labkit.device_api.alias:read")
def reads_emitted(original: Any) -> Any:
    """a read raises a data_in"""
    return _emitted_after(original)


def _emitted_after(original: Any) -> Any:
    async def broken(exchange: Exchange, devices: Devices) -> web.StreamResponse:
        response: web.StreamResponse = await original(exchange, devices)
        emitted.stored(
            exchange,
            devices,
            await authenticate(exchange, devices.registry),
            [],
            "write",
            exchange.context.clock.now(),
        )
        return response

    return broken
