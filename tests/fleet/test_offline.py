"""Devices that go offline and online: their requests, random draws, and ends."""

from __future__ import annotations

import asyncio

import pytest

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import FleetDevice
from labkit.fleet.shapes import Flat, Steps
from tests.fleet.lives import Calls, Does, Reports, beside_others, failure, product_of


def test_devices_that_are_offline_for_an_instant_come_back() -> None:
    with Lab(speed=36_000) as lab:  # at which the loop turns less than once per second of lab time
        run = (
            product_of(lab)
            .fleet(5, Reports(every=600))
            .run(hours=2, devices=Steps({0: 5, 1800: 0, 1800.1: 5}))
        )
        assert run.devices().state.isin(["sleeping", "running"]).all()
        assert list(run.devices().epoch) == [2] * 5


def test_devices_that_go_offline_before_their_start_come_back() -> None:
    with Lab(speed=36_000) as lab:
        run = (
            product_of(lab)
            .fleet(5, Reports(every=600))
            .run(hours=2, devices=Steps({0: 0, 1800: 5, 1800.1: 0, 1800.2: 5}))
        )
        assert run.devices().state.isin(["sleeping", "running"]).all()


@pytest.mark.sampled
@pytest.mark.parametrize("speed", [None, 3600])
def test_a_device_that_catches_its_cancellation_offline_sends_nothing_more(speed: float | None) -> None:
    async def goes_on(device: FleetDevice) -> None:
        while True:
            try:
                await device.write(temperature=1)
                await device.sleep(60)
            except asyncio.CancelledError:
                pass

    with Lab(seed=7) if speed is None else Lab(speed=speed) as lab:
        product = product_of(lab)
        run = product.fleet({Reports(every=600): 1, Calls(does=goes_on): 1}).run(
            hours=2, every=600, devices=Steps({0: 2, 3600: 1})
        )
        waiting = list(run.frame()["waiting"])[7:11]
        late = 0 if speed is None else waiting.count(0)  # in real time its end takes a moment
        assert waiting == [0] * late + [1] * (4 - late)
        assert late < 4
        last = max(each.time for each in lab.journal if each.actor == "thermostat/t-002")
        assert last < (run.began + 5400) * 1_000_000
        assert "does not end with the run" in failure(run)


def test_a_device_going_offline_may_finish_its_cleanup(lab: Lab) -> None:
    async def says_so(device: FleetDevice) -> None:
        try:
            await device.sleep(days=1)
        finally:
            await device.write(message="bye")

    product = product_of(lab)
    product.fleet(1, Calls(does=says_so)).run(hours=2, devices=Steps({0: 1, 3600: 0}))
    assert lab.sql("select value from datapoint").value.tolist() == ["bye"]


@pytest.mark.parametrize("shape", [None, Steps({0: 3})])
def test_a_device_that_cancels_itself_fails_and_the_run_continues(lab: Lab, shape: Steps | None) -> None:
    async def cancels(device: FleetDevice) -> None:
        await device.write(temperature=1)
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await device.sleep(5)

    lives = {Reports(): 1, Calls(does=cancels): 1, Reports(every=90): 1}
    run = product_of(lab).fleet(lives).run(hours=1, devices=shape)
    assert failure(run).startswith("CancelledError")
    assert run.ticks[-1].time - run.began == 3600
    assert run.devices().epoch.tolist() == [1, 1, 1]


def test_ended_and_failed_devices_do_not_restart_and_the_run_ends_with_the_last(lab: Lab) -> None:
    async def ends(device: FleetDevice) -> None:
        await device.write(temperature=1)

    async def fails(device: FleetDevice) -> None:
        raise ValueError

    outages = Steps({0: 3, 600: 0, 900: 3, 1200: 0, 1500: 3})
    product = product_of(lab)
    run = product.fleet({Calls(does=ends): 1, Calls(does=fails): 1, Reports: 1}).run(hours=1, devices=outages)
    assert run.devices().epoch.tolist() == [1, 1, 3]
    assert (len(run.failures), run.ticks[-1].time - run.began) == (1, 3600)
    run = product.fleet({Calls(does=ends): 2, Calls(does=fails): 1}).run(hours=1, devices=outages)
    assert run.ticks[-1].time - run.began < 60
    run = product.fleet({Calls(does=ends): 3}).run(hours=1, devices=Steps({0: 2, 1800: 3}))
    assert run.devices().state.tolist() == ["ended"] * 3  # the last of them when it is its time


