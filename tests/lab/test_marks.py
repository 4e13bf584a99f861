"""Marks of a run: restarts, faults and releases of its lab."""

from contextlib import suppress
from pathlib import Path

import pytest

from labkit import Lab
from labkit.fleet.behaviour import Behaviour
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.lab.fleet import Fleet


class Reports(Behaviour):
    async def run(self, device: FleetDevice) -> None:
        while True:
            with suppress(*EXCHANGE_ERRORS):
                await device.write(temperature=20.0)
            await device.sleep(60)


@pytest.fixture
def fleet(lab: Lab) -> Fleet:
    return lab.product("thermostat", resources={"temperature": "number"}).fleet(2, Reports)


def test_a_run_has_the_marks_of_its_time_also_after_a_reset(lab: Lab, fleet: Fleet) -> None:
    lab.faults.add("POST /onep:v1/stack/alias", status=503, every=9)
    fleet.faults.add("platform restart", after=300, seconds=60)
    fleet.faults.add("drop before", every=50)
    first = fleet.run(minutes=10, requests=True)
    began = first.began
    wanted = [
        (began, "fault", "status 503"),
        (began, "fault", "drop before, every 50"),
        (began + 300, "restart", "60 s down"),
    ]
    assert first.marks == wanted
    lab.reset()
    for shown in (first.frame(), first.requests()):
        assert shown.attrs["marks"] == wanted
        assert shown.attrs["rate"] == 0
    assert first.frame().equals(first.frame())


def test_a_fault_of_a_fleet_is_marked_when_it_begins(lab: Lab, fleet: Fleet) -> None:
    fleet.faults.add("cut off", after=120, seconds=60)
    fleet.faults.add("lost credential", after=(60, 300))
    fleet.faults.add("wrong clock", after=3600, seconds=5)
    run = fleet.run(minutes=10)
    assert [(mark.time - run.began, mark.text) for mark in run.marks if "cut" in mark.text] == [
        (120, "cut off, after 120 s")
    ]
    [lost] = [mark.time - run.began for mark in run.marks if "lost" in mark.text]
    assert 60 < lost < 300
    assert [mark.time for mark in run.marks] == sorted(mark.time for mark in run.marks)
    assert not any("clock" in mark.text for mark in run.marks)  # the run ended before


def test_devices_that_start_late_are_waiting(fleet: Fleet) -> None:
    fleet.faults.add("late start", seconds=90)
    frame = fleet.run(minutes=3, every=60).frame()
    assert frame["waiting"].tolist() == [2, 0, 0]
    assert frame["sleeping"].tolist() == [0, 2, 2]


def test_a_fault_and_a_release_during_a_run_are_marks_of_it(tmp_path: Path) -> None:
    with Lab(speed=60) as lab:
        thermostat = lab.product("thermostat", resources={"temperature": "number"})
        home = lab.solution("home", products=thermostat, path=tmp_path)
        run = thermostat.fleet(2, Reports).start()
        lab.faults.add("GET /timestamp", status=500, name="mine")
        lab.faults.remove("mine")
        lab.faults.add("GET /timestamp", status=500, first=1)
        lab.faults.clear()
        thermostat.content.add("fw-2.bin", b"2")
        home.reload()
        run.stop()
        lab.faults.add("GET /timestamp", status=501)
        assert [(mark.kind, mark.text) for mark in run.marks] == [
            ("fault", "mine"),
            ("fault", "mine ends"),
            ("fault", "status 500"),
            ("fault", "status 500 ends"),
            ("release", "fw-2.bin"),
            ("release", "solution home"),
        ]
        assert run.rate == 60


def test_a_run_during_which_the_clocks_rate_changed_has_no_rate() -> None:
    with Lab(speed=60) as lab:
        fleet = lab.product("thermostat", resources={"temperature": "number"}).fleet(1, Reports)
        run = fleet.start(every=1)
        lab.clock.run(600)
        run.stop()
        assert run.rate is None
