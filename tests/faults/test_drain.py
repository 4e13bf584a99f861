"""Draining a lab: the clock moves until no fault delays anything."""

from __future__ import annotations

from typing import Any

import pytest

from labkit import Behaviour, Lab, LabError
from labkit.fleet.fleet_device import FleetDevice
from labkit.lab.device import Device

pytestmark = pytest.mark.timeout(60)
ALIAS = "/onep:v1/stack/alias"


def device(lab: Lab, identity: str = "t-1") -> Device:
    return lab.product("thermostat").device(identity).activate()


def test_a_lab_without_delays_stays_where_it_is(lab: Lab) -> None:
    start = lab.clock.time
    lab.faults.add("GET /x", delay=5)
    drained = lab.drain()
    assert (drained.seconds, drained.waited_for, lab.clock.time) == (0, {}, start)


def test_it_waits_for_requests_calls_and_late_events(lab: Lab) -> None:
    got: list[tuple[str, float]] = []
    start = lab.clock.time

    def handle(data: Any, services: Any, now: Any) -> None:
        services.Keystore.set(key="a", value=data["value"][1])
        got.append((data["value"][1], now() - start))

    lab.solution("acme").on("device", "datapoint", handle)
    one, other = device(lab), device(lab, "t-2")
    lab.faults.add("device datapoint", late=30, doubled=True, identity="t-1")
    lab.faults.add("Keystore.set", delay=7, first=1, name="slow store")
    lab.faults.add(f"POST {ALIAS}", delay=2.5, identity="t-2")
    one.write(message="x")
    begun = lab.begin(other.write, message="y")
    drained = lab.drain(within=60)
    begun.result()
    assert got == [("y", 2.5), ("x", 7), ("x", 30)]
    assert drained.seconds == lab.clock.time - start == 30
    assert drained.waited_for == {
        "event of thermostat/t-1 for acme": 1,
        "acme, delayed by 'slow store'": 1,
        "thermostat/t-2, delayed by 'fault 3'": 1,
    }
    assert lab.drain().waited_for == {}


def test_it_waits_for_what_begins_meanwhile(lab: Lab) -> None:
    lab.solution("acme").on("device", "datapoint", lua='Keystore.set({key = "a", value = "b"})')
    lab.faults.add("device datapoint", late=10)
    lab.faults.add("Keystore.set", delay=5)
    lab.faults.add("Keystore.set", delay=4)
    device(lab).write(message="x")
    assert lab.drain(within=19).seconds == 19
    assert lab.solution("acme").Keystore.get(key="a") == {"value": "b"}


def test_blocked_lanes_are_emptied(lab: Lab) -> None:
    got: list[str] = []

    def handle(data: Any) -> None:
        got.append(data["value"][1])

    lab.solution("acme").on("device", "datapoint", handle)
    lab.faults.add("device datapoint", delay=10)
    one = device(lab)
    for number in range(3):
        one.write(message=str(number))
    assert lab.drain().seconds == 30
    assert got == ["0", "1", "2"]


def test_events_of_an_ended_fault_are_waited_for_and_a_period_is_not(lab: Lab) -> None:
    lab.solution("acme").on("device", "datapoint", lua='Keystore.set({key = "a", value = "b"})')
    lab.faults.add("device datapoint", late=50, seconds=10, name="short")
    lab.faults.add("GET /x", delay=5, after=1000, seconds=1000)
    device(lab).write(message="x")
    lab.clock.advance(20)
    lab.faults.remove("short")
    assert lab.drain().seconds == 30
    assert lab.solution("acme").Keystore.get(key="a") == {"value": "b"}


def test_what_is_still_held_is_named(lab: Lab) -> None:
    start = lab.clock.time
    lab.solution("acme").on("device", "datapoint", lua="return 1")
    lab.faults.add("device datapoint", late=100)
    one = device(lab)
    for _ in range(7):
        one.write(message="x")
    with pytest.raises(
        LabError,
        match=r"within: faults still delay after 60 s of lab time: "
        r"event of thermostat/t-1 for acme, for 40 s more; (event[^;]*; ){4}and 2 more$",
    ):
        lab.drain(within=60)
    assert lab.clock.time - start == 60
    with pytest.raises(LabError, match="after 0 s of lab time"):
        lab.drain(within=0)
    assert lab.drain(within=40).seconds == 40


@pytest.mark.parametrize("within", [-1, float("nan"), "10", True, None])
def test_wrong_limits(lab: Lab, within: Any) -> None:
    with pytest.raises(LabError, match="within: expected "):
        lab.drain(within=within)


def test_on_a_running_clock_it_refuses_as_advance_does() -> None:
    with Lab() as lab, pytest.raises(LabError, match=r"this clock runs by itself; call freeze\(\) first"):
        lab.drain()


def test_a_platform_without_power_drops_what_was_held(lab: Lab) -> None:
    lab.solution("acme").on("device", "datapoint", lua="return 1")
    lab.faults.add("device datapoint", late=100)
    device(lab).write(message="x")
    lab.restart()
    assert lab.drain().seconds == 0
    lab.restart(down=30)
    drained = lab.drain()
    assert (drained.seconds, drained.waited_for) == (30, {"the platform without power": 1})
    assert lab.product("thermostat").device("t-1").read("message") == {"message": "x"}


class Writes(Behaviour):
    """Behaviour that writes once."""

    async def run(self, device: FleetDevice) -> None:
        await device.write(message="x")


def test_after_the_run_of_a_fleet(lab: Lab) -> None:
    lab.solution("acme").on(
        "device", "datapoint", lua='Keystore.command({key = "n", command = "incr", args = {}})'
    )
    lab.faults.add("device datapoint", late=120)
    lab.product("thermostat").fleet(3, Writes()).run(seconds=60)
    assert lab.drain().seconds == 120
    assert lab.solution("acme").Keystore.get(key="n") == {"value": "3"}
