"""Planted bug: a poll cursor of wall time. A device polls for values since the time that its own clock shows."""

from __future__ import annotations

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.hunt import Draw, seen_within, story
from tests.hunt.planted.parts import Harm, finish, unharmed

WITHIN = 420  # seconds in which a device follows: longer than a poll and the pause after an error
PROMISE = seen_within(WITHIN, under=("wrong clock", "request delay", "request error"))


class ByOwnClock(Behaviour):
    """Behaviour that polls for its target since the moment at which it got its last answer, by its own clock."""

    async def run(self, device: FleetDevice) -> None:
        since = device.now()
        while True:
            try:
                value = await device.wait_for("target", 120, since=since)
            except EXCHANGE_ERRORS:
                await device.sleep(30)
                continue
            since = device.now()
            if value is not None:
                await device.sleep(10)  # it moves


class ByServerTime(Behaviour):
    """Behaviour that polls for its target since the time that the last answer said."""

    async def run(self, device: FleetDevice) -> None:
        while True:
            try:
                value = await device.wait_for("target", 120)
            except EXCHANGE_ERRORS:
                await device.sleep(30)
                continue
            if value is not None:
                await device.sleep(10)


@story(promises=[PROMISE])
def wall_time_cursor(lab: Lab, draw: Draw, *, mended: bool = False, harm: Harm = unharmed) -> None:
    """Set targets of devices, which poll for them.

    Promise: a device sees each target within seven minutes, also after the last fault. Holds under wrong clocks of
    devices, and under error answers and delays of requests.
    """
    product = lab.product("valve", resources={"target": {"format": "number", "settable": True}})
    app = lab.solution("app", products=[product])
    fleet = product.fleet(draw.number(1, 3), ByServerTime if mended else ByOwnClock)
    harm(lab, fleet)
    run = fleet.start(minutes=40, transport="memory")
    lab.wait(seconds=30)
    for number in range(4):
        lab.wait(seconds=draw.number(1, 60) + 0.5)
        for identity in fleet.identities:
            app.Device2.setIdentityState(pid="valve", identity=identity, target=number)
        lab.wait(seconds=WITHIN)
    run.wait()
    finish(lab)
