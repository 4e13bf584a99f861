"""Behaviours, a solution, digests and times for tests of stories."""

from __future__ import annotations

import hashlib
from typing import Any

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.lab.product import Product
from labkit.lab.solution import Solution
from labkit.labtime.clock import VIRTUAL_START

RESOURCES: dict[str, str | dict[str, object]] = {
    "temperature": "number",
    "config": {"format": "string", "settable": True},
    "message": "string",
}


class Reports(Behaviour):
    """Behaviour that writes a temperature at instants that it shares with other devices.

    intervals: seconds between two writes, one drawn each time.
    """

    def __init__(self, *intervals: float) -> None:
        self._intervals = intervals or (60,)

    async def run(self, device: FleetDevice) -> None:
        while True:
            try:
                await device.write(temperature=round(self.random.gauss(21, 2), 2))
            except EXCHANGE_ERRORS as error:
                device.note(type(error).__name__)
            await device.sleep(self.random.choice(self._intervals))


class Listens(Behaviour):
    """Behaviour that notes what it receives, and polls again half a minute after an error.

    answers: whether it also writes what it received.
    """

    def __init__(self, answers: bool = False) -> None:
        self._answers = answers

    async def run(self, device: FleetDevice) -> None:
        while True:
            try:
                async for value in device.poll("config"):
                    device.note(value)
                    if self._answers:
                        await device.write(message=f"is {value}")
                        await device.sleep(self.random.choice([0, 30]))
            except EXCHANGE_ERRORS:
                await device.sleep(30)


def product_of(lab: Lab, name: str = "thermostat") -> Product:
    return lab.product(name, resources=RESOURCES)


def counting(lab: Lab, *products: Product) -> Solution:
    """Return a solution that counts datapoints by get and set, and shows the count at GET /count."""
    solution = lab.solution("app", products=products)

    def count(data: Any, services: Any) -> None:
        found = services.Keystore.get(key="count")
        services.Keystore.set(key="count", value=str(int(found.get("value") or 0) + 1))

    solution.on("device", "datapoint", count)

    def show(request: Any, services: Any) -> object:
        return services.Keystore.get(key="count")

    solution.route("GET", "/count", show)

    return solution


def digest(result: object) -> str:
    return hashlib.sha256(repr(result).encode()).hexdigest()


def elapsed(lab: Lab) -> float:
    return lab.clock.time - VIRTUAL_START
