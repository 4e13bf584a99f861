"""A sensor on a battery: it measures while its radio sleeps, and sends what it has in one request."""

from __future__ import annotations

from labkit.fleet.behaviour import Behaviour
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice


class Sensor(Behaviour):
    """Measures often, sends rarely: `batch` points in one record request, each at its own time.

    every: seconds between two measurements; batch: of how many a request is made; alias: that it records to.
    """

    every: int = 60
    batch: int = 30
    level: float = 50.0
    alias: str = "humidity"

    async def run(self, device: FleetDevice) -> None:
        level, points, behind = self.level, dict[float, object](), None
        await device.sleep(self.random.uniform(0, self.every))
        while True:
            level = min(max(level + self.random.gauss(0, 0.5), 0), 100)
            points[device.now()] = round(level, 1)
            if len(points) >= self.batch:
                try:
                    if behind is None:
                        behind = await device.timestamp() - device.now()  # its own clock may be wrong
                    await device.record({self.alias: {int(at + behind): each for at, each in points.items()}})
                    points = {}
                except EXCHANGE_ERRORS as error:
                    device.note(last_error=str(error))  # it goes with the next measurement, up to ten batches
                    points = dict(list(points.items())[-10 * self.batch :])
            await device.sleep(self.every)
