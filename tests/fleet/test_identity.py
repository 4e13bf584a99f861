"""Fleets with common devices: a device has one credential, and is in one run at a time."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from labkit import Behaviour, Lab, LabError
from labkit.fleet.fleet_device import FleetDevice
from labkit.lab.product import Product


class Reports(Behaviour):
    async def run(self, device: FleetDevice) -> None:
        while True:
            await device.write(temperature=self.random.randrange(40))
            await device.sleep(60)


class Counts(Behaviour):
    async def run(self, device: FleetDevice) -> None:
        while True:
            await device.count()
            await device.sleep(60)


class Renews(Behaviour):
    """Behaviour of devices whose credentials are replaced, where the platform allows it."""

    async def run(self, device: FleetDevice) -> None:
        await device.activate()
        await device.write(temperature=1)


def product_of(lab: Lab, **settings: Any) -> Product:
    resources = {"temperature": "number", "count": "number"}
    return lab.product("thermostat", resources=resources, **settings)


@pytest.mark.parametrize("auth", ["token", "password", "certificate"])
def test_an_older_fleet_uses_the_credentials_that_a_newer_one_of_its_devices_got(lab: Lab, auth: str) -> None:
    product = product_of(lab, auth=auth)
    older, newer = product.fleet(3, Reports, seed=1), product.fleet(2, Reports, seed=2)
    for fleet in (older, newer, older):
        run = fleet.run(minutes=5)
        assert run.failures.empty
        assert run.frame()["requests"].sum() == 5 * len(fleet)
        assert run.frame()["errors"].sum() == 0


def test_credentials_of_a_device_are_shared_by_all_fleets(lab: Lab) -> None:
    product = product_of(lab, auth="password", identity_format={"type": "opaque"})
    fleet, other = product.fleet(3, Reports), product.fleet(3, Renews)
    assert other.run(minutes=1).devices().state.tolist() == ["ended"] * 3
    assert fleet.run(minutes=2).failures.empty
    assert fleet.repeat("t-002").run(minutes=2).failures.empty
    assert other.repeat("t-002").run(minutes=2).devices().epoch.tolist() == [4]


def test_a_device_is_in_one_run_at_a_time_and_a_refused_run_reserves_none() -> None:
    with Lab(speed=3600) as lab:
        product = product_of(lab)
        fleet = product.fleet(3, Counts)
        other = fleet.repeat("t-002")
        run = fleet.start(accounts=True)
        ticked = threading.Event()
        run.on_tick(lambda tick: ticked.set() if tick.requests else None)
        for refused in (
            lambda: other.run(minutes=5, accounts=True),
            lambda: product.fleet(4, Reports),
            lambda: product.fleet(1, Reports, identities=["t-003"]),
        ):
            with pytest.raises(LabError, match=r"device 't-00\d' is in the run of another fleet: wait\(\)"):
                refused()
        assert product.fleet(2, Reports, prefix="o-").run(minutes=5).failures.empty
        assert ticked.wait(30)
        run.stop()
        assert run.failures.empty
        assert run.losses["lost"].sum() == 0
        assert run.losses["handled"].sum() > 0
        assert other.run(minutes=5, accounts=True).losses["handled"].sum() > 0


def test_a_fleet_from_before_a_reset_is_an_error_and_a_new_one_starts_afresh(lab: Lab) -> None:
    product = product_of(lab)
    fleet = product.fleet(2, Reports)
    first = fleet.run(minutes=5)
    lab.reset()
    with pytest.raises(
        LabError, match="'t-001' holds no credentials since the lab was reset: make the fleet"
    ):
        fleet.run(minutes=5)
    again = product.fleet(2, Reports).run(minutes=5)
    assert again.frame().equals(first.frame())
    assert again.devices().epoch.tolist() == [1, 1]


def test_a_reset_during_a_run_leaves_no_state_of_it() -> None:
    with Lab(speed=3600) as lab:
        product = product_of(lab)
        fleet = product.fleet(2, Reports)
        run = fleet.start()
        ticked = threading.Event()
        run.on_tick(lambda _: ticked.set())
        assert ticked.wait(30)
        lab.reset()
        run.stop()
        with pytest.raises(LabError, match="since the lab was reset"):
            fleet.run(minutes=5)


def test_a_run_that_cannot_begin_releases_its_devices() -> None:
    with Lab(speed=3600) as lab:
        fleet = product_of(lab).fleet(2, Reports)
        with pytest.raises(LabError, match="no scheduler"):
            fleet.run(minutes=5, cluster="nowhere")
        assert fleet.run(minutes=5).failures.empty
