"""Behaviours that provision their devices themselves, and refusals that they understand."""

from __future__ import annotations

from typing import Any

import pytest

from labkit import Behaviour, DeviceError, Lab, NoAnswerError
from labkit.fleet.device import Credentials
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.lab.run import Run

pytestmark = pytest.mark.timeout(60)
ACTIVATE = "POST /provision/activate"


class Activates(Behaviour):
    """Behaviour that activates its device until the platform answers, and writes."""

    async def run(self, device: FleetDevice) -> None:
        for _ in range(3):
            try:
                await device.activate()
                break
            except EXCHANGE_ERRORS as error:
                device.note(f"{error.status}" if isinstance(error, DeviceError) else "no answer")
                await device.sleep(10)
        try:
            await device.write(a=1)
            device.note(written=True)
        except DeviceError as error:
            device.note(written=error.status)


class KeepsPassword(Behaviour):
    """Behaviour that keeps the password that it sends, and uses it once the platform says that there is one."""

    async def run(self, device: FleetDevice) -> None:
        sent = f"secret of {device.identity} ÄÖ 12345"
        try:
            await device.activate(password=sent)
        except NoAnswerError:
            await device.sleep(10)
            with pytest.raises(DeviceError, match="409"):
                await device.activate(password="another secret, as long")
            await device.use(Credentials(password=sent))
        await device.write(a=1)


def run_of(lab: Lab, behaviour: Any, auth: str = "token", **options: Any) -> Run:
    product = lab.product("thermostat", auth=auth, resources={"a": "number"})  # type: ignore[arg-type]
    return product.fleet(2, behaviour, provisioned=False).run(minutes=5, **options)


@pytest.mark.parametrize("auth", ["token", "password", "certificate"])
def test_devices_without_credentials_activate(lab: Lab, auth: str) -> None:
    run = run_of(lab, Activates, auth)
    assert list(run.devices("note")["note"].isna()) == [True, True]
    assert list(run.devices()["written"]) == [True, True]


def test_the_cut_answer_of_an_activation_is_seen(lab: Lab) -> None:
    """The platform has given a token away that nobody has: it refuses to give another one."""
    lab.faults.add(ACTIVATE, cut="after", identity="t-001", first=1)
    run = run_of(lab, Activates)
    assert [each.value for each in run.notes("t-001")] == ["no answer", "409", "409", 401]
    assert run.devices()["written"].loc["t-002"] is True


def test_a_device_keeps_the_password_that_it_sent(lab: Lab) -> None:
    lab.faults.add(ACTIVATE, cut="after", identity="t-001", first=1)
    run = run_of(lab, KeepsPassword, "password", check=True)
    assert list(run.devices()["state"]) == ["ended", "ended"]
    assert "secret of" not in lab.journal.canonical()


def test_it_keeps_it_for_the_next_run(lab: Lab) -> None:
    product = lab.product("thermostat", auth="password", resources={"a": "number"})

    class OnceOnly(Behaviour):
        """Behaviour that activates in its first run."""

        async def run(self, device: FleetDevice) -> None:
            if device.epoch == 1:
                await device.activate(password="kept for the next run: é")
            await device.write(a=1)

    fleet = product.fleet(1, OnceOnly, provisioned=False)
    for _ in range(2):
        fleet.run(minutes=1, check=True)


def test_a_new_fleet_without_credentials_ends_those_of_the_last_one(lab: Lab) -> None:
    product = lab.product("thermostat", resources={"a": "number"})
    first = product.fleet(2, Activates)
    run = product.fleet(2, Activates, provisioned=False).run(minutes=1)
    assert list(run.devices()["written"]) == [True, True]
    assert len(first) == 2


def test_a_password_needs_a_product_with_passwords(lab: Lab) -> None:
    run = run_of(lab, KeepsPassword)
    assert "activate: a device with auth='token' sends no password" in run.failed[0].error


def test_the_conflicts_of_a_record_are_parsed(lab: Lab) -> None:
    found: list[dict[str, int]] = []

    class Records(Behaviour):
        """Behaviour that records moments that are less than a second apart."""

        async def run(self, device: FleetDevice) -> None:
            now = int(device.now())
            points: dict[str, dict[float, object]] = {
                "a": {now - 20: 3, now - 19.5: 4},
                "odd.name-$": {-5: "y", -4.5: "z"},
                "b": {-1: 1},
            }
            try:
                await device.record(points)
            except DeviceError as error:
                found.append({alias: when - now for alias, when in error.conflicts.items()})
            try:
                await device.activate(anew=True)
            except DeviceError as error:
                found.append(error.conflicts)

    product = lab.product("thermostat", resources={"a": "number", "odd.name-$": "string", "b": "string"})
    product.fleet(1, Records).run(minutes=1, check=True)
    assert found == [{"a": -20, "odd.name-$": -5}, {}]
