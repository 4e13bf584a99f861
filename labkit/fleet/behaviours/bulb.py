"""A remote-controlled bulb: it long-polls for commands, switches and reports its state."""

from __future__ import annotations

from labkit.fleet.behaviour import Behaviour, Seconds
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.fleet.loops import turns


class Bulb(Behaviour):
    """Bulb that sets itself to the value of `control` ("on" or "off") and writes its state to `state`.

    timeout: seconds that a long poll waits; retry: seconds until the next request after an error. In a run that has
    arrivals it reads `control` at each of them and does not poll.
    """

    control: str = "control"
    state: str = "state"
    timeout: Seconds = 300
    retry: Seconds = 10

    async def run(self, device: FleetDevice) -> None:
        async for _ in turns(device, self.retry):
            try:  # the value missed while it was not polling, then new values
                await self.switch(device, (await device.read(self.control)).get(self.control))
                while not device.has_arrivals:
                    await self.switch(device, await device.wait_for(self.control, self.timeout))
            except EXCHANGE_ERRORS as error:
                device.note(last_error=str(error))

    async def switch(self, device: FleetDevice, state: str | None) -> None:
        """Set the bulb to a state and report it; None changes nothing.

        device: the device that the bulb runs on.
        """
        if state is not None:
            device.note(bulb=state)
            await device.write({self.state: state})
