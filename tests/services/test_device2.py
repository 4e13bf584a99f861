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
