"""Errors of behaviours: they affect only their own device, and every run ends."""

from __future__ import annotations

import asyncio
import sys
import threading
from itertools import pairwise

import pytest

from labkit import Behaviour, Lab, LabError
from labkit.fleet import ending
from labkit.fleet.fleet_device import FleetDevice
from tests.fleet.lives import Calls, Does, Reports, beside_others, failure, product_of

# --- concurrent requests of one device


async def sleeps_twice(device: FleetDevice) -> None:
    await asyncio.gather(device.sleep(5), device.sleep(10))


async def sleeps_beside(device: FleetDevice) -> None:
    beside = asyncio.create_task(device.sleep(3))
    try:
        await device.sleep(1)
    finally:
        await asyncio.wait([beside])
        beside.exception()


async def sleeps_and_waits(device: FleetDevice) -> None:
    await asyncio.gather(device.sleep(1), device.wait_for("message"))


async def waits_and_sleeps(device: FleetDevice) -> None:
    await asyncio.gather(device.wait_for("message"), device.sleep(1))


@pytest.mark.parametrize("does", [sleeps_twice, sleeps_beside, sleeps_and_waits, waits_and_sleeps])
def test_a_device_with_concurrent_waits_fails(lab: Lab, does: Does) -> None:
    assert "a device does one thing at a time" in failure(beside_others(lab, does))


def test_two_concurrent_requests_are_refused_on_any_connection(lab: Lab) -> None:
    async def asks(device: FleetDevice) -> None:
        await asyncio.gather(device.write(temperature=1), device.write_to("t-001", temperature=2))

    assert "one thing at a time" in failure(beside_others(lab, asks))


def test_a_cancelled_sleep_is_forgotten(lab: Lab) -> None:
    async def gives_up(device: FleetDevice) -> None:
        asleep = asyncio.create_task(device.sleep(hours=20))
        await asyncio.sleep(0)
        asleep.cancel()
        await asyncio.wait([asleep])
        await device.sleep(minutes=1)
        device.note("awake")

    assert beside_others(lab, gives_up).devices().note["t-002"] == "awake"


def test_a_run_can_be_stopped_while_a_device_waits_for_something_outside_lab_time() -> None:
    waits = threading.Event()

    async def waits_for_real_time(device: FleetDevice) -> None:
        waits.set()
        await asyncio.sleep(20)

    with Lab(seed=7) as lab:
        run = product_of(lab).fleet({Reports: 1, Calls(does=waits_for_real_time): 1}).start(hours=1)
        assert waits.wait(30)
        stopping = threading.Thread(target=run.stop)
        stopping.start()
        stopping.join(5)
        assert not stopping.is_alive()


# --- errors of every kind


async def swallows(device: FleetDevice) -> None:
    while True:
        try:
            await device.sleep(1)
        except:  # noqa: E722
            device.note("goes on")


async def swallows_real_time(device: FleetDevice) -> None:
    while True:
        try:
            await asyncio.sleep(20)
        except:  # noqa: E722
            device.note("goes on")


def test_a_device_that_catches_its_cancellation_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "MOST_CANCELLATIONS", 3)
    with Lab(seed=7) as lab:
        assert "does not end with the run" in failure(beside_others(lab, swallows))
        lab.clock.advance(1)


def test_a_device_that_catches_its_cancellation_and_waits_is_abandoned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ending, "MOST_CANCELLATIONS", 3)
    waits = threading.Event()

    async def waits_for_real_time(device: FleetDevice) -> None:
        waits.set()
        await swallows_real_time(device)

    with Lab(seed=7) as lab:
        run = product_of(lab).fleet(1, Calls(does=waits_for_real_time)).start(hours=1)
        assert waits.wait(30)
        run.stop()
        assert len(run.failures) == 1


def test_a_device_may_clean_up_when_it_is_cancelled() -> None:
    ended: list[int] = []

    async def cleans_up(device: FleetDevice) -> None:
        try:
            await device.sleep(hours=2)
        finally:
            await asyncio.sleep(0)
            ended.append(device.number)
            await device.write(temperature=0)

    with Lab(seed=7) as lab:
        assert beside_others(lab, cleans_up).failures.empty
    assert ended == [2]


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize("speed", [None, 36_000])
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt("x"), "KeyboardInterrupt: x"),
        (GeneratorExit("x"), "GeneratorExit: x"),
        (asyncio.CancelledError("x"), "CancelledError: x"),
        (Unspeakable(), "Unspeakable: <its text cannot be made>"),
    ],
)
def test_any_exception_fails_only_its_own_device(
    error: BaseException, text: str, speed: float | None
) -> None:
    async def raises(device: FleetDevice) -> None:
        await device.sleep(1)
        raise error

    with Lab(seed=7) if speed is None else Lab(speed=speed) as lab:
        fleet = product_of(lab).fleet({Reports(every=1200): 1, Calls(does=raises): 1})
        run = fleet.run(hours=1)
        assert failure(run) == text
        assert run.devices().state["t-001"] != "failed"
        lab.settle()


def test_exit_does_not_end_the_lab(lab: Lab) -> None:
    async def exits(device: FleetDevice) -> None:
        sys.exit("enough")

    assert failure(beside_others(lab, exits)) == "SystemExit: enough"


# --- invalid times


