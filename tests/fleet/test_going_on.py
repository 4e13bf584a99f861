"""Runs that go on from the run before, devices that start anew, and notes with their times."""

from __future__ import annotations

from typing import Any

import pytest

from labkit import Behaviour, Counter, Flat, Lab, LabError
from labkit.fleet.fleet_device import FleetDevice
from labkit.hunt import Draw, play, story
from labkit.lab.fleet import Fleet
from labkit.lab.run import Run

pytestmark = pytest.mark.timeout(60)
RESOURCES: dict[str, Any] = {
    "a": "number",
    "count": "number",
    "target": {"format": "string", "settable": True},
}


class Remembers(Behaviour):
    """Behaviour that notes its state, changes it and draws."""

    async def run(self, device: FleetDevice) -> None:
        device.memory["runs"] = device.memory.get("runs", 0) + 1
        device.note(runs=device.memory["runs"], clock=round(device.clock_error), drawn=self.random.random())
        device.clock_error += 10
        await device.sleep(30)


class Writes(Remembers):
    """Behaviour that also writes."""

    async def run(self, device: FleetDevice) -> None:
        await super().run(device)
        await device.write(a=1)


class Polls(Behaviour):
    """Behaviour that notes what it gets."""

    async def run(self, device: FleetDevice) -> None:
        while True:
            value = await device.wait_for("target", 60)
            if value is not None:
                device.note(target=value)


class Renews(Behaviour):
    """Behaviour that draws a password in each run."""

    async def run(self, device: FleetDevice) -> None:
        await device.activate(anew=True)
        device.note(password=device.credentials.password)


class Notes(Behaviour):
    """Behaviour that notes four times."""

    async def run(self, device: FleetDevice) -> None:
        for number in range(3):
            device.note(number=number)
            await device.sleep(10 * device.number)
        device.note("over")


def fleet_of(lab: Lab, behaviour: Any, count: int | None = 2, **settings: Any) -> Fleet:
    return lab.product("thermostat", resources=RESOURCES, **settings).fleet(count, behaviour)


def shown(run: Run, *columns: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in run.devices()[list(columns)].itertuples(index=False)]


def test_runs_of_a_story_go_on(lab: Lab) -> None:
    fleet = fleet_of(lab, Remembers)
    with lab.story():
        first, second = fleet.run(minutes=1), fleet.start(minutes=1).wait()
        anew = fleet.run(minutes=1, anew=True)
    assert shown(first, "epoch", "runs", "clock") == [(1, 1, 0)] * 2
    assert shown(second, "epoch", "runs", "clock") == [(1, 2, 10)] * 2
    assert shown(anew, "epoch", "runs", "clock") == [(2, 1, 0)] * 2
    drawn = [shown(each, "drawn") for each in (first, second, anew)]
    assert drawn[0] == drawn[2] != drawn[1]


def test_notes_stay_in_the_table_of_the_next_run(lab: Lab) -> None:
    product = lab.product("thermostat", resources=RESOURCES)
    with lab.story():
        product.fleet(1, Notes).run(minutes=1)
        fleet = product.fleet(1, Notes)
        first, second = (fleet.run(seconds=5), fleet.run(seconds=15))
    assert (first.devices()["number"].iloc[0], second.devices()["number"].iloc[0]) == (0, 1)
    assert [each.value for each in second.notes()] == [0, 1]


def test_runs_elsewhere_start_anew_unless_asked(lab: Lab) -> None:
    fleet = fleet_of(lab, Remembers)
    asked = (None, None, False, False, None, False)
    found = [shown(fleet.run(minutes=1, anew=anew), "epoch", "runs")[0] for anew in asked]
    assert found == [(1, 1), (2, 1), (3, 1), (3, 2), (4, 1), (5, 1)]


def test_a_poll_goes_on_where_the_last_one_ended(lab: Lab) -> None:
    """A value that is set between two runs is seen by the second one, and no other one twice."""
    fleet, app = fleet_of(lab, Polls, 1), lab.solution("app", products=["thermostat"])
    told = []
    with lab.story():
        for number in range(3):
            run = fleet.start(minutes=3)
            lab.wait(seconds=61)
            app.Device2.setIdentityState(identity="t-001", target=f"in {number}")
            run.wait()
            told.append([each.value for each in run.notes()])
            lab.wait(seconds=30)
            app.Device2.setIdentityState(identity="t-001", target=f"after {number}")
            lab.wait(seconds=30)
    assert told == [["in 0"], ["after 0", "in 1"], ["after 1", "in 2"]]


