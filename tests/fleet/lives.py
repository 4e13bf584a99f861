"""Devices that run a function of the test, between others that report."""

from __future__ import annotations

import queue
from collections.abc import Awaitable, Callable

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import FleetDevice
from labkit.fleet.measures import Tick
from labkit.lab.product import Product
from labkit.lab.run import Run

Does = Callable[[FleetDevice], Awaitable[object]]


class Reports(Behaviour):
    every: float = 60

    async def run(self, device: FleetDevice) -> None:
        while True:
            await device.write(temperature=21)
            await device.sleep(self.every)


class Announces(Behaviour):
    """Behaviour that prints a line and then reports."""

    async def run(self, device: FleetDevice) -> None:
        await device.write(temperature=21)
        print("begun", flush=True)  # noqa: T201
        while True:
            await device.sleep(0.01)


class Calls(Behaviour):
    """Behaviour that runs a function of the test."""

    does: Does

    async def run(self, device: FleetDevice) -> None:
        await self.does(device)


def product_of(lab: Lab) -> Product:
    return lab.product("thermostat", resources={"temperature": "number", "message": "string"})


def beside_others(lab: Lab, does: Does) -> Run:
    """Run a device with this function for an hour, between two that have to report each minute; return the run."""
    run = product_of(lab).fleet({Reports(): 1, Calls(does=does): 1, Reports(every=90): 1}).run(hours=1)
    shown = run.devices()
    assert list(shown.state[["t-001", "t-003"]]) == ["sleeping", "sleeping"]
    assert run.frame()["requests"].sum() >= 60 + 40
    return run


def failure(run: Run) -> str:
    """Return the failure of the one device that failed, the second one."""
    assert list(run.failures.index) == ["t-002"]
    assert run.devices().state["t-002"] == "failed"
    return str(run.failures.error.iloc[0])


def ticks_of(run: Run) -> queue.SimpleQueue[Tick]:
    """Return a queue that gets the run's ticks from now on."""
    ticks: queue.SimpleQueue[Tick] = queue.SimpleQueue()
    run.on_tick(ticks.put)
    return ticks
