"""A bulb under remote control: it waits in a long poll, does what it is told, and says so."""

from __future__ import annotations

from labkit.fleet.behaviour import Behaviour, Seconds
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.fleet.turns import turns


class Bulb(Behaviour):
    """Switches as `control` says ("on" or "off"), and writes how it is to `state`.

    timeout: seconds that a long poll waits; retry: seconds until it asks again after an error. In a run that has
    arrivals it reads `control` at each, and polls never.
    """

    control: str = "control"
    state: str = "state"
    timeout: Seconds = 300
    retry: Seconds = 10

    async def run(self, device: FleetDevice) -> None:
        async for _ in turns(device, self.retry):
            try:  # what was said while it could not listen, and then what comes
                await self.switch(device, (await device.read(self.control)).get(self.control))
                while not device.has_arrivals:
                    await self.switch(device, await device.wait_for(self.control, self.timeout))
            except EXCHANGE_ERRORS as error:
                device.note(last_error=str(error))

    async def switch(self, device: FleetDevice, wanted: str | None) -> None:
        if wanted is not None:
            device.note(bulb=wanted)
            await device.write({self.state: wanted})
