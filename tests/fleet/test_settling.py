"""What the scheduler of a virtual clock waits for between two devices, and where there is nothing to wait for."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import pytest

from labkit import Behaviour, Lab
from labkit.core.activity import Activity
from labkit.fleet.fleet_device import FleetDevice

DEVICES, MINUTES = 4, 10
WRITES = DEVICES * MINUTES


class Tells(Behaviour):
    """Writes each minute. leaves: its connection too, after each write."""

    told: ClassVar[list[str]] = []
    leaves: bool = False

    async def run(self, device: FleetDevice) -> None:
        while True:
            self.told.append(f"{device.identity} goes on")
            await device.write(text="x")
            if self.leaves:
                device.disconnect()
            await device.sleep(60)


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> list[Activity]:
    """Each time that somebody waited until nothing went on."""
    waited: list[Activity] = []
    original = Activity.idle

    def counted(self: Activity) -> Any:
        waited.append(self)
        return original(self)

    monkeypatch.setattr(Activity, "idle", counted)
    return waited


def play(lab: Lab, leaves: bool = False) -> None:
    product = lab.product("p", resources={"text": "string"})
    run = product.fleet(DEVICES, Tells(leaves=leaves)).run(minutes=MINUTES, every=60 * MINUTES)
    assert (run.latency.count, len(run.failures)) == (WRITES, 0)


def test_no_device_goes_on_before_what_the_one_before_it_caused_is_handled() -> None:
    Tells.told.clear()
    with Lab(seed=7) as lab:
        lab.product("p", resources={"text": "string"})

        def handle(data: dict[str, Any]) -> None:
            time.sleep(0.002)
            Tells.told.append(f"{data['device_sn']} is handled")

        lab.solution("s", products=["p"]).on("device", "datapoint")(handle)
        play(lab)
    pairs = list(zip(Tells.told[::2], Tells.told[1::2], strict=True))
    assert len(pairs) == WRITES
    for went, handled in pairs:
        assert handled == went.replace("goes on", "is handled")


def test_requests_that_were_answered_and_caused_nothing_leave_nothing_to_wait_for(
    idle: list[Activity],
) -> None:
    with Lab(seed=7) as lab:
        play(lab)
    assert 0 < len(idle) < WRITES / 2


def test_connections_that_open_or_end_are_waited_for(idle: list[Activity]) -> None:
    with Lab(seed=7) as lab:
        play(lab, leaves=True)
    assert len(idle) > WRITES
