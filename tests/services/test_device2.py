"""Device2 beyond the checks (solutions/devices): hostile texts, settings, restarts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from labkit import Lab, SettingsError
from labkit.lab.product import Product
from labkit.lab.solution import Solution

RESOURCES: dict[str, Any] = {
    "temperature": "number",
    "target": {"format": "number", "settable": True},
    "message": {"format": "string", "settable": True},
}


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(seed=7) as lab:
        yield lab


@pytest.fixture
def thermostat(lab: Lab) -> Product:
    return lab.product("thermostat", resources=RESOURCES)


@pytest.fixture
def acme(lab: Lab, thermostat: Product) -> Solution:
    return lab.solution("acme", products=[thermostat])


def call(solution: Solution, operation: str, **parameters: Any) -> Any:
    return solution.call("Device2", operation, parameters)


def status(solution: Solution, operation: str, **parameters: Any) -> int:
    result = call(solution, operation, **parameters)
    return int(result["status"]) if "error" in result else 200


def test_an_identity_of_invalid_unicode_is_refused(acme: Solution) -> None:
    for operation in ("addIdentity", "getIdentity", "removeIdentity", "listIdentities"):
        assert status(acme, operation, identity="\ud800") == 400


def test_aliases_are_validated(lab: Lab, thermostat: Product) -> None:
    for wrong, expected in (
        ({"Lightbulb": "thermostat", "Lamp": "lamp"}, "aliases.Lamp: 'lamp' is none of its products"),
        ({"Keystore": "thermostat"}, "aliases.Keystore: there is a service of this name"),
        ({"bulb": "thermostat"}, "a capital letter"),
    ):
        with pytest.raises(SettingsError, match=expected):
            lab.solution("acme", products=["thermostat"], aliases=wrong)


def test_set_values_survive_a_restart(tmp_path: Any) -> None:
    with Lab(seed=7, data=str(tmp_path / "lab.db")) as lab:
        device = lab.product("thermostat", resources=RESOURCES).device("t-001").activate()
        acme = lab.solution("acme", products=["thermostat"])
        device.write(target=18)
        call(acme, "setIdentityState", identity="t-001", target=21)
        before = call(acme, "getIdentityState", identity="t-001")
        lab.restart()
        assert call(acme, "getIdentityState", identity="t-001") == before
        assert before["target"].items() >= {"reported": "18", "set": "21"}.items()
        lab.reset()
        assert status(acme, "getIdentityState", identity="t-001") == 404


def test_resources_follow_the_settings_of_the_product(thermostat: Product, acme: Solution) -> None:
    assert call(acme, "getGatewayResource", alias="temperature") == {
        "alias": "temperature",
        "format": "number",
        "unit": "",
        "settable": False,
        "allowed": [],
    }
    rules = ["on", 2.5, True, {"min": -1, "max": 1}]
    thermostat.settings.change(
        resources={"mode": {"format": "string", "unit": "ü \N{BELL}", "allowed": rules}}, provisioning=False
    )
    found = call(acme, "getGatewayResourceList")
    assert found == {"mode": {"format": "string", "unit": "ü \N{BELL}", "settable": False, "allowed": rules}}
    assert call(acme, "getGatewaySettings")["provisioning"] == {"enabled": False}
    assert status(acme, "getGatewayResource", alias="temperature") == 404
    for alias in ("", "x" * 65, 5, None, "\ud800"):
        assert status(acme, "getGatewayResource", alias=alias) in (400, 404)


def test_a_product_without_resources(lab: Lab) -> None:
    solution = lab.solution("bare", products=[lab.product("bare")])
    assert call(solution, "getGatewayResourceList") == {}


def test_what_scripts_change_of_a_product_lasts_until_a_reset_or_a_change_of_the_same(tmp_path: Any) -> None:
    def shown(solution: Solution) -> tuple[list[str], object]:
        found = call(solution, "getGatewayResourceList")
        return sorted(found), call(solution, "getGatewaySettings")["provisioning"]

    data = str(tmp_path / "lab.db")
    changed = ["message", "pump", "target"], {"enabled": False}
    with Lab(seed=7, data=data) as lab:
        acme = lab.solution("acme", products=[lab.product("thermostat", resources=RESOURCES)])
        call(acme, "addGatewayResource", alias="pump", format="boolean")
        call(acme, "removeGatewayResource", alias="temperature")
        call(acme, "updateGatewaySettings", provisioning={"enabled": False})
        assert shown(acme) == changed
        lab.restart()  # as after a loss of power
        assert shown(acme) == changed
    with Lab(seed=7, data=data) as lab:
        thermostat = lab.product("thermostat", resources=RESOURCES)
        acme = lab.solution("acme", products=[thermostat])
        assert shown(acme) == changed
        thermostat.settings.change(provisioning=True)
        assert shown(acme) == (changed[0], {"enabled": True})
    with Lab(seed=7, data=data) as lab:
        acme = lab.solution("acme", products=[lab.product("thermostat", resources=RESOURCES)])
        assert shown(acme) == (changed[0], {"enabled": True})
        lab.reset()
        assert shown(acme) == (sorted(RESOURCES), {"enabled": True})


def test_a_snapshot_has_what_scripts_changed_which_a_reset_forgets(lab: Lab, acme: Solution) -> None:
    lab.product("thermostat").device("t-001").activate().write(temperature=20)
    call(acme, "addGatewayResource", alias="pump")
    seen = call(acme, "getIdentity", identity="t-001")["lastseen"]
    saved = lab.snapshot()
    with Lab(seed=7) as other:
        other.restore(saved)
        there = other.solution("acme")
        assert sorted(call(there, "getGatewayResourceList")) == sorted([*RESOURCES, "pump"])
        assert call(there, "getIdentity", identity="t-001")["lastseen"] == seen
        other.reset()
        assert sorted(call(there, "getGatewayResourceList")) == sorted(RESOURCES)


def test_a_product_has_a_bounded_number_of_resources(lab: Lab) -> None:
    full = lab.product("full", resources={f"r{number}": "string" for number in range(1000)})
    solution = lab.solution("acme", products=[full])
    assert status(solution, "addGatewayResource", alias="one-more") == 403


def test_a_value_is_refused_while_too_many_events_of_its_device_wait(lab: Lab, acme: Solution) -> None:
    call(acme, "addIdentity", identity="t-001")
    acme.on(
        "device2",
        "data_out",
        lua="""
        if event.payload[1].values.target ~= "1" then return end
        for number = 2, 1500 do
          local found = Device2.setIdentityState{identity = event.identity, target = number}
          if found.status then
            Keystore.set{key = "refused", value = number .. ": " .. found.status}
            return
          end
        end
        """,
    )
    call(acme, "setIdentityState", identity="t-001", target=1)
    lab.settle()
    assert acme.Keystore.get(key="refused")["value"] == "1001: 503"


def test_events_of_connections_are_not_raised_without_a_handler(
    thermostat: Product, acme: Solution, lab: Lab
) -> None:
    thermostat.device("t-001").activate().write(temperature=20)
    call(acme, "setIdentityState", identity="t-001", target=21)
    call(acme, "removeIdentity", identity="t-001")
    lab.clock.advance(minutes=5)
    types = [each.summary for each in lab.journal.select("event")]
    assert sorted(types) == ["data_in", "datapoint", "provisioned"]
