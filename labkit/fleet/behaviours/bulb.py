"""A bulb under remote control: it waits in a long poll, does what it is told, and says so."""

from __future__ import annotations

from labkit.fleet.behaviour import Behaviour, Seconds
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice


class Bulb(Behaviour):
    """Switches as `control` says ("on" or "off"), and writes how it is to `state`.

    timeout: seconds that a long poll waits; retry: seconds until it asks again after an error.
    """

    control: str = "control"
    state: str = "state"
    timeout: Seconds = 300
    retry: Seconds = 10

    async def run(self, device: FleetDevice) -> None:
        while True:
            try:  # what was said while it could not listen, and then what comes
                await self.switch(device, (await device.read(self.control)).get(self.control))
                async for wanted in device.poll(self.control, timeout=self.timeout):
                    await self.switch(device, wanted)
            except EXCHANGE_ERRORS as error:
                device.note(last_error=str(error))
                await device.sleep(self.retry)

    async def switch(self, device: FleetDevice, wanted: str | None) -> None:
        if wanted is not None:
            device.note(bulb=wanted)
            await device.write({self.state: wanted})
