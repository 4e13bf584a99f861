"""Planted bug: a poll cursor of wall time. A device polls for values since the time that its own clock shows."""

from __future__ import annotations

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.hunt import Draw, story
from tests.hunt.planted.parts import Harm, finish, unharmed

WITHIN = 420  # seconds in which a device follows: longer than a poll and the pause after an error


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
                device.note(target=value)
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
                device.note(target=value)
                await device.sleep(10)


def tell(lab: Lab, draw: Draw, *, mended: bool = False, harm: Harm = unharmed) -> None:
    """Set targets of devices, which poll for them.

    Promise: a device notes a target within seven minutes, unless another one replaces it. Holds under wrong clocks of
    devices, error answers and delays up to 30 s of requests; not under longer faults, since two targets follow each
    other after seven minutes.
    """
    product = lab.product("valve", resources={"target": {"format": "number", "settable": True}})
    app = lab.solution("app", products=[product])
    fleet = product.fleet(draw.number(1, 3), ByServerTime if mended else ByOwnClock)
    harm(lab, fleet)
    run = fleet.start(minutes=40, transport="memory")
    lab.wait(seconds=30)
    chosen: list[tuple[float, str, str]] = []  # lab time, device, target
    for number in range(4):
        lab.wait(seconds=draw.number(1, 60) + 0.5)
        for identity in fleet.identities:
            app.Device2.setIdentityState(pid="valve", identity=identity, target=number)
            chosen.append((lab.clock.time, identity, str(number)))
        lab.wait(seconds=WITHIN)
    run.wait()
    finish(lab)
    noted = {identity: run.notes(identity) for identity in fleet.identities}
    for when, identity, target in chosen:
        seen = [
            each for each in noted[identity] if each.value == target and when <= each.time <= when + WITHIN
        ]
        assert seen, f"{identity} has not seen target {target} within {WITHIN} s"


@story
def wall_time_cursor(lab: Lab, draw: Draw) -> None:
    tell(lab, draw)


@story
def wall_time_cursor_mended(lab: Lab, draw: Draw) -> None:
    tell(lab, draw, mended=True)
