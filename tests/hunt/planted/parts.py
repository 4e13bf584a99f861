"""Parts of the stories with planted bugs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import httpx

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import FleetDevice
from labkit.lab.fleet import Fleet

T = TypeVar("T")
Harm = Callable[[Lab, Fleet | None], object]


def unharmed(lab: Lab, fleet: Fleet | None) -> None:
    """Inject no fault."""


class Meter(Behaviour):
    """Behaviour that writes a whole number every minute, each device at its own second."""

    async def run(self, device: FleetDevice) -> None:
        await device.sleep(self.random.randint(1, 59))
        while True:
            await device.sleep(60)
            await device.write(kwh=self.random.randint(1, 9))


def wait_until(lab: Lab, when: float) -> None:
    """Let lab time pass until `when` (Unix seconds), unless it is past."""
    lab.wait(seconds=max(0.0, when - lab.clock.time))


def finish(lab: Lab) -> None:
    """Wait until no fault delays anything, and everything is handled."""
    lab.drain()
    lab.settle()


def handled_datapoints(lab: Lab) -> int:
    """Return the number of datapoints that handlers were to get."""
    return sum(record.summary == "datapoint" for record in lab.journal.select("event"))


def repeated(lab: Lab, send: Callable[[], T], pause: float = 20) -> T:
    """Return the answer of a person's request, who repeats it every `pause` seconds until there is one."""
    while True:
        try:
            return send()
        except httpx.HTTPError:
            lab.wait(seconds=pause)
