"""The scheduler on a virtual clock: it settles the lab between two devices, but only if there is pending work."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import pytest

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import FleetDevice
from labkit.labtime.activity import Activity

DEVICES, MINUTES = 4, 10
WRITES = DEVICES * MINUTES


class LoggingReporter(Behaviour):
    """Behaviour that writes each minute. leaves: it also closes its connection after each write."""

    log: ClassVar[list[str]] = []
    leaves: bool = False

    async def run(self, device: FleetDevice) -> None:
        while True:
            self.log.append(f"{device.identity} goes on")
            await device.write(text="x")
            if self.leaves:
                device.disconnect()
            await device.sleep(60)


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> list[Activity]:
    """Count the waits for an idle lab."""
    waited: list[Activity] = []
    original = Activity.idle

    def counted(self: Activity) -> Any:
        waited.append(self)
        return original(self)

    monkeypatch.setattr(Activity, "idle", counted)
    return waited


def play(lab: Lab, leaves: bool = False) -> None:
    product = lab.product("p", resources={"text": "string"})
    run = product.fleet(DEVICES, LoggingReporter(leaves=leaves)).run(minutes=MINUTES, every=60 * MINUTES)
    assert (run.latency.count, len(run.failures)) == (WRITES, 0)


def test_no_device_runs_before_the_effects_of_the_previous_one_are_handled() -> None:
    LoggingReporter.log.clear()
    with Lab(seed=7) as lab:
        lab.product("p", resources={"text": "string"})

        def handle(data: dict[str, Any]) -> None:
            time.sleep(0.002)
            LoggingReporter.log.append(f"{data['device_sn']} is handled")

        lab.solution("s", products=["p"]).on("device", "datapoint")(handle)
        play(lab)
    pairs = list(zip(LoggingReporter.log[::2], LoggingReporter.log[1::2], strict=True))
    assert len(pairs) == WRITES
    for went, handled in pairs:
        assert handled == went.replace("goes on", "is handled")


def test_answered_requests_without_effects_need_no_waiting(
    idle: list[Activity],
) -> None:
    with Lab(seed=7) as lab:
        play(lab)
    assert 0 < len(idle) < WRITES / 2


def test_connections_that_open_or_end_are_waited_for(idle: list[Activity]) -> None:
    with Lab(seed=7) as lab:
        play(lab, leaves=True)
    assert len(idle) > WRITES
