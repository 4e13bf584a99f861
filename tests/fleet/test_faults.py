"""Faults of devices on the virtual clock: their effects, frequency and selection; the same in every run of a seed."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit import Behaviour, Lab, LabError, NoAnswerError
from labkit.fleet.behaviours import Counter
from labkit.fleet.faults import FleetFaults
from labkit.fleet.fleet_device import FleetDevice
from labkit.fleet.run_faults import RunFaults
from labkit.lab.product import Product

Handled = dict[str, list[str]]


class Counts(Behaviour):
    """Behaviour that counts once a minute, and notes the faults that it got."""

    async def run(self, device: FleetDevice) -> None:
        met: list[str] = []
        for number in range(1, 1000):
            before = device._clock.now()
            try:
                await device.write(count=number)
                met.append("ok")
            except NoAnswerError as error:
                met.append(error.kind)
            device.note(met=" ".join(met), last=device._clock.now() - before, clock=device.clock_error)
            await device.sleep(60)


class Listens(Behaviour):
    """Behaviour that polls once for a value that never comes, then once more."""

    async def run(self, device: FleetDevice) -> None:
        began, met = device.now(), []
        for _ in range(2):
            try:
                value = await device.wait_for("count", timeout=100)
                met.append(f"{device.now() - began:g}: {value or 'nothing'}")
            except NoAnswerError as error:
                met.append(f"{device.now() - began:g}: {error.kind}")
        device.note(met=", ".join(met))


class Story:
    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.handled: Handled = {}
        self.product: Product = lab.product("thermostat", resources={"count": "integer"})

        def keep(data: dict[str, Any]) -> None:
            self.handled.setdefault(data["device_sn"], []).append(data["value"][1])

        lab.solution("acme", products=["thermostat"]).on("device", "datapoint", keep)

    def play(self, *faults: dict[str, Any], devices: int = 2, minutes: float = 5) -> Any:
        fleet = self.product.fleet(devices, Counts)
        for each in faults:
            fleet.faults.add(**each)
        self.fleet = fleet
        self.handled.clear()
        return fleet.run(minutes=minutes, progress=False).devices()


@pytest.fixture
def story() -> Iterator[Story]:
    with Lab(seed=7) as lab:
        yield Story(lab)


def test_a_request_that_was_not_sent_and_one_whose_answer_was_lost(story: Story) -> None:
    devices = story.play(
        {"does": "drop before", "every": 3, "devices": "t-001"},
        {"does": "drop after", "every": 3, "devices": [2]},
    )
    assert list(devices["met"]) == ["ok ok no answer ok ok"] * 2
    assert story.handled == {"t-001": ["1", "2", "4", "5"], "t-002": ["1", "2", "3", "4", "5"]}
    assert story.fleet.last is not None
    assert story.fleet.last.frame()["error no answer"].sum() == 2


def test_a_delay_and_a_slow_reader_take_lab_time(story: Story) -> None:
    devices = story.play({"does": "delay", "seconds": 2.5, "first": 1}, minutes=0.5)
    assert list(devices["last"]) == [2.5, 2.5]
    devices = story.play({"does": "slow reader", "seconds": 7.25, "first": 1}, minutes=0.5)
    assert list(devices["last"]) == [7.25, 7.25]
    assert story.fleet.last is not None
    assert story.fleet.last.latency.max == pytest.approx(7.25, rel=0.01)


def test_on_a_running_clock_a_slow_reader_is_an_error() -> None:
    with Lab(speed=40, seed=7) as lab:
        fleet = lab.product("thermostat", resources={"count": "integer"}).fleet(2, Counts)
        fleet.faults.add("slow reader", seconds=6, first=1, devices=1)
        run = fleet.run(minutes=0.5, progress=False, requests=True)
        latency = run.requests().groupby("identity")["latency"].max()
        assert latency["t-001"] >= 6
        assert list(run.devices()["met"]) == ["ok", "ok"]


def test_a_request_is_sent_twice(story: Story) -> None:
    devices = story.play({"does": "duplicate send", "every": 2})
    assert story.handled == {name: ["1", "2", "2", "3", "4", "4", "5"] for name in ("t-001", "t-002")}
    assert list(devices["met"]) == ["ok ok ok ok ok"] * 2
    assert story.lab.journal.select("error") == []


def test_a_wrong_clock(story: Story) -> None:
    assert list(story.play({"does": "wrong clock", "seconds": -30.5, "devices": 1})["clock"]) == [-30.5, 0]
    assert list(story.play({"does": "wrong clock", "seconds": 0.5, "every": 1})["clock"]) == [2.5, 2.5]


def test_a_reboot_restarts_the_behaviour(story: Story) -> None:
    with pytest.raises(LabError, match="none that is 't-00"):  # only a star is a wildcard
        story.play({"does": "reboot", "every": 3, "first": 1, "seconds": 90, "devices": "t-00[12]"})
    devices = story.play({"does": "reboot", "every": 3, "first": 1, "seconds": 90, "devices": "t-*1"})
    assert list(devices["epoch"]) == [2, 1]
    assert story.handled["t-001"] == ["1", "2", "1", "2"]


def test_chance_is_drawn_per_device(story: Story) -> None:
    fault = {"does": "drop before", "chance": 0.4}
    few = story.play(fault, devices=2, minutes=20)["met"]
    many = story.play(fault, devices=5, minutes=20)["met"]
    assert list(many[:2]) == list(few)
    assert len(set(many)) == 5
    repeated = story.fleet.repeat("t-004").run(minutes=20, progress=False).devices()["met"]
    assert list(repeated) == [many["t-004"]]


def test_the_platform_restarts_under_a_fleet(story: Story) -> None:
    devices = story.play({"does": "platform restart", "after": 90, "seconds": 100}, minutes=5)
    assert list(devices["met"]) == ["ok ok refused refused ok"] * 2
    assert story.handled == {"t-001": ["1", "2", "5"], "t-002": ["1", "2", "5"]}
    assert repr(story.fleet.faults) == "fault 1: platform restart 100 s, after 90 s; hit 1 of 1"


def test_a_restart_cuts_pending_requests_of_devices(story: Story) -> None:
    fleet = story.product.fleet(3, Listens)
    fleet.faults.add("platform restart", after=30)
    run = fleet.run(minutes=3, progress=False)
    assert list(run.devices()["met"]) == ["30: no answer, 130: nothing"] * 3
    assert run.frame()["error no answer"].sum() == 3


def test_the_frame_has_the_lag_of_handlers(story: Story) -> None:
    fleet = story.product.fleet(2, Counts)
    assert "lag" not in fleet.run(minutes=3).frame()  # handlers run at the instant of the event
    story.lab.faults.add("device datapoint", late=7.5, first=1)
    assert fleet.run(minutes=3).frame()["lag"].max() == 7.5


@pytest.mark.parametrize("durable", [False, True])
def test_accounts_show_what_a_restart_loses(tmp_path: Path, durable: bool) -> None:
    with Lab(seed=7, data=str(tmp_path / "lab.db") if durable else None) as lab:
        product = lab.product("meter", resources={"count": "string"})
        lab.faults.add("device datapoint", late=120)  # so that some events are queued at the power cut
        fleet = product.fleet(4, Counter(every=60))
        fleet.faults.add("platform restart", after=330)
        run = fleet.run(minutes=20, accounts=True, progress=False)
        lab.clock.advance(120)
        losses = run.losses
        assert list(losses["sent"]) == [20] * 4
        assert list(losses["acknowledged"]) == [20] * 4
        assert list(losses["lost"]) == [2] * 4  # events of the last two minutes before it
        assert lab.sql("select count(*) as n from datapoint")["n"][0] == 80  # each value was stored


def test_on_a_running_clock_a_restart_does_not_end_the_run() -> None:
    with Lab(speed=400) as lab:
        product = lab.product("thermostat", resources={"count": "integer"})
        fleet = product.fleet(3, Counts)
        fleet.faults.add("platform restart", after=90, seconds=150)
        devices = fleet.run(minutes=8, progress=False).devices()
        for met in devices["met"]:
            assert met.startswith("ok")
            assert " refused ok" in met


def test_the_table_of_faults_and_their_hits_in_the_last_run(story: Story) -> None:
    story.play(
        {"does": "drop after", "every": 2, "name": "lost"},
        {"does": "delay", "actions": "poll", "devices": [1, "t-*2"]},
    )
    frame = story.fleet.faults.frame()
    assert list(frame.loc["lost"]) == ["drop after", "every 2", "all", "all", 10, 4]
    assert list(frame.loc["fault 2"]) == ["delay 10 s", "always", "1, t-*2", "poll", 0, 0]
    assert repr(story.fleet.faults).startswith("lost: drop after, every 2; hit 4 of 10")
    assert "drop after" in story.fleet.faults._repr_html_()
    assert "'faults'" in repr({"faults": len(story.fleet.faults)})
    assert "<td style='text-align:left'>2</td>" in story.fleet._repr_html_()
    story.fleet.faults.remove("lost")
    story.fleet.faults.clear()
    assert (len(story.fleet.faults), repr(story.fleet.faults)) == (0, "<no faults>")
    assert story.fleet.faults.begin() is None


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"does": "explode"}, "no fault of a device 'explode', there are: drop before, drop after, delay"),
        ({"does": "delay", "every": 0}, "every: expected a number of requests, not 0"),
        ({"does": "delay", "first": True}, "first: expected a number of requests, not True"),
        ({"does": "delay", "chance": 1.5}, "chance: expected a number above 0, up to 1, not 1.5"),
        ({"does": "delay", "chance": 0.5, "every": 2}, "every cannot go with chance"),
        ({"does": "delay", "seconds": -1}, "seconds: expected 0 to 31622400 seconds"),
        ({"does": "drop after", "seconds": 1}, "seconds: drop after takes none"),
        ({"does": "duplicate send", "actions": "poll"}, "no action that it can hit 'poll', there are: write"),
        ({"does": "delay", "actions": ["write", "wrote"]}, "no action that it can hit 'wrote'"),
        (
            {"does": "delay", "devices": [1.5]},
            "devices: expected identities such as 't-0.', or numbers, not 1.5",
        ),
        ({"does": "delay", "name": "there"}, "fault 'there' is there already"),
        ({"does": "platform restart"}, "after: a platform restart needs its time, in seconds"),
        (
            {"does": "reboot", "after": 5},
            "after: 'reboot' has none, but: wrong clock, lost credential, cut off, platform restart",
        ),
        ({"does": "platform restart", "after": -1}, "after: expected 0 to"),
        ({"does": "platform restart", "after": (1, 2)}, "after: expected 0 to"),
        (
            {"does": "platform restart", "after": 1, "share": 0.5},
            "share: a platform restart is no matter of dev",
        ),
        ({"does": "lost credential"}, "after: a lost credential needs its time, in seconds"),
        (
            {"does": "lost credential", "after": 5, "chance": 0.5},
            "chance: a lost credential is no matter of req",
        ),
        (
            {"does": "wrong clock", "after": 5, "every": 2},
            "every: a wrong clock is no matter of requests with",
        ),
        ({"does": "cut off", "first": 2}, "first: a cut off is no matter of requests"),
        ({"does": "late start", "actions": "write"}, "actions: a late start is no matter of requests"),
        ({"does": "late start", "after": 5}, "after: 'late start' has none"),
        (
            {"does": "late start", "seconds": (60, 5)},
            "seconds: expected a smaller number before a larger one",
        ),
        (
            {"does": "late start", "seconds": [1]},
            r"seconds: expected a number, or two as in \(0, 60\), not 1",
        ),
        ({"does": "late start", "seconds": [1, True]}, "seconds: expected 0 to"),
        ({"does": "delay", "share": 0}, "share: expected a number above 0, up to 1, not 0"),
        ({"does": "delay", "share": True}, "share: expected a number above 0, up to 1, not True"),
        (
            {"does": "delay", "devices": ["t-*", "nope*"]},
            "the fleet has none that is 'nope\\*'",
        ),
        ({"does": "delay", "devices": [1, 2]}, "the fleet has none that is 2"),
        (
            {"does": "platform restart", "after": 5, "devices": [1]},
            "devices: a platform restart is no matter",
        ),
    ],
)
def test_an_invalid_fault_is_an_error_with_the_reason(wrong: dict[str, Any], expected: str) -> None:
    faults = FleetFaults(7, {1: "t-001"})
    faults.add("delay", name="there")
    with pytest.raises(LabError, match=expected):
        faults.add(**wrong)
    with pytest.raises(LabError, match="no fault 'x', there are: there"):
        faults.remove("x")


def test_faults_can_be_sent_to_another_process() -> None:
    faults = FleetFaults(7, {1: "t-001"})
    faults.add("drop after", chance=0.5, devices=["t-*", 1])
    played = faults.begin()
    assert isinstance(played, RunFaults)
    assert pickle.loads(pickle.dumps(played)) == played