@pytest.mark.parametrize("seconds", [0, -1])
def test_a_device_that_keeps_lab_time_from_advancing_fails(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hurries(device: FleetDevice) -> None:
        while True:
            await device.sleep(seconds)

    monkeypatch.setattr("labkit.labtime.simulated.COUNTED_FROM", 500)
    with Lab(seed=7) as lab:
        run = beside_others(lab, hurries)
        assert "goes on again and again at one instant, so that lab time stands still" in failure(run)
        several = product_of(lab).fleet(1200, Calls(does=once), prefix="o-").run(minutes=1)
        assert several.failures.empty  # many devices at one instant do not count


async def once(device: FleetDevice) -> None:
    await device.sleep(0)


# At 3,600 an hour is a real second, in which the other device sends, too.
@pytest.mark.parametrize("speed", [None, 3_600])
@pytest.mark.parametrize("until", [False, True])
@pytest.mark.parametrize("given", [float("nan"), "5", None])
def test_a_sleep_of_no_number_fails(until: bool, speed: float | None, given: object) -> None:
    async def sleeps(device: FleetDevice) -> None:
        await (device.sleep_until if until else device.sleep)(given)  # type: ignore[arg-type]

    with Lab(seed=7) if speed is None else Lab(speed=speed) as lab:
        run = product_of(lab).fleet({Reports(every=600): 1, Calls(does=sleeps): 1}).run(hours=1)
        assert ": expected a number, not " in failure(run)
        assert run.frame()["requests"].sum() >= (6 if speed is None else 1)


@pytest.mark.parametrize("speed", [None, 36_000])
def test_a_sleep_for_ever_affects_no_other_device(speed: float | None) -> None:
    async def sleeps(device: FleetDevice) -> None:
        await device.sleep(float("inf"))

    with Lab(seed=7) if speed is None else Lab(speed=speed) as lab:
        run = product_of(lab).fleet({Reports(every=600): 1, Calls(does=sleeps): 1}).run(hours=1)
        assert run.failures.empty
        assert run.devices().state["t-002"] == "sleeping"


# --- state of a device


def test_lists_dicts_and_sets_belong_to_one_device() -> None:
    class Collects(Behaviour):
        seen: list[int] = []  # noqa: RUF012
        nested: dict[str, list[int]] = {"seen": []}  # noqa: RUF012
        given: list[set[int]]
        pair: tuple[list[int], int] = ([], 1)

        async def run(self, device: FleetDevice) -> None:
            for each in (self.seen, self.nested["seen"], self.pair[0]):
                each.append(device.number)
            self.given[0].add(device.number)
            device.note(seen=[self.seen, self.nested["seen"], self.pair[0], sorted(self.given[0])])

    given: list[set[int]] = [set()]
    with Lab(seed=7) as lab:
        fleet = product_of(lab).fleet(3, Collects(given=given))
        for _ in range(2):
            shown = fleet.run(minutes=1).devices()
            assert list(shown.seen) == [[[number]] * 4 for number in (1, 2, 3)]
    assert (given, Collects.seen, Collects.nested) == ([set()], [], {"seen": []})


@pytest.mark.parametrize("name", ["state", "epoch", "identity", "behaviour"])
def test_notes_cannot_replace_columns(lab: Lab, name: str) -> None:
    async def notes(device: FleetDevice) -> None:
        device.note(fine=1, **{name: "mine"})

    run = beside_others(lab, notes)
    assert f"note: {name}: the run shows that itself" in failure(run)
    assert "fine" not in run.devices()


# --- the last row


def test_a_live_run_has_no_row_for_the_moment_of_its_end() -> None:
    with Lab() as lab:
        fleet = product_of(lab).fleet(3, Reports(every=10))
        for _ in range(4):
            run = fleet.run(seconds=0.1, every=0.02)
            times = [run.began, *(tick.time for tick in run.ticks)]
            gaps = [later - before for before, later in pairwise(times)]
            # On a busy machine requests are answered until the end: then the last row counts them.
            assert all(tick.requests or gap > 0.0099 for gap, tick in zip(gaps, run.ticks, strict=True))


def test_a_live_run_that_ends_within_a_tick_has_a_row_of_it() -> None:
    with Lab() as lab:
        run = product_of(lab).fleet(3, Calls(does=swallows_nothing)).run(seconds=10, every=5)
        assert len(run.ticks) == 1
        assert run.ticks[-1].devices == {"ended": 3}


async def swallows_nothing(device: FleetDevice) -> None:
    await asyncio.sleep(0)


def test_notes_with_names_of_columns_are_refused_at_once(lab: Lab) -> None:
    async def notes(device: FleetDevice) -> None:
        with pytest.raises(LabError, match="epoch"):
            device.note(epoch=3)

    assert beside_others(lab, notes).failures.empty


# --- waits of a device


@pytest.mark.parametrize("gap", [0, 0.5, 3])
def test_a_wait_never_returns_values_from_before_the_first_wait(lab: Lab, gap: float) -> None:
    brought: list[str | None] = []

    async def waits(device: FleetDevice) -> None:
        await device.write(message="old")
        await device.sleep(gap)
        brought.extend([await device.wait_for("message", 60) for _ in range(4)])

    async def writes(device: FleetDevice) -> None:
        await device.sleep(150)
        await device.write_to("t-001", message="new")

    run = product_of(lab).fleet({Calls(does=waits): 1, Calls(does=writes): 1}).run(minutes=5)
    assert run.failures.empty
    assert brought == [None, None, "new", None]
