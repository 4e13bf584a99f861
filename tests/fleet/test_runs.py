"""Runs: stopped, paused, interrupted, closed; live and scaled; no effect of real time."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from labkit import Behaviour, Lab, LabError
from labkit.fleet.fleet_device import FleetDevice
from labkit.fleet.shapes import Flat, Steps
from labkit.lab.product import Product
from tests.fleet.lives import ticks_of


class Reports(Behaviour):
    every: float = 60

    async def run(self, device: FleetDevice) -> None:
        while True:
            await device.write(temperature=self.random.randrange(40))
            await device.sleep(self.every)


class Listens(Behaviour):
    async def run(self, device: FleetDevice) -> None:
        async for _ in device.poll("message", timeout=300):
            pass


class Own(Behaviour):
    """Behaviour with an own `__init__`, without annotated fields."""

    def __init__(self, value: int) -> None:
        self.value = value

    async def run(self, device: FleetDevice) -> None:
        await device.write(temperature=self.value)


def product_of(lab: Lab, **settings: Any) -> Product:
    return lab.product("thermostat", resources={"temperature": "number", "message": "string"}, **settings)


def written(lab: Lab) -> threading.Event:
    """Return an event that is set once a device has written."""
    came = threading.Event()

    def seen(data: object) -> None:
        came.set()

    lab.solution("seen", products=["thermostat"]).on("device", "datapoint")(seen)
    return came


def test_the_clock_of_a_run_cannot_be_moved_by_others(lab: Lab) -> None:
    product = product_of(lab)
    run = product.fleet(2, Reports).start(days=10_000)
    for wrong in (lambda: lab.clock.advance(1), lab.reset):
        with pytest.raises(LabError, match="the run of a fleet moves this clock"):
            wrong()
    other = product.fleet(1, Reports, prefix="o-").start(days=1)
    with pytest.raises(LabError, match="moves this clock"):
        other.wait()
    run.stop()
    lab.clock.advance(1)


def test_a_run_can_be_stopped_paused_and_resumed(lab: Lab) -> None:
    product = product_of(lab)
    came = written(lab)
    run = product.fleet({Reports(): 3, Listens(): 2}).start(days=10_000)
    assert came.wait(30)
    run.pause()
    lab.settle()
    then = lab.clock.time
    lab.settle()
    assert (lab.clock.time, run.paused, run.done) == (then, True, False)
    ticked = threading.Event()
    run.on_tick(lambda _: ticked.set())
    run.resume()
    assert ticked.wait(30)
    assert run.stop().done
    assert lab.clock.time > then
    assert sum(run.ticks[-1].devices.values()) == 5
    assert run.failures.empty
    with pytest.raises(LabError, match="stands still"):
        product_of(lab).fleet(1, Reports).start()


def test_a_behaviour_with_its_own_init_is_passed_as_an_instance(lab: Lab) -> None:
    assert product_of(lab).fleet(2, Own(5)).run(minutes=1).frame()["requests"].sum() == 2


def test_a_run_without_a_time_lasts_until_stopped_and_one_of_zero_time_is_an_error() -> None:
    with Lab(speed=3600) as lab:
        fleet = product_of(lab).fleet(2, Reports)
        with pytest.raises(LabError, match="lasts more than 0 seconds"):
            fleet.start(minutes=0)
        run = fleet.start()
        assert (run.lasting, run.done) == (None, False)
        run.stop()


def test_a_paused_live_run_shows_pending_polls() -> None:
    with Lab(speed=3600) as lab:
        run = product_of(lab).fleet({Reports(): 3, Listens(): 2}).start(every=60)
        ticks = ticks_of(run)
        run.pause()
        while ticks.get(timeout=30).devices != {"paused": 5}:
            pass
        run.resume()
        while "paused" in ticks.get(timeout=30).devices:
            pass
        run.stop()
        assert run.failures.empty
        assert run.frame()["paused"].max() == 5


def test_results_of_a_run_remain_after_its_lab_is_closed() -> None:
    with Lab(seed=7) as lab:
        run = product_of(lab).fleet(2, Reports).run(minutes=5)
        shown = run.devices()
    assert run.devices().equals(shown)
    assert run.frame()["requests"].sum() == 10


@pytest.fixture
def interrupts() -> Iterator[None]:
    """As in a kernel: SIGINT raises KeyboardInterrupt, whatever earlier tests set."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_of_the_cell_ends_the_run(lab: Lab) -> None:
    product = product_of(lab)
    came = written(lab)
    fleet = product.fleet(3, Reports)

    def interrupt() -> None:
        came.wait(30)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        fleet.run(days=10_000)
    assert fleet.last is not None
    assert fleet.last.done
    lab.clock.advance(1)
    assert fleet.run(minutes=5).frame()["requests"].sum() == 15  # and it can run again


