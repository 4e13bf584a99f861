"""Overlap of handlers on a virtual clock: calls that take lab time, devices in step, handlers in a drawn order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from labkit import Behaviour, Lab, SettingsError
from labkit.fleet.fleet_device import FleetDevice, instant

pytestmark = pytest.mark.timeout(120)

LUA_COUNT = """
local count = tonumber(Keystore.get{key = "count"}.value or 0)
Keystore.set{key = "count", value = count + 1}"""
LUA_INCR = 'Keystore.command{key = "count", command = "incr"}'
FULL: dict[str, Any] = {"calls": (0.01, 0.05), "in_step": True, "order": "random"}


class Reports(Behaviour):
    """Behaviour that writes every ten minutes, each device at its own time."""

    async def run(self, device: FleetDevice) -> None:
        await device.sleep(self.random.uniform(0, 300))
        for _ in range(6):
            await device.sleep(480)
            await device.write(message="x")


def count(services: Any) -> None:
    """Count as LUA_COUNT does."""
    found = services.Keystore.get(key="count")
    services.Keystore.set(key="count", value=str(int(found.get("value") or 0) + 1))


def counted(seed: int, handler: str | Callable[..., object], **overlap: Any) -> tuple[int, str]:
    """Return what a handler counts of 60 datapoints, and the journal."""
    with Lab(seed=seed) as lab:
        product = lab.product("thermostat", resources={"message": "string"})
        app = lab.solution("acme", products=[product])
        if isinstance(handler, str):
            app.on("device", "datapoint", lua=handler)
        else:
            app.on("device", "datapoint", handler)
        lab.overlap(**overlap)
        run = product.fleet(10, Reports).run(hours=1, check=True)
        assert run.frame().requests.sum() == 60
        lab.drain()
        return int(app.Keystore.get(key="count")["value"]), lab.journal.canonical()


@pytest.mark.parametrize("handler", [LUA_COUNT, count], ids=["lua", "python"])
def test_a_count_by_get_and_set_loses_updates(handler: str | Callable[..., object]) -> None:
    assert counted(7, handler)[0] == 60
    first, again, other = (counted(seed, handler, **FULL) for seed in (7, 7, 8))
    assert first == again
    assert first[1] != other[1]
    assert all(6 <= found <= 20 for found, _ in (first, other))


def test_a_count_in_one_call_is_right() -> None:
    assert [counted(seed, LUA_INCR, **FULL)[0] for seed in (7, 8)] == [60, 60]


def test_calls_that_take_time_overlap_nothing_while_devices_write_apart() -> None:
    assert counted(7, LUA_COUNT, calls=0.05)[0] == 60
    assert counted(7, LUA_COUNT, in_step=60)[0] == 60
    assert counted(7, LUA_COUNT, calls=0.05, in_step=60)[0] < 60


def test_each_call_of_a_handler_takes_lab_time(lab: Lab) -> None:
    times: list[float] = []

    def handle(services: Any, now: Any) -> None:
        for _ in range(3):
            services.Keystore.get(key="a")
            times.append(now() - start)

    acme, device = lab.solution("acme"), lab.product("thermostat").device("t-1").activate()
    acme.on("device", "datapoint", handle)
    start = lab.clock.time
    lab.overlap(calls=2)
    acme.Keystore.set(key="a", value="b")  # not by a handler
    device.write(message="x")
    assert lab.drain().waited_for == {"acme, delayed by 'overlap'": 3}
    lab.overlap(calls=(1, 3))
    device.write(message="y")
    lab.drain()
    lab.overlap()
    device.write(message="z")
    lab.settle()
    assert times[:3] == [2, 4, 6]
    steps = [late - early for early, late in pairwise(times[2:6])]
    assert all(1 <= each <= 3 for each in steps)
    assert len(set(steps)) == 3
    assert times[6:] == [times[5]] * 3


def test_a_call_takes_its_time_before_a_fault_hits_it(lab: Lab) -> None:
    lab.overlap(calls=2)
    lab.faults.add("Keystore.get", delay=3)
    device = lab.product("thermostat").device("t-1").activate()
    lab.solution("acme").on("device", "datapoint", lua='Keystore.get{key = "a"}')
    device.write(message="x")
    assert lab.drain().seconds == 5


def order_of_handlers(lab: Lab, events: int, **overlap: Any) -> list[str]:
    """Return the order of three solutions' handlers for each event."""
    names: list[str] = []
    product = lab.product("lamp", resources={"a": "string"})
    for name in "abc":
        solution = lab.solution(name, products=[product])
        solution.on("device", "datapoint", lambda name=name: names.append(name))
    lab.overlap(**overlap)
    device = product.device("l-1").activate()
    for _ in range(events):
        with lab.story():
            device.write(a="x")
    return ["".join(names[place : place + 3]) for place in range(0, 3 * events, 3)]


def test_the_order_of_the_handlers_of_one_event_is_drawn() -> None:
    found = []
    for seed in (7, 7, 8):
        with Lab(seed=seed) as lab:
            found.append(order_of_handlers(lab, 12, order="random"))
    assert found[0] == found[1] != found[2]
    assert {"".join(sorted(each)) for each in found[0]} == {"abc"}
    assert len(set(found[0])) > 2


def test_without_it_handlers_run_in_the_order_of_their_solutions(lab: Lab) -> None:
    assert order_of_handlers(lab, 3) == ["abc"] * 3


def test_a_reset_ends_the_overlap_and_a_restart_does_not(lab: Lab) -> None:
    lab.solution("acme").on("device", "datapoint", lua='Keystore.get{key = "a"}')
    lab.overlap(calls=5)
    lab.restart()
    device = lab.product("thermostat").device("t-1").activate()
    device.write(message="x")
    assert lab.drain().seconds == 5
    lab.reset()
    device.activate()
    device.write(message="x")
    assert lab.drain().seconds == 0


@pytest.mark.parametrize(
    ("now", "seconds", "in_step", "end"),
    [
        (100, 600, False, 700),
        (100, 600, True, 600),
        (700, 600, True, 1200),
        (1_000, 0.5, True, 1_000.5),
        (1_000, 0, True, 1_000),
        (1_010, 600, 60.0, 1_620),
        (1_010, 59, 60.0, 1_069),
        (1_010, 60, 60.0, 1_080),
        (1_010, 0, 60.0, 1_010),
        (1_010, -5, True, 1_005),
        (1_010, 3, 0.5, 1_013),
    ],
)
def test_ends_of_sleeps(now: float, seconds: float, in_step: bool | float, end: float) -> None:
    assert instant(now, seconds, in_step) == end


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"calls": 0}, "overlap: calls: expected greater than 0, not 0"),
        ({"calls": (2, 1)}, "overlap: calls: expected a smaller number before a larger one, not 2 and 1"),
        ({"in_step": -1}, "overlap: in_step: "),
        ({"in_step": "x"}, "overlap: in_step: "),
        ({"order": "x"}, "overlap: order: expected 'raised' or 'random'"),
        ({"call": 1}, "overlap: call: no such setting; did you mean calls?"),
    ],
)
def test_wrong_settings_change_nothing(lab: Lab, given: dict[str, Any], text: str) -> None:
    lab.solution("acme").on("device", "datapoint", lua='Keystore.get{key = "a"}')
    lab.overlap(calls=5)
    with pytest.raises(SettingsError, match=text.replace("?", r"\?")):
        lab.overlap(**given)
    lab.product("thermostat").device("t-1").activate().write(message="x")
    assert lab.drain().seconds == 5
