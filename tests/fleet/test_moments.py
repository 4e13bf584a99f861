"""Faults of devices at moments of a run and at their start, for a share of them: the same in every run of a seed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from labkit import Behaviour, DeviceError, Lab, NoAnswerError
from labkit.control.fleet_run_data import described_faults, device_faults
from labkit.fleet.device import Credentials
from labkit.fleet.faults import FleetFaults
from labkit.fleet.fleet_device import FleetDevice
from labkit.fleet.plan import Member
from labkit.lab.fleet import Fleet
from labkit.lab.product import Product
from labkit.lab.run_options import Transport

pytestmark = pytest.mark.timeout(120)


class Keeps(Behaviour):
    """Behaviour that writes once a minute, activates anew after a 401, and notes what it met at which second."""

    def __init__(self) -> None:
        self.began = 0.0
        self.met: list[str] = []

    async def run(self, device: FleetDevice) -> None:
        self.began, self.met = device._fleet_run.began, []
        while True:
            await self.attempt(device)
            device.note(met=" ".join(self.met), error=device.clock_error)
            await device.sleep(60)

    async def attempt(self, device: FleetDevice) -> None:
        at = f"{device._clock.now() - self.began:g}"
        try:
            await device.write(count=1)
        except NoAnswerError as error:
            self.met.append(f"{at}:{error.kind}")
        except DeviceError as error:
            self.met.append(f"{at}:{error.status}")
            await self.activate(device, at)

    async def activate(self, device: FleetDevice, at: str) -> None:
        try:
            await device.activate(anew=True)
        except DeviceError as error:
            self.met.append(f"{at}:{error.status}")


@pytest.fixture(params=["token", "password"])
def product(request: pytest.FixtureRequest) -> Iterator[Product]:
    with Lab(seed=7) as lab:
        yield lab.product("thermostat", auth=request.param, resources={"count": "integer"})


def play(product: Product, *faults: dict[str, Any], devices: int = 2, minutes: float = 6) -> Fleet:
    fleet = product.fleet(devices, Keeps)
    for each in faults:
        fleet.faults.add(**each)
    fleet.run(minutes=minutes, progress=False)
    return fleet


def met(fleet: Fleet) -> list[str]:
    assert fleet.last is not None
    return list(fleet.last.devices()["met"])


def test_a_lost_credential_needs_a_new_activation(product: Product) -> None:
    fleet = play(product, {"does": "lost credential", "after": 90, "devices": "t-001"})
    assert met(fleet) == ["120:401", ""]
    assert repr(fleet.faults) == "fault 1: lost credential, after 90 s; hit 1 of 1"
    fleet.run(minutes=3, progress=False)
    assert [each.partition(" ")[0] for each in met(fleet)] == ["120:401", ""]


def test_a_forgotten_credential_cannot_be_replaced_before_the_platform_forgets_it(product: Product) -> None:
    fleet = play(
        product,
        {"does": "forgotten credential", "every": 3, "first": 1, "devices": 1},
        {"does": "lost credential", "after": 270},
    )
    assert met(fleet) == ["120:401 120:409 180:401 180:409 240:401 240:409 300:401", "300:401"]


def test_a_clock_jumps_at_a_moment_while_the_device_sleeps(product: Product) -> None:
    fleet = play(
        product,
        {"does": "wrong clock", "after": 90.5, "seconds": -3600, "devices": 2},
        {"does": "wrong clock", "after": 1000, "seconds": 5},
    )
    assert fleet.last is not None
    assert list(fleet.last.devices()["error"]) == [0, -3600]
    assert [each["hits"] for each in fleet.faults.rows()] == [1, 0]


def test_devices_that_are_cut_off_get_no_answer(product: Product) -> None:
    fleet = play(product, {"does": "cut off", "after": 60, "seconds": 120, "devices": "t-002"})
    assert met(fleet) == ["", "60:no answer 120:no answer"]
    assert [(each["seen"], each["hits"]) for each in fleet.faults.rows()] == [(2, 2)]
    fleet = play(product, {"does": "cut off", "seconds": 1}, devices=1)
    assert met(fleet) == ["0:no answer"]


class Polls(Behaviour):
    """Behaviour that polls once, for a value that another device has written."""

    async def run(self, device: FleetDevice) -> None:
        if device.number == 1:
            await device.sleep(100)
            await device.write_to("t-002", count=5)
            return
        try:
            device.note(met=await device.wait_for("count", timeout=200))
        except NoAnswerError as error:
            device.note(met=error.kind)


@pytest.mark.parametrize(("seconds", "expected"), [(40, "5"), (60, "no answer")])
def test_an_answer_that_arrives_while_a_device_is_cut_off_is_lost(
    product: Product, seconds: float, expected: str
) -> None:
    fleet = product.fleet(2, Polls)
    fleet.faults.add("cut off", after=50, seconds=seconds, devices=2)
    run = fleet.run(minutes=5, progress=False)
    assert run.devices()["met"]["t-002"] == expected


class Starts(Behaviour):
    """Behaviour that notes when it starts, and reboots once."""

    async def run(self, device: FleetDevice) -> None:
        device.memory.setdefault("starts", []).append(device._clock.now() - device._fleet_run.began)
        device.note(starts=device.memory["starts"])
        if device.epoch == 1:
            await device.reboot(10)
        await device.sleep(600)


def test_late_starts_are_drawn_for_each_device_and_only_once() -> None:
    def starts(seed: int, **late: Any) -> list[list[float]]:
        with Lab(seed=7) as lab:
            fleet = lab.product("thermostat", resources={"count": "integer"}).fleet(40, Starts, seed=seed)
            fleet.faults.add("late start", **late)
            return list(fleet.run(minutes=10, progress=False).devices()["starts"])

    first = starts(1, seconds=(0, 300), share=0.5)
    late = [each for each in first if each[0]]
    assert 10 <= len(late) <= 30
    assert len({each[0] for each in late}) == len(late)
    assert all(0 <= each[0] < 300 and each[1] - each[0] == pytest.approx(10) for each in first)
    assert starts(1, seconds=(0, 300), share=0.5) == first
    assert starts(2, seconds=(0, 300), share=0.5) != first
    assert starts(1, seconds=25) == [[25, 35]] * 40


@pytest.mark.parametrize("transport", ["tls", "memory"])
def test_all_together_and_again_byte_for_byte(transport: Transport) -> None:
    def story() -> tuple[str, list[dict[str, Any]]]:
        with Lab(seed=7) as lab:
            product = lab.product("thermostat", resources={"count": "integer"})
            lab.solution("acme", products=[product]).on(
                "device", "datapoint", lua='Keystore.command({key = "n", command = "incr", args = {}})'
            )
            fleet = product.fleet(12, Keeps)
            fleet.faults.add("lost credential", after=(60, 600), share=0.5)
            fleet.faults.add("cut off", after=(300, 900), seconds=(60, 300), share=0.3)
            fleet.faults.add("wrong clock", after=(0, 900), seconds=(-60, 60), share=0.7)
            fleet.faults.add("late start", seconds=(0, 60))
            fleet.run(minutes=20, progress=False, transport=transport)
            return lab.journal.canonical(), fleet.faults.rows()

    first = story()
    assert story() == first
    hits = [each["hits"] for each in first[1]]
    assert 1 < hits[0] < 12
    assert hits[1] > 3
    assert 4 < hits[2] < 12
    assert hits[3] == 12
    assert first[1][0]["devices"] == "0.5 of all"
    assert first[1][1]["does"] == "cut off 60 to 300 s"


def test_of_a_device_that_is_repeated_alone_they_are_the_same(lab: Lab) -> None:
    fleet = lab.product("thermostat", resources={"count": "integer"}).fleet(8, Starts)
    fleet.faults.add("late start", seconds=(0, 300), share=0.5)
    together = fleet.run(minutes=10, progress=False).devices()["starts"]
    for identity in ("t-003", "t-007"):
        alone = fleet.repeat(identity).run(minutes=10, progress=False).devices()["starts"]
        assert [each[0] for each in alone] == [together[identity][0]]


def test_they_can_be_described_to_another_process() -> None:
    names = {number: f"t-00{number}" for number in range(1, 5)}
    members = [Member(number, name, Keeps(), Credentials()) for number, name in names.items()]
    faults = FleetFaults(7, names)
    faults.add("lost credential", after=(60, 600), share=0.5)
    faults.add("cut off", after=5, seconds=(1, 2), devices="t-001")
    faults.add("late start", seconds=(0, 60))
    faults.add("platform restart", after=5)
    faults.add("delay", seconds=(1, 2), chance=0.5)
    begun = faults.begin()
    described = json.loads(json.dumps(described_faults(begun, members)))
    again = device_faults(7, members, described).begin()
    assert begun is not None
    assert again is not None
    assert {*again} == {*begun}
    assert again.losses(members) == begun.losses(members)
    assert 0 < sum(len(each.members) for each in begun.losses(members)) <= 4
    assert [(each.after, each.seconds) for each in again.restarts] == [(5, 0)]