def test_a_device_that_counts_begins_a_new_epoch(lab: Lab) -> None:
    fleet = fleet_of(lab, Counter(every=10))
    with lab.story():
        runs = [fleet.run(minutes=1, accounts=True) for _ in range(2)]
    assert [shown(each, "epoch") for each in runs] == [[(1,)] * 2, [(2,)] * 2]
    assert all(each.losses["lost"].sum() == each.losses["doubled"].sum() == 0 for each in runs)


def test_a_device_that_was_not_online_keeps_its_state(lab: Lab) -> None:
    fleet = fleet_of(lab, Remembers)
    with lab.story():
        fleet.run(minutes=1)
        fleet.run(minutes=1, devices=Flat(1))
        last = fleet.run(minutes=1)
    assert shown(last, "epoch", "runs") == [(1, 3), (1, 2)]


def test_a_rebooted_device_goes_on_in_its_last_epoch(lab: Lab) -> None:
    fleet = fleet_of(lab, Writes, 1)
    fleet.faults.add("reboot", first=1)
    with lab.story():
        first, second = fleet.run(minutes=5), fleet.run(minutes=5)
    assert shown(first, "epoch", "runs") == [(2, 2)]
    assert shown(second, "epoch", "runs") == [(3, 4)]  # the fault hits once in each run


def test_a_reset_and_new_devices_keep_nothing(lab: Lab) -> None:
    fleet_of(lab, Remembers).run(minutes=1, anew=False)
    assert shown(fleet_of(lab, Remembers).run(minutes=1, anew=False), "epoch", "runs") == [(1, 1)] * 2
    lab.reset()
    assert shown(fleet_of(lab, Remembers).run(minutes=1, anew=False), "epoch", "runs") == [(1, 1)] * 2


def test_passwords_go_on(lab: Lab) -> None:
    fleet = fleet_of(lab, Renews, 1, auth="password")
    passwords = []
    for anew in (False, False, True):
        lab.product("thermostat").forget_credentials("t-001")
        passwords.append(shown(fleet.run(minutes=1, anew=anew), "password")[0])
    assert passwords[0] == passwords[2] != passwords[1]


def test_two_runs_of_a_story_replay() -> None:
    @story
    def twice(lab: Lab, draw: Draw) -> object:
        fleet = fleet_of(lab, {Remembers: 2, Polls: 1}, None)
        runs = [fleet.run(minutes=draw.number(1, 3)) for _ in range(2)]
        return [each.devices().to_csv() for each in runs], [each.notes() for each in runs]

    assert play(twice, 5) == play(twice, 5)


def test_wrong_arguments(lab: Lab) -> None:
    fleet = fleet_of(lab, Remembers)
    with pytest.raises(LabError, match="anew: expected True or False, not 3"):
        fleet.run(minutes=1, anew=3)  # type: ignore[arg-type]
    with pytest.raises(LabError, match="anew=False: devices on other processes start anew"):
        fleet.run(minutes=1, anew=False, workers=2)


def test_notes_have_their_times(lab: Lab) -> None:
    run = fleet_of(lab, Notes).run(minutes=2)
    found = [(each.time - run.began, each.identity, each.name, each.value) for each in run.notes("t-002")]
    assert found == [
        (0, "t-002", "number", 0),
        (20, "t-002", "number", 1),
        (40, "t-002", "number", 2),
        (60, "t-002", "note", "over"),
    ]
    times = [each.time for each in run.notes()]
    assert (len(times), times) == (8, sorted(times))
    with pytest.raises(LabError, match="no device 't-9'"):
        run.notes("t-9")
    lab.close()
    assert len(run.notes()) == 8


def test_a_table_of_devices_has_the_columns_that_it_is_asked_for(lab: Lab) -> None:
    run = fleet_of(lab, Notes).run(minutes=2)
    columns = ["behaviour", "state", "epoch", "number", "note", "target"]
    assert list(run.devices("target", "number").columns) == columns
    assert run.devices("target")["target"].isna().all()
    assert list(run.devices().columns) == columns[:-1]


def test_the_journal_has_each_write_of_each_device(lab: Lab) -> None:
    fleet = fleet_of(lab, Writes)
    run = fleet.run(minutes=1)
    found = lab.journal.writes()
    assert [(each.identity, each.values, each.time - run.began) for each in found] == [
        (each.identity, {"a": "1"}, 30) for each in found
    ]
    assert sorted(each.identity for each in found) == ["t-001", "t-002"]
    assert found[:1] == lab.journal.writes(found[0].identity)
