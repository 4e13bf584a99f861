"""A battery-powered sensor: it measures while its radio is off, and sends its measurements in batches."""

from __future__ import annotations

from labkit.fleet.behaviour import Behaviour, Count
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.fleet.loops import turns


class Sensor(Behaviour):
    """Sensor that measures often and sends rarely: `batch` points in one record request, each with its timestamp.

    every: seconds between two measurements; batch: number of measurements in a request; alias: for the measurements.
    In a run that has arrivals it measures and sends one point at each of them.
    """

    every: Count = 60
    batch: Count = 30
    level: float = 50.0
    alias: str = "humidity"

    async def run(self, device: FleetDevice) -> None:
        level, values = self.level, list[float]()
        if device.has_arrivals:
            keep, batch = 0, 1
        else:
            keep, batch = 10 * self.batch, self.batch
        async for _ in turns(device, self.every, self.random.uniform(0, self.every)):
            level = min(max(level + self.random.gauss(0, 0.5), 0), 100)
            values = [*values[len(values) - min(keep, len(values)) :], round(level, 1)]
            if len(values) >= batch:
                try:
                    now = await device.timestamp()  # its own clock may be wrong; its intervals are not
                    times = [now - age * self.every for age in reversed(range(len(values)))]
                    await device.record({self.alias: dict(zip(times, values, strict=True))})
                    values = []
                except EXCHANGE_ERRORS as error:
                    device.note(last_error=str(error))  # kept for the next request, up to ten batches
