"""Fleets on the virtual clock: what devices do, what a run counts, and exact replay."""

from __future__ import annotations

from typing import Any

import pytest

from labkit import Behaviour, DeviceError, Lab, LabError
from labkit.fleet.fleet_device import FleetDevice
from labkit.lab.product import Product

RESOURCES = {"temperature": "number", "message": "string"}


class Reporter(Behaviour):
    """Behaviour that writes a number at fixed intervals."""

    every: float = 300

    async def run(self, device: FleetDevice) -> None:
        while True:
            await device.write(temperature=round(self.random.gauss(21, 2), 3))
            await device.sleep(self.every)


class Fails(Behaviour):
    async def run(self, device: FleetDevice) -> None:
        await device.sleep(minutes=3)
        raise ValueError("out of order")


def thermostat(lab: Lab, **settings: Any) -> Product:
    return lab.product("thermostat", resources=RESOURCES, **settings)


def test_a_day_of_reports(lab: Lab) -> None:
    run = thermostat(lab).fleet(5, Reporter(every=3600)).run(days=1)
    assert run.frame()["requests"].sum() == 5 * 24
    assert lab.clock.time - run.began == 86400
    assert lab.sql("select count(*) as n from datapoint").n[0] == 5 * 24


def test_a_failed_device_has_time_and_reason_and_the_others_continue(lab: Lab) -> None:
    fleet = thermostat(lab).fleet(behaviour={Reporter: 3, Fails: 1})
    run = fleet.run(hours=1)
    [failure] = run.failures.reset_index().to_dict("records")
    assert (failure["identity"], failure["number"], failure["seed"]) == ("t-004", 4, 7)
    assert failure["time"].isoformat() == "2026-01-01T00:03:00+00:00"
    assert failure["error"] == "ValueError: out of order"
    assert run.frame()["requests"].sum() == 3 * 12
    again = fleet.repeat("t-004").run(hours=1)
    assert list(again.failures.index) == ["t-004"]


def test_invalid_parameters_are_errors_with_their_names() -> None:
    with pytest.raises(LabError, match=r"Reporter: no parameter 'evry', there are: every"):
        Reporter(evry=1)
    with pytest.raises(LabError, match=r"Reporter: every: .* not 'soon'"):
        Reporter(every="soon")


def test_refusals_are_raised_in_the_device(lab: Lab) -> None:
    seen: list[int] = []

    class Wrong(Behaviour):
        async def run(self, device: FleetDevice) -> None:
            try:
                await device.write(temperature="hot")
            except DeviceError as refused:
                seen.append(refused.status)

    run = thermostat(lab).fleet(1, Wrong).run(minutes=1)
    assert seen == [400]
    assert run.frame()["error 400"].sum() == 1
    assert run.frame()["ended"].iloc[-1] == 1


def test_pending_polls_end_with_the_run(lab: Lab) -> None:
    class Listens(Behaviour):
        async def run(self, device: FleetDevice) -> None:
            async for _ in device.poll("message", timeout=120):
                pass

    run = thermostat(lab).fleet(3, Listens).run(minutes=10)
    assert (
        run.frame()["requests"].sum() == 3 * 4
    )  # at 2, 4, 6 and 8 minutes; the last polls are pending at the end
    assert run.frame()["polling"].iloc[-1] == 3
    ended = [each for each in lab.journal if each.detail and "connection ended" in str(each.detail)]
    assert len(ended) == 3
