"""All that moves a virtual clock waits for the participants of the lab's activity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from labkit import Behaviour, Lab, LabError
from labkit.fleet.fleet_device import FleetDevice
from labkit.labtime.activity import Activity
from tests.lab.story_parts import elapsed, product_of


class Program:
    """Participant that sees each instant of lab time, and changes once at each.

    seen: the instants, in seconds since the start; fails_at: from then on it raises an error.
    """

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.seen: list[float] = []
        self.fails_at = float("inf")
        self.activity: Activity = lab._runtime.control._platform.context.activity  # type: ignore[attr-defined]
        self.clock: Any = lab._runtime.control._platform.context.clock  # type: ignore[attr-defined]
        self.start = self.clock.now()
        lab._runtime.run(self._join)

    async def _join(self) -> None:
        self.activity.join(self)

    async def settle(self) -> bool:
        assert self.activity.running == 0
        now = self.clock.now() - self.start
        if now >= self.fails_at:
            raise LabError("the program does not wait")
        if now in self.seen:
            return True
        self.seen.append(now)
        return False


class Writes(Behaviour):
    async def run(self, device: FleetDevice) -> None:
        while True:
            await device.write(temperature=20)
            await device.sleep(60)


def later(lab: Lab, *seconds: float) -> Program:
    """Return a participant, with timers of the lab at these times."""
    program = Program(lab)

    async def call() -> None:
        for each in seconds:
            program.clock.call_at(program.start + each, lambda: None)

    lab._runtime.run(call)
    return program


def test_the_clock_moves_on_once_a_participant_has_settled(lab: Lab) -> None:
    program = later(lab, 1, 1, 2.5)
    lab.clock.advance(3)
    assert program.seen == [0, 1, 2.5]
    lab.settle()
    assert program.seen == [0, 1, 2.5, 3]


def test_time_stands_at_the_error_of_a_participant(lab: Lab) -> None:
    program = later(lab, 1, 2, 3)
    program.fails_at = 2
    for _ in range(2):
        with pytest.raises(LabError, match="the program does not wait"):
            lab.clock.advance(3)
        assert elapsed(lab) == 2
    program.fails_at = 9
    lab.clock.advance(1)
    assert elapsed(lab) == 3


def test_a_fleet_goes_on_once_a_participant_has_settled(lab: Lab) -> None:
    product = lab.product("p", resources={"temperature": "number"})
    program = later(lab, 30)
    product.fleet(2, Writes()).run(minutes=2, every=120)
    assert program.seen == [0, 30, 120]  # a turn of a device that caused nothing else needs no settling


def test_a_fleet_ends_with_the_error_of_a_participant(lab: Lab) -> None:
    product = lab.product("p", resources={"temperature": "number"})
    program = later(lab, 90)
    program.fails_at = 90
    fleet = product.fleet(2, Writes())
    with pytest.raises(LabError, match="the program does not wait"):
        fleet.run(minutes=2)
    assert elapsed(lab) == 90
    program.fails_at = 1000
    assert fleet.run(minutes=2).latency.count == 4


def test_a_story_goes_on_once_a_participant_has_settled(lab: Lab) -> None:
    device = product_of(lab).device("d").activate()
    program = Program(lab)
    with lab.story():
        device.write(temperature=20)
        lab.wait(seconds=5)
        device.write(temperature=20)
        lab.wait(seconds=5)
    assert program.seen == [0, 5, 10]


@pytest.mark.parametrize("fleet", [False, True])
def test_a_story_ends_with_the_error_of_a_participant(lab: Lab, fleet: bool) -> None:
    product = product_of(lab)
    program = later(lab, 3)
    program.fails_at = 3
    with pytest.raises(LabError, match="the program does not wait"), lab.story():  # noqa: PT012
        if fleet:
            product.fleet(2, Writes()).start(minutes=5)
        lab.wait(seconds=5)
    assert elapsed(lab) == 3
    program.fails_at = 1000
    with lab.story():
        lab.wait(seconds=5)
    assert elapsed(lab) == 8


def test_each_wait_of_a_story_raises_the_error_of_a_participant(lab: Lab) -> None:
    program = later(lab, 3)
    program.fails_at = 3
    waits: list[Callable[[], object]] = [
        lambda: lab.wait(seconds=5),
        lab.settle,
        lambda: lab.clock.advance(5),
    ]
    with pytest.raises(LabError, match="the program does not wait"), lab.story():  # noqa: PT012
        for wait in waits:
            with pytest.raises(LabError, match="the program does not wait"):
                wait()
    assert elapsed(lab) == 3


def test_a_story_raises_the_error_of_a_participant_that_shows_only_at_its_end(lab: Lab) -> None:
    program = Program(lab)
    with pytest.raises(LabError, match="the program does not wait"), lab.story():  # noqa: PT012
        lab.wait(seconds=5)
        program.fails_at = 0
    program.fails_at = 1000
    lab.clock.advance(1)
    assert elapsed(lab) == 6


def test_a_function_for_later_does_not_run_before_a_participant_has_settled(lab: Lab) -> None:
    program = Program(lab)
    order: list[object] = []

    def note() -> None:
        order.append(list(program.seen))

    with lab.story():
        lab.at(10, note)
        lab.wait(seconds=20)
    assert order == [[0, 10]]
