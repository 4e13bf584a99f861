"""Faults of the devices of all fleets of a lab."""

from __future__ import annotations

import pytest

from labkit import Behaviour, Lab, LabError, UnknownError
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.lab.run import Run


class Writes(Behaviour):
    """Behaviour that writes every minute, and notes when its requests failed, in seconds of the run."""

    async def run(self, device: FleetDevice) -> None:
        began, failed = device.now(), []
        device.note(failed="", first=device.now(), clock=0.0)
        while True:
            try:
                await device.write(temperature=20)
            except EXCHANGE_ERRORS:
                failed.append(round(device.now() - began))
            device.note(failed=str(failed), clock=device.clock_error)
            await device.sleep(60)


def failures(run: Run) -> list[str]:
    return list(run.devices()["failed"])


@pytest.fixture
def lab() -> Lab:
    return Lab(seed=7)


def test_fleets_that_are_made_later_are_hit_at_the_same_lab_time(lab: Lab) -> None:
    with lab:
        cut = lab.device_faults.add("cut off", after=90, seconds=120)
        first = lab.product("thermostat", resources={"temperature": "number"}).fleet(2, Writes)
        second = lab.product("lamp", resources={"temperature": "number"}).fleet(1, Writes)
        assert [each.name for each in first.faults] == [cut] == ["lab fault 1"]
        assert failures(first.run(minutes=2)) == ["[]", "[]"]
        assert failures(second.run(minutes=5)) == ["[0, 60]"]
        assert lab.device_faults.counts(cut)[:2] == (2, 2)
        assert failures(first.run(minutes=2)) == ["[]", "[]"]


def test_products_devices_and_shares(lab: Lab) -> None:
    with lab:
        lab.device_faults.add("cut off", seconds=30, products="lamp", devices="l-002")
        lab.device_faults.add("wrong clock", after=70, seconds=-40, products=["thermostat"], name="wrong")
        lab.device_faults.add("late start", seconds=100, share=0.5, name="late", products="lamp")
        thermostats = lab.product("thermostat", resources={"temperature": "number"}).fleet(2, Writes)
        lamps = lab.product("lamp", resources={"temperature": "number"}).fleet(20, Writes)
        ran = thermostats.run(minutes=1)
        assert (failures(ran), lab.device_faults.counts("wrong").hits) == (["[]", "[]"], 0)
        ran = lamps.run(minutes=3)
        assert set(failures(ran)) <= {"[]", "[0]"}
        counts = lab.device_faults.counts("late")
        assert 0 < counts.hits < 20
        assert counts.last == ran.began


def test_a_moment_of_a_run_that_began_before_is_hit_and_one_that_has_passed_is_not(lab: Lab) -> None:
    with lab:
        fleet = lab.product("thermostat", resources={"temperature": "number"}).fleet(2, Writes)
        fleet.run(minutes=1)
        began = lab.clock.time
        lab.device_faults.add("wrong clock", after=90, seconds=-40, name="wrong")
        assert set(fleet.run(minutes=3).devices()["clock"]) == {-40.0}
        assert lab.device_faults.counts("wrong") == (2, 2, began + 90)
        assert set(fleet.run(minutes=3).devices()["clock"]) != {-80.0}
        assert lab.device_faults.counts("wrong") == (2, 2, began + 90)
        frame = lab.device_faults.frame()
        assert list(frame.loc["wrong"]) == ["wrong clock -40 s", "after 90 s", "all", "all", 2, 2]
        assert "wrong: wrong clock -40 s, after 90 s; hit 2 of 2" in repr(lab.device_faults)


def test_a_fault_that_is_removed_ends_in_a_run_in_progress(lab: Lab) -> None:
    with lab, lab.story():
        names = [
            lab.device_faults.add("cut off", seconds=3600),
            lab.device_faults.add("wrong clock", after=200, seconds=10),
            lab.device_faults.add("lost credential", after=200),
        ]
        fleet = lab.product("thermostat", resources={"temperature": "number"}).fleet(2, Writes)
        run = fleet.start(minutes=6)
        lab.wait(seconds=150)
        hits = lab.device_faults.counts(names[0]).hits
        lab.device_faults.clear()
        run.wait()
        assert (hits, len(lab.device_faults), [*fleet.faults]) == (6, 0, [])
        assert failures(run) == ["[0, 60, 120]"] * 2
        assert set(run.devices()["clock"]) == {0.0}


def test_a_fault_of_the_fleet_takes_the_place_of_one_with_its_name(lab: Lab) -> None:
    with lab:
        lab.device_faults.add("cut off", seconds=300, name="away")
        fleet = lab.product("thermostat", resources={"temperature": "number"}).fleet(2, Writes)
        fleet.faults.add("cut off", seconds=30, name="away")
        assert [(each.name, each.seconds) for each in fleet.faults] == [("away", 30.0)]
        assert failures(fleet.run(minutes=3)) == ["[0]", "[0]"]
        fleet.faults.remove("away")
        with pytest.raises(LabError, match=r"is one of all fleets: lab.device_faults.remove\('away'\)"):
            fleet.faults.remove("away")
        assert len(fleet.repeat("t-001").faults) == 1


def test_wrong_arguments(lab: Lab) -> None:
    with lab:
        add = lab.device_faults.add
        with pytest.raises(
            UnknownError, match=r"no fault of a device 'cut of', there are: .*; did you mean cut off"
        ):
            add("cut of")
        with pytest.raises(LabError, match="a platform restart is no matter of fleets"):
            add("platform restart", after=10)
        with pytest.raises(LabError, match="after: expected one number of seconds"):
            add("lost credential", after=(1, 2))  # type: ignore[arg-type]
        with pytest.raises(LabError, match="seconds: expected one number of seconds"):
            add("cut off", seconds=(1, 2))
        with pytest.raises(LabError, match="share: expected a number above 0"):
            add("cut off", share=2)
        assert len(lab.device_faults) == 0
        add("cut off", name="x", devices=["nobody", 7])
        with pytest.raises(LabError, match="fault 'x' is there already"):
            add("cut off", name="x")
        with pytest.raises(UnknownError, match="no fault 'y', there are: x"):
            lab.device_faults.remove("y")
        with pytest.raises(UnknownError, match="no fault 'y', there are: x"):
            lab.device_faults.counts("y")
