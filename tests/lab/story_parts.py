"""Behaviours, a solution and times for tests of stories."""

from __future__ import annotations

from typing import Any

from labkit import Behaviour, Lab
from labkit.core.clock import VIRTUAL_START
from labkit.fleet.fleet_device import FleetDevice
from labkit.lab.product import Product
from labkit.lab.solution import Solution

RESOURCES = {"temperature": "number", "config": "string"}


class Reports(Behaviour):
    """Behaviour that writes a temperature every minute."""

    async def run(self, device: FleetDevice) -> None:
        while True:
            await device.write(temperature=round(self.random.gauss(21, 2), 2))
            await device.sleep(60)


class Listens(Behaviour):
    """Behaviour that notes what it receives."""

    async def run(self, device: FleetDevice) -> None:
        async for value in device.poll("config"):
            device.note(value)


def product_of(lab: Lab, name: str = "thermostat") -> Product:
    return lab.product(name, resources=RESOURCES)


def counting(lab: Lab, product: Product) -> Solution:
    """Return a solution that counts datapoints by get and set, and shows the count at GET /count."""
    solution = lab.solution("app", products=[product])

    def count(data: Any, services: Any) -> None:
        found = services.Keystore.get(key="count")
        services.Keystore.set(key="count", value=str(int(found.get("value") or 0) + 1))

    solution.on("device", "datapoint", count)

    def show(request: Any, services: Any) -> object:
        return services.Keystore.get(key="count")

    solution.route("GET", "/count", show)

    return solution


def elapsed(lab: Lab) -> float:
    return lab.clock.time - VIRTUAL_START
