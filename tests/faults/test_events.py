"""Faults of events: lost, doubled, late, delayed, changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from labkit import Lab
from labkit.faults.lanes import MAX_WAITING
from labkit.lab.device import Device

LUA = """
local n = tonumber(Keystore.command{key = "n", command = "incr", args = {}}.value)
Keystore.set{key = "v" .. n, value = os.time() .. " " .. data.device_sn .. " " .. tostring(data.value[2])}
"""


class Story:
    """Two products, two solutions, and the events that these handled."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.start = lab.clock.time
        self.products = [
            lab.product(name, resources={"a": "string", "b": "string"}) for name in ("thermostat", "lamp")
        ]
        self.got: dict[str, list[str]] = {"acme": [], "other": []}
        for name, products in (("acme", ["thermostat", "lamp"]), ("other", ["lamp"])):
            lab.solution(name, products=products).on("device", "datapoint", self._handler(name))

    def _handler(self, name: str) -> Callable[..., object]:
        def handle(data: dict[str, object], now: object) -> None:
            value = data.get("value", [0, "gone"])
            assert isinstance(value, list)
            assert callable(now)
            seconds = now() - self.start
            self.got[name].append(f"{value[1]}@{seconds:g}")

        return handle

    def device(self, product: int, identity: str) -> Device:
        return self.products[product].device(identity).activate()

    def handled(self, name: str) -> list[str]:
        self.lab.settle()
        handled, self.got[name] = self.got[name], []
        return handled


@pytest.fixture
def story() -> Iterator[Story]:
    with Lab(seed=7) as lab:
        yield Story(lab)


def test_an_event_is_lost_for_one_solution_only(story: Story) -> None:
    lamp = story.device(1, "l-1")
    fault = story.lab.faults.add("device datapoint", lost=True, solution="other", every=2)
    for number in range(4):
        lamp.write(a=number)
    assert story.handled("acme") == ["0@0", "1@0", "2@0", "3@0"]
    assert story.handled("other") == ["0@0", "2@0"]
    assert (fault.hits, fault.seen) == (2, 4)
    hits = story.lab.journal.select("fault", "lamp/l-1")
    events = {each.sequence: each.summary for each in story.lab.journal.select("event")}
    assert [events[each.cause or 0] for each in hits] == ["datapoint", "datapoint"]


def test_doubled_at_once_and_later(story: Story) -> None:
    device = story.device(0, "t-1")
    story.lab.faults.add("device datapoint", doubled=True, first=1)
    story.lab.faults.add("device datapoint", doubled=True, late=2.5, first=1, identity="t-1")
    device.write(a="x")
    assert story.handled("acme") == ["x@0", "x@0"]
    story.lab.clock.advance(2.4)
    assert story.handled("acme") == []
    story.lab.clock.advance(1)
    assert story.handled("acme") == ["x@2.5"]


def test_a_late_event_is_overtaken_and_a_delayed_one_is_not(story: Story) -> None:
    device, other = story.device(0, "t-1"), story.device(0, "t-2")
    story.lab.faults.add("device datapoint", late=3.25, first=1)
    for value in "abc":
        device.write(a=value)
    assert story.handled("acme") == ["b@0", "c@0"]
    story.lab.clock.advance(3.25)
    assert story.handled("acme") == ["a@3.25"]
    story.lab.faults.add("device datapoint", delay=1, first=1)
    for value in "def":
        device.write(a=value)
    other.write(a="at once")
    assert story.handled("acme") == ["at once@3.25"]
    story.lab.clock.advance(1)
    assert story.handled("acme") == ["d@4.25", "e@4.25", "f@4.25"]


def test_fields_are_changed_for_selected_receivers(story: Story) -> None:
    ours, others, odd = story.device(0, "t-1"), story.device(1, "t-1"), story.device(0, "t/ü")
    story.lab.faults.add(
        "device datapoint", replace={"value.1": "changed"}, product="thermostat", identity="t-1"
    )
    story.lab.faults.add("device datapoint", drop="value", identity="t/*")
    for device in (ours, others, odd):
        device.write(a="x")
    assert sorted(story.handled("acme")) == ["changed@0", "gone@0", "x@0"]
    assert ours.read("a") == {"a": "x"}
    [event, *_] = [
        each.detail
        for each in story.lab.journal.select("event", "thermostat/t-1")
        if each.summary == "datapoint"
    ]
    assert event is not None
    assert event["value"][1] == "x"  # the emitted event, not the received one


def test_events_of_devices_by_their_type(story: Story) -> None:
    seen = []
    acme = story.lab.solution("acme")
    acme.on("device2", "event", lambda event: seen.append(event["type"]))
    story.lab.faults.add("device2 provisioned", lost=True)
    story.device(0, "t-1").write(a="x")
    story.lab.settle()
    assert seen == ["data_in"]
    story.lab.faults.add("device2 event", lost=True)
    story.device(0, "t-2").write(a="x")
    story.lab.settle()
    assert seen == ["data_in"]


def test_a_reset_and_a_clear_drop_late_events(story: Story) -> None:
    device = story.device(0, "t-1")
    story.lab.faults.add("device datapoint", late=3)
    device.write(a="x")
    story.lab.faults.clear()
    story.lab.clock.advance(10)
    assert story.handled("acme") == []
    story.lab.faults.add("device datapoint", late=3, name="again")
    device.write(a="y")
    story.lab.faults.remove("again")
    story.lab.clock.advance(10)
    assert story.handled("acme") == ["y@13"]


def test_the_number_of_late_events_is_limited(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_WAITING == 10_000
    monkeypatch.setattr("labkit.faults.lanes.MAX_WAITING", 2)
    device = story.device(0, "t-1")
    fault = story.lab.faults.add("device datapoint", late=3)
    for value in "abcd":
        device.write(a=value)
    assert story.handled("acme") == ["c@0", "d@0"]
    assert fault.hits == 2
    story.lab.clock.advance(3)
    assert story.handled("acme") == ["a@3", "b@3"]


def test_a_fault_of_a_lua_handler(story: Story) -> None:
    acme = story.lab.solution("acme")
    acme.on("device", "datapoint", lua=LUA, replace=True)
    story.lab.faults.add("device datapoint", doubled=True)
    story.device(0, "t-1").write(a="x")
    story.lab.settle()
    values = [acme.Keystore.get(key=f"v{number}")["value"] for number in (1, 2)]
    assert values == [f"{int(story.start)} t-1 x"] * 2