def test_a_lab_that_closes_ends_its_runs() -> None:
    with Lab(seed=7) as lab:
        product = product_of(lab)
        came = written(lab)
        run = product.fleet({Reports: 3, Listens: 2}).start(days=10_000)
        assert came.wait(30)
    assert run.done


@pytest.mark.parametrize("speed", [None, 3600])
def test_a_run_on_a_running_clock(speed: float | None) -> None:
    with Lab(speed=speed) as lab:
        product = product_of(lab)
        came = written(lab)
        run = product.fleet({Reports(every=0.01): 3, Listens: 2}).start()
        assert came.wait(30)
        run.stop()
        assert run.failures.empty
        timings = run.timings()
        assert timings.real > 0
        assert 0 < timings.p50 <= timings.p90 <= timings.p99 <= timings["max"] < timings.real


@pytest.mark.filterwarnings("ignore:.*time.sleep waits real time")
def test_real_time_makes_no_device_reconnect() -> None:
    class Slow(Reports):
        async def run(self, device: FleetDevice) -> None:
            await device.write(temperature=1)
            time.sleep(0.15)  # real time  # noqa: ASYNC251
            await device.sleep(hours=1)
            await device.write(temperature=2)
            device.note(connections=device.connection.opened)

    with Lab(seed=7, guard={"keep_alive": 0.05}) as lab:
        shown = product_of(lab).fleet(5, Slow).run(hours=2).devices()
        assert list(shown.connections) == [1] * 5


@pytest.mark.parametrize("auth", ["token", "password", "certificate"])
def test_every_kind_of_credentials_is_provisioned(lab: Lab, auth: str) -> None:
    class Renews(Behaviour):
        async def run(self, device: FleetDevice) -> None:
            await device.write(temperature=1)
            await device.activate()
            await device.write(temperature=2)

    fleet = product_of(lab, auth=auth).fleet(3, Renews)
    for _ in range(2):  # the second run has the credentials of the first one
        run = fleet.run(minutes=5)
        assert run.failures.empty
        assert list(run.devices().state) == ["ended"] * 3
    assert lab.sql("select * from datapoint where value = '2'").shape[0] == 3


@pytest.mark.parametrize("format", ["base10", "base16", "uuid", "mac"])
def test_identities_have_the_products_format(lab: Lab, format: str) -> None:
    product = product_of(lab, identity_format={"type": format, "casing": "upper"})
    fleet = product.fleet(12, Reports)
    assert len(set(fleet.identities)) == 12
    assert fleet.identities[:3] == product.fleet(3, Reports).identities


def test_thousands_of_devices_are_provisioned_at_once(lab: Lab) -> None:
    product = product_of(lab, self_registration=False)
    assert len(product.fleet(5000, Reports)) == len(product.devices()) == 5000


def test_shapes_set_the_number_of_online_devices_and_the_times_of_requests(lab: Lab) -> None:
    class Arrives(Behaviour):
        async def run(self, device: FleetDevice) -> None:
            async for _ in device.arrivals():
                await device.write(temperature=1)

    product = product_of(lab)
    run = product.fleet(10, Reports(every=300)).run(
        hours=1, every=600, devices=Steps({0: 2, 1200: 10, 2400: 5})
    )
    assert list(run.frame()["sleeping"]) == [2, 2, 10, 10, 5, 5]
    assert list(run.frame()["waiting"]) == [8, 8, 0, 0, 5, 5]
    assert run.failures.empty
    run = product.fleet(5, Arrives, prefix="a-").run(hours=4, arrivals=Flat(0.01))
    assert run.frame()["requests"].sum() == pytest.approx(720, rel=0.1)
    assert run.latency.max == pytest.approx(0, abs=1e-6)


