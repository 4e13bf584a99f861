"""A flaky device: it falls silent, reboots, writes invalid values, and fails in the end."""

from __future__ import annotations

from labkit.fleet.behaviour import Behaviour, Odds, Seconds
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.fleet.loops import turns


class Flaky(Behaviour):
    """Device that reports a temperature and fails at random, with a probability of each failure per report.

    every: seconds between two reports, in a run without arrivals; away: longest silence in seconds; alias: of the
    temperature.
    """

    every: Seconds = 300
    away: float = 3600
    silence: Odds = 0.05
    nonsense: Odds = 0.02
    reboot: Odds = 0.02
    breakdown: Odds = 0.0005
    alias: str = "temperature"

    async def run(self, device: FleetDevice) -> None:
        async for _ in turns(device, self.every):
            if self.random.random() < self.breakdown:
                raise RuntimeError("the device broke down")
            if self.random.random() < self.reboot:
                await device.reboot(seconds=30)
            if self.random.random() < self.silence:
                await device.sleep(self.random.uniform(0, self.away))
            value = "?" if self.random.random() < self.nonsense else round(self.random.gauss(20, 5), 1)
            try:
                await device.write({self.alias: value})
            except EXCHANGE_ERRORS as error:
                device.note(last_error=str(error))