def test_random_draws_continue_after_an_outage_and_are_the_same_in_each_run(lab: Lab) -> None:
    class Draws(Behaviour):
        async def run(self, device: FleetDevice) -> None:
            while True:
                await device.write(temperature=self.random.randrange(10**6))
                await device.sleep(60)

    class Arrives(Behaviour):
        async def run(self, device: FleetDevice) -> None:
            async for due in device.arrivals(Flat(0.01)):
                device.note(**{f"at{len(device.notes)}": round(due - start[-1], 3)})

    start: list[float] = []
    product = product_of(lab)
    product.fleet(1, Draws).run(minutes=20, devices=Steps({0: 1, 240: 0, 600: 1}))
    values = lab.sql("select value from datapoint order by timestamp").value.tolist()
    assert len(values) == len(set(values)) == 14
    fleet = product.fleet(3, Arrives, prefix="a-")
    seen = []
    for each in (fleet, fleet, fleet.repeat("a-002"), fleet.repeat("a-002")):
        start.append(lab.clock.time)
        shown = each.run(hours=1).devices().loc[["a-002"]].drop(columns="epoch").iloc[0]
        seen.append(shown.dropna().tolist())
    assert all(each == seen[0] for each in seen)
    assert len(seen[0]) > 20


@pytest.mark.parametrize(
    ("does", "said"),
    [
        (lambda device: device.wait_for("message", float("nan")), "poll: timeout: expected seconds, not nan"),
        (lambda device: device.wait_for("message", "5"), "poll: timeout: expected seconds, not '5'"),
        (lambda device: device.wait_for("message", None), "poll: timeout: expected seconds, not None"),
        (lambda device: device.record(5), r"record: expected {alias: {Unix seconds: value}}, not 5"),
        (lambda device: device.record({"temperature": 5}), "record: expected"),
        (
            lambda device: device.download("fw", 5),
            "download: range: expected a text such as 'bytes=0-99', not 5",
        ),
    ],
)
def test_an_impossible_shape_is_an_error_with_the_reason(lab: Lab, does: Does, said: str) -> None:
    assert said in failure(beside_others(lab, does))


@pytest.mark.parametrize("speed", [None, 36_000])
def test_a_device_that_reboots_before_each_request_does_not_delay_the_others(
    speed: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labkit.labtime.simulated.COUNTED_FROM", 500)
    with Lab(seed=7) if speed is None else Lab(speed=speed) as lab:
        fleet = product_of(lab).fleet(3, Reports(every=600))
        fleet.faults.add("reboot", devices=[2])
        run = fleet.run(hours=1 if speed is None else 20)  # two seconds, of which a busy machine leaves some
        if speed is None:
            assert "again and again at one instant" in failure(run)
        assert run.frame()["requests"].sum() >= (2 * 5 if speed is None else 2)
        assert run.devices().epoch[["t-001", "t-003"]].tolist() == [1, 1]
        assert run.devices().epoch["t-002"] > (100 if speed is None else 1)


DEVICES, VALUES = 20, 6


class Reconnecting(Behaviour):
    """Behaviour that writes values, several in a second, waits for each, closes its connection, and polls again."""

    async def run(self, device: FleetDevice) -> None:
        await device.wait_for("message", 0)
        got: list[str | None] = []
        for number in range(VALUES):
            await device.write(message=str(number))
            got.append(await device.wait_for("message", 1))
            device.disconnect()
            got.append(await device.wait_for("message", 0))
            if number % 3 == 0:
                await device.sleep(0.5)
        device.note(got=",".join("-" if each is None else each for each in got))


def test_a_device_that_ends_its_connection_gets_each_value_once() -> None:
    with Lab(seed=3) as lab:
        product = lab.product("thermostat", resources={"message": "string"})
        day = product.fleet(DEVICES, Reconnecting).run(seconds=60)
        assert day.failures.empty
        assert set(day.devices()["got"]) == {",".join(f"{number},-" for number in range(VALUES))}