def test_invalid_arguments_are_errors_with_the_reason(lab: Lab) -> None:
    product = product_of(lab)
    for wrong, match in (
        (lambda: product.fleet(0, Reports), "expected a number of devices, not 0"),
        (lambda: product.fleet(3), "a number of devices and a behaviour"),
        (lambda: product.fleet(3, 5), "expected a class of labkit.Behaviour"),  # type: ignore[arg-type]
        (lambda: product.fleet(3, {Reports: 2}), "3 devices, but the behaviours are for 2"),
        (lambda: product.fleet(2, Reports, identities=["a", "a"]), "expected 2 different identities"),
        (
            lambda: product.fleet(2, Reports).repeat("t-003"),
            "no device 't-003', there are t-001 to t-002",
        ),
        (lambda: product.fleet(2, Reports).run(hours=1).requests(), "kept no requests"),
        (lambda: product.fleet(2, Reports).run(days=-1), "lasts more than 0 seconds"),
        (lambda: product.fleet(2, Reports).run(0), "lasts more than 0 seconds, not 0"),
        (lambda: product.fleet(2, Reports).run(minutes=0), "lasts more than 0 seconds, not 0"),
        (lambda: product.fleet(2, Reports).run(5, requests=1), "requests: expected True or False"),  # type: ignore[arg-type]
        (lambda: product.fleet(2, Reports, prefix=5), "prefix: expected a text .*, not 5"),  # type: ignore[arg-type]
        (lambda: product.fleet(2, Own), r"Own\(\) fails: TypeError: .*give the fleet an instance"),
        (lambda: product.fleet({Reports: "3"}), "a number of devices for .*Reports.*, not '3'"),  # type: ignore[dict-item]
        (lambda: product.fleet({Reports: -1}), "a number of devices for .*Reports.*, not -1"),
        (lambda: product.fleet({Reports: 0}), "no device at all"),
        (lambda: product.fleet({}), "no device at all"),
        (lambda: product.fleet(2, Reports, identities=["a", "a", "b"]), "expected 2 different identities"),
        (lambda: product.fleet(2, Reports, identities=[1, 2]), "identities such as .*, not 1"),  # type: ignore[list-item]
        (lambda: product.fleet(2, Reports, seed=1.5), "seed: expected a whole number"),  # type: ignore[arg-type]
        (lambda: product.fleet(2, Reports).repeat(), "one identity or several"),
        (lambda: product.fleet(2, Reports).repeat("t-001", "t-001"), "several different ones"),
        (lambda: product.fleet(2, Reports).run("5"), "seconds: expected a number, not '5'"),  # type: ignore[arg-type]
        (lambda: product.fleet(2, Reports).run(float("nan")), "seconds: expected a number, not nan"),
        (lambda: product.fleet(2, Reports).run(days=float("inf")), "days: expected a number, not inf"),
        (lambda: product.fleet(2, Reports).run(5, every="5"), "every: expected seconds"),  # type: ignore[arg-type]
        (lambda: product.fleet(2, Reports).run(5, devices=2), "devices: expected a shape"),  # type: ignore[arg-type]
        (lambda: product.fleet(2, Reports).run(5, arrivals=0.1), "arrivals: expected a shape"),  # type: ignore[arg-type]
    ):
        with pytest.raises(LabError, match=match):
            wrong()


class Loads(Behaviour):
    async def run(self, device: FleetDevice) -> None:
        async for _ in device.arrivals():
            await device.write(temperature=1)


def test_a_pause_does_not_count_as_latency() -> None:
    """Also for requests due during the pause, which are sent when the run resumes."""
    with Lab(speed=100) as lab:
        fleet = product_of(lab).fleet(1, Loads)
        run = fleet.start(arrivals=Flat(1), every=10, requests=True)
        ticks = ticks_of(run)
        while not ticks.get(timeout=30).requests:
            pass
        run.pause()
        before = lab.clock.time
        while lab.clock.time < before + 300:
            ticks.get(timeout=30)
        run.resume()
        sent = 0
        while sent < 300:
            sent += ticks.get(timeout=30).requests
        run.stop()
        assert run.latency.max < 150
        assert run.requests()["latency"].max() < 150
