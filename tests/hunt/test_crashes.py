"""Devices whose behaviours crash in a story: the play breaks, and says which device and which line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from labkit import Behaviour, Lab, LabError, LabWarning
from labkit.fleet.fleet_device import FleetDevice
from labkit.hunt import Draw, always, hunt, never, play, replay, story
from labkit.hunt.plays.breach import breaches_of, promise_of
from labkit.hunt.search.determinism import play_twice
from tests.lab.story_parts import RESOURCES

PLAIN: dict[str, Any] = {"workers": 0, "shrink": 0, "progress": False}
LINES = Path(__file__).read_text(encoding="utf-8").splitlines()
REFUSED = {"where": "POST /onep:v1/stack/alias", "status": 503, "seconds": 600}
CRASH = "a behaviour that crashed (KeyError)"
NAIVE = "a behaviour ends at the first DeviceError, which it does not handle"


class Crashes(Behaviour):
    """Behaviour with a bug, which one device meets a minute later than the other."""

    async def run(self, device: FleetDevice) -> None:
        await device.sleep(60 * device.number)
        values: dict[str, float] = {}
        await device.write(temperature=values["ä"])


class Naive(Behaviour):
    """Behaviour that writes, and handles no error."""

    async def run(self, device: FleetDevice) -> None:
        while True:
            await device.write(temperature=20)
            await device.sleep(60)


def line_of(text: str) -> int:
    [number] = [number for number, line in enumerate(LINES, 1) if text in line and "line_of" not in line]
    return number


def tell(lab: Lab, behaviour: type[Behaviour]) -> None:
    """Run two devices of each of two products with the same identities."""
    for name in ("thermostat", "lamp"):
        lab.product(name, resources=RESOURCES).fleet(2, behaviour, prefix="t-").run(minutes=4)


@story
def crashes(lab: Lab, draw: Draw) -> None:
    draw.number(0, 3, label="unused")
    tell(lab, Crashes)


@story(promises=[never(kind="error"), always(lambda lab: "broken", name="never true")])
def crashes_and_breaks(lab: Lab, draw: Draw) -> None:
    tell(lab, Crashes)


@story
def asserts_too(lab: Lab, draw: Draw) -> None:
    tell(lab, Crashes)
    raise AssertionError("no use")


@story
def naive(lab: Lab, draw: Draw) -> None:
    tell(lab, Naive)


@story(promises=[never(kind="error")])
def naive_with_a_promise(lab: Lab, draw: Draw) -> None:
    tell(lab, Naive)


def refusal() -> tuple[str, dict[str, Any]]:
    return "request error", {**REFUSED, "product": "lamp", "after": 30.0}


def test_a_crash_breaks_the_hunt_and_names_device_and_line() -> None:
    found = hunt(crashes, 3, level="calm", **PLAIN)
    [failure] = found.failures.values()
    line = line_of('write(temperature=values["ä"])')
    assert failure.title == CRASH
    assert failure.breach.reason == f"thermostat/t-001: KeyError: 'ä' (test_crashes.py:{line})"
    assert (failure.breach.state, failure.breach.promise, promise_of(failure.title)) == ("broken", None, None)
    assert f"broken: {CRASH} (play 0): thermostat/t-001: KeyError: 'ä'" in found.text()
    assert json.loads(json.dumps(found.as_dict()))["failures"][0]["title"] == CRASH
    assert not found.good


def test_a_play_keeps_each_crash_and_raises_the_first() -> None:
    played = play(crashes, 1, check=False)
    assert [each.actor for each in played.crashes] == [
        f"{product}/t-00{number}" for product in ("thermostat", "lamp") for number in (1, 2)
    ]
    assert played.crashes[1].at - played.crashes[0].at == 60
    assert "4 devices crashed" in repr(played)
    with pytest.raises(
        LabError, match=r"the behaviour of thermostat/t-001: KeyError: 'ä' \(test_crashes\.py:\d+\)"
    ):
        play(crashes, 1)


def test_a_crash_is_cut_down_written_and_replayed() -> None:
    [failure] = hunt(crashes, 1, level="calm", workers=0, progress=False).failures.values()
    assert failure.smallest is not None
    assert failure.smallest.played.drawn == (("unused", 0),)
    again = replay(failure.written(), story=crashes, check=False)
    assert (again.state, again.is_exact) == ("broken", True)
    assert str(again).startswith("breaks again, byte for byte as written: a behaviour that crashed")
    mended = replay(
        failure.written(), story=type(crashes)(lambda lab, draw: draw.number(0, 3, label="unused"), {})
    )
    assert str(mended) == f"no longer breaks: {CRASH}"


def test_a_crash_comes_after_promises_and_the_story() -> None:
    both = breaches_of(crashes_and_breaks, play(crashes_and_breaks, 1, check=False))
    assert [each.title for each in both] == ["never true", CRASH]
    others = breaches_of(asserts_too, play(asserts_too, 1, check=False))
    assert [each.title for each in others] == ["the story's own checks", CRASH]
    found = hunt(crashes_and_breaks, 2, level="calm", stop="never", **PLAIN)
    assert {title: each.numbers for title, each in found.failures.items()} == {
        "never true": (0, 1),
        CRASH: (0, 1),
    }
    assert list(found.frame()["broke"]) == [f"never true, {CRASH}"] * 2


def test_a_refused_request_under_a_fault_is_a_breach_without_promises() -> None:
    played = play(naive, 1, check=False, faults=[refusal()])
    assert [each.actor for each in played.crashes] == ["lamp/t-001", "lamp/t-002"]
    assert [each.title for each in breaches_of(naive, played)] == ["a behaviour that crashed (DeviceError)"]


def test_a_refused_request_under_a_fault_is_a_warning_with_promises() -> None:
    """Promises say what has to survive faults."""
    with pytest.warns(LabWarning, match=NAIVE):
        played = play(naive_with_a_promise, 1, faults=[refusal()])
    line = line_of("await device.write(temperature=20)")
    assert played.warnings == (f"{NAIVE} (test_crashes.py:{line}): its device does nothing more in the play",)
    assert (played.crashes, breaches_of(naive_with_a_promise, played)) == ((), ())


def test_a_refused_request_without_faults_is_a_breach_with_promises_too() -> None:
    @story(promises=[never(kind="error")])
    def unknown_resource(lab: Lab, draw: Draw) -> None:
        lab.product("thermostat", resources=RESOURCES).fleet(1, Refused).run(minutes=1)

    [failure] = hunt(unknown_resource, 1, level="calm", **PLAIN).failures.values()
    assert failure.title == "a behaviour that crashed (DeviceError)"


class Refused(Behaviour):
    """Behaviour whose second activation the platform refuses."""

    async def run(self, device: FleetDevice) -> None:
        await device.activate(anew=True)
        await device.activate(anew=True)


@pytest.mark.sampled
def test_a_crash_does_not_keep_two_plays_from_being_compared() -> None:
    assert play_twice(crashes, 2, level="calm").good
