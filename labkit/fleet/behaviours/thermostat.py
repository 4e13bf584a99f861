"""A thermostat, which reports a temperature that depends on the time of day and the weather."""

from __future__ import annotations

from math import cos, pi

from labkit.fleet.behaviour import Behaviour, Seconds
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.fleet.loops import turns

DAY = 86400


class Thermostat(Behaviour):
    """Thermostat that reports a temperature with a daily cycle (highest at the hour `warmest`, UTC) and random weather.

    every: seconds between two reports, in a run without arrivals; mean, swing, weather: °C; alias: of the temperature.
    """

    every: Seconds = 300
    mean: float = 21.0
    swing: float = 3.0
    weather: float = 1.5
    warmest: float = 15.0
    alias: str = "temperature"

    async def run(self, device: FleetDevice) -> None:
        first, weather = self.random.uniform(0, self.every), self.random.gauss(0, self.weather)
        async for _ in turns(device, self.every, first):  # so that devices do not report at once
            weather = 0.98 * weather + self.random.gauss(0, 0.2 * self.weather)  # tends towards 0
            hour = device.now() % DAY / 3600
            cycle = cos((hour - self.warmest) / 24 * 2 * pi)
            try:
                await device.write({self.alias: round(self.mean + self.swing * cycle + weather, 2)})
            except EXCHANGE_ERRORS as error:
                device.note(last_error=str(error))  # the next report makes up for it
