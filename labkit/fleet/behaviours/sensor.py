"""A sensor on a battery: it measures while its radio sleeps, and sends what it has in one request."""

from __future__ import annotations

from labkit.fleet.behaviour import Behaviour, Count
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice


class Sensor(Behaviour):
    """Measures often, sends rarely: `batch` points in one record request, each at its own time.

    every: seconds between two measurements; batch: of how many a request is made; alias: that it records to.
    """

    every: Count = 60
    batch: Count = 30
    level: float = 50.0
    alias: str = "humidity"

    async def run(self, device: FleetDevice) -> None:
        level, values = self.level, list[float]()
        await device.sleep(self.random.uniform(0, self.every))
        while True:
            level = min(max(level + self.random.gauss(0, 0.5), 0), 100)
            values = [*values[-10 * self.batch :], round(level, 1)]
            if len(values) >= self.batch:
                try:
                    now = await device.timestamp()  # its own clock may be wrong; it counts how often it slept
                    times = [now - age * self.every for age in reversed(range(len(values)))]
                    await device.record({self.alias: dict(zip(times, values, strict=True))})
                    values = []
                except EXCHANGE_ERRORS as error:
                    device.note(last_error=str(error))  # it goes with the next measurement, up to ten batches
            await device.sleep(self.every)
