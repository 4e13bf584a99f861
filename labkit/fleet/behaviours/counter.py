"""A counter: it proves what was lost, doubled or overtaken between the device and a solution's handler."""

from __future__ import annotations

from labkit.fleet.behaviour import Behaviour, Seconds
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.fleet.turns import turns


class Counter(Behaviour):
    """Writes one number after the other, each once: `run.losses` tells what became of them.

    every: seconds between two numbers, where the run has no arrivals, which it writes to the alias `count`.
    """

    every: Seconds = 60

    async def run(self, device: FleetDevice) -> None:
        async for _ in turns(device, self.every, self.random.uniform(0, self.every)):
            try:
                await device.count()
            except EXCHANGE_ERRORS as error:
                device.note(last_error=str(error))  # a number is not sent again: it may have arrived
