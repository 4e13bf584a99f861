"""Planted bug: a retry without a limit. While the platform refuses, devices send a request each second."""

from __future__ import annotations

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.hunt import Draw, requests_bounded, story
from tests.hunt.planted.parts import Harm, unharmed

# not under reboots of a device, which begin its behaviour anew
PROMISE = requests_bounded(
    30, per=600, under=("requests", "devices", "platform", "call delay", "event delay", "event late")
)


class Stubborn(Behaviour):
    """Behaviour that repeats a failed write each second, for as long as it fails."""

    async def run(self, device: FleetDevice) -> None:
        while True:
            while not await written(device):
                await device.sleep(1)
            await device.sleep(120)


class Patient(Behaviour):
    """Behaviour that repeats a failed write three times, after 5, 10 and 20 seconds, and then drops the value."""

    async def run(self, device: FleetDevice) -> None:
        while True:
            for pause in (5, 10, 20, 0):
                if await written(device):
                    break
                await device.sleep(pause)
            await device.sleep(120)


async def written(device: FleetDevice) -> bool:
    """Write a value, and return whether the platform has accepted it."""
    try:
        await device.write(kwh=device.random.randint(1, 9))
    except EXCHANGE_ERRORS:
        return False
    return True


@story(promises=[PROMISE])
def endless_retry(lab: Lab, draw: Draw, *, mended: bool = False, harm: Harm = unharmed) -> None:
    """Let devices write every two minutes.

    Promise: a device sends at most 30 requests in any ten minutes. Holds under all faults of requests and devices,
    under restarts and delays of any kind; not under reboots of a device, which begin its behaviour anew.
    """
    product = lab.product("meter", resources={"kwh": "number"})
    fleet = product.fleet(draw.number(1, 4), Patient if mended else Stubborn)
    harm(lab, fleet)
    fleet.start(minutes=25, transport="memory").wait()
