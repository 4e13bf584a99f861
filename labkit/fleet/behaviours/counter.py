"""A counter, which shows lost, doubled and reordered messages between a device and a solution's handler."""

from __future__ import annotations

from labkit.fleet.behaviour import Behaviour, Seconds
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.fleet.loops import turns


class Counter(Behaviour):
    """Device that writes 1, 2, 3 … to the alias `count`, so that `run.losses` shows which numbers were lost.

    every: seconds between two numbers, in a run without arrivals.
    """

    every: Seconds = 60

    async def run(self, device: FleetDevice) -> None:
        async for _ in turns(device, self.every, self.random.uniform(0, self.every)):
            try:
                await device.count()
            except EXCHANGE_ERRORS as error:
                device.note(last_error=str(error))  # a number is not repeated: it may have arrived
