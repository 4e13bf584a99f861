"""Device2: what scripts do with the devices of their solution's products, and with no others."""

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


@pytest.fixture
def stranger(lab: Lab) -> Solution:
    """Another tenant, with a product of its own whose devices have the same identities."""
    product = lab.product("lamp", resources=RESOURCES)
    product.device("t-001").activate().write(message="the stranger's")
    return lab.solution("stranger", products=[product])


def call(solution: Solution, operation: str, **parameters: Any) -> Any:
    return solution.call("Device2", operation, parameters)


def status(solution: Solution, operation: str, **parameters: Any) -> int:
    result = call(solution, operation, **parameters)
    return int(result["status"]) if "error" in result else 200


def test_what_the_cloud_sets_answers_who_polls_and_is_read(
    lab: Lab, thermostat: Product, acme: Solution, stranger: Solution
) -> None:
    device = thermostat.device("t-001").activate()
    poll, other = device.start_poll("target", timeout=60), device.start_poll("message", timeout=60)
    lab.clock.advance(1.5)
    assert call(acme, "setIdentityState", identity="t-001", target=21.5, message="on & off = ü") == {}
    assert (poll.result(), other.result()) == ("21.5", "on & off = ü")
    point = poll.point()
    assert point is not None
    assert point.modified == str(int(lab.clock.now.timestamp()))
    assert device.read("target", "message") == {"target": "21.5", "message": "on & off = ü"}
    assert status(stranger, "getIdentityState", identity="t-001") == 200
    assert "target" not in call(stranger, "getIdentityState", identity="t-001")


def test_reported_and_set_are_told_apart(lab: Lab, thermostat: Product, acme: Solution) -> None:
    def state() -> Any:
        return call(acme, "getIdentityState", identity="t-001")

    device = thermostat.device("t-001").activate()
    assert state() == {}
    begun = int(lab.clock.now.timestamp())
    device.write(target=18, temperature=20.5)
    assert state() == {
        "target": {"reported": "18", "timestamp": begun * 1_000_000},
        "temperature": {"reported": "20.5", "timestamp": begun * 1_000_000},
    }
    call(acme, "setIdentityState", identity="t-001", target=21)  # in the same second
    assert state()["target"] == {"reported": "18", "set": "21", "timestamp": begun * 1_000_000}
    lab.clock.advance(2)
    call(acme, "setIdentityState", identity="t-001", target=22)
    assert state()["target"] == {"reported": "18", "set": "22", "timestamp": (begun + 2) * 1_000_000}
    device.write(target=19)
    assert state()["target"] == {"reported": "19", "set": "22", "timestamp": (begun + 2) * 1_000_000}
    call(acme, "setIdentityState", identity="t-001", target=23)
    assert state()["target"] == {"reported": "19", "set": "23", "timestamp": (begun + 2) * 1_000_000}
    assert call(acme, "getIdentity", identity="t-001")["state"] == state()


def test_it_raises_no_event_so_a_handler_may_answer(lab: Lab, thermostat: Product, acme: Solution) -> None:
    acme.on(
        "device",
        "datapoint",
        lua='Device2.setIdentityState({pid = data.pid, identity = data.device_sn, message = "got " .. data.value[2]})',
    )
    device = thermostat.device("t-001").activate()
    poll = device.start_poll("message", timeout=60)
    device.write(temperature=20)
    assert poll.result() == "got 20"
    lab.settle()
    kinds = lab.journal.frame()
    assert list(kinds[kinds["kind"] == "event"]["summary"]) == ["provisioned", "data_in", "datapoint"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (21, "21"),
        (21.0, "21"),
        (-0.5, "-0.5"),
        (1e300, "1e+300"),
        (True, "true"),
        ("", ""),
        ("a=b&c%", "a=b&c%"),
    ],
)
def test_values_become_texts(thermostat: Product, acme: Solution, value: object, text: str) -> None:
    device = thermostat.device("t-001").activate()
    assert call(acme, "setIdentityState", identity="t-001", message=value) == {}
    assert device.read("message") == ({"message": text})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"speed": 5}, "Parameter speed: no resource of product thermostat."),
        (
            {"temperature": 5},
            "Parameter temperature: the cloud may not set it, the resource is not settable.",
        ),
        ({"message": "ok", "target": "warm"}, "Parameter target: expected a number."),
        (
            {"message": {"a": 1}},
            "Parameter message validation failed: expected a number, a boolean or a text",
        ),
        (
            {"message": "\ud800"},
            "Parameter message validation failed: expected a number, a boolean or a text",
        ),
        ({}, "expected at least one <alias> = <value>"),
    ],
)
def test_what_cannot_be_set_changes_nothing(
    thermostat: Product, acme: Solution, values: dict[str, Any], expected: str
) -> None:
    device = thermostat.device("t-001").activate()
    result = call(acme, "setIdentityState", identity="t-001", **values)
    assert result["status"] == 400
    assert result["error"].startswith(expected)
    assert device.read("message", "target", "temperature") == {}


def test_identities_are_added_found_counted_and_removed(
    thermostat: Product, acme: Solution, stranger: Solution
) -> None:
    for number in range(1, 4):
        assert call(acme, "addIdentity", identity=f"t-{number:03d}") == {}
    thermostat.device("t-002").activate()
    thermostat.allow("u-001")
    assert status(acme, "addIdentity", identity="t-002") == 409
    assert status(acme, "addIdentity", identity="t\n") == 400
    listed = call(acme, "listIdentities", identity="t-*")["devices"]
    assert [each["identity"] for each in listed] == ["t-001", "t-002", "t-003"]
    assert listed[1] == {"identity": "t-002", "pid": "thermostat", "status": "provisioned", "locked": False}
    assert [each["identity"] for each in call(acme, "listIdentities", limit=1, offset=1)["devices"]] == [
        "t-002"
    ]
    assert call(acme, "countIdentities") == {"count": 4}
    assert call(acme, "countIdentities", status="provisioned") == {"count": 1}
    assert call(stranger, "countIdentities") == {"count": 1}
    assert call(stranger, "removeIdentity", identity="t-001") == {}
    assert status(acme, "getIdentity", identity="t-001") == 200  # it was the stranger's own
    device = thermostat.device("t-002")
    poll = device.start_poll("target", timeout=60)
    assert call(acme, "removeIdentity", identity="t-002") == {}
    with pytest.raises(Exception, match="401"):  # what it held open has ended
        poll.result()
    for operation in ("getIdentity", "getIdentityState", "removeIdentity"):
        assert status(acme, operation, identity="t-002") == 404
    assert status(acme, "setIdentityState", identity="t-002", target=1) == 404


def test_of_several_products_one_is_named(lab: Lab, thermostat: Product) -> None:
    lab.product("lamp", resources=RESOURCES)
    lab.product("others", resources=RESOURCES).allow("x-1")
    both = lab.solution("both", products=["thermostat", "lamp"], aliases={"Lightbulb": "lamp"})
    nothing = lab.solution("nothing")
    assert status(both, "addIdentity", identity="a") == 400
    assert "thermostat, lamp" in call(both, "addIdentity", identity="a")["error"]
    assert call(both, "addIdentity", identity="a", pid="lamp") == {}
    assert status(both, "getIdentity", identity="a", pid="thermostat") == 404
    assert status(both, "getIdentity", identity="x-1", pid="others") == 404  # none of its own
    assert status(nothing, "countIdentities") == 404
    assert both.call("Lightbulb", "countIdentities", {}) == {"count": 1}
    assert both.call("Lightbulb", "getIdentity", {"identity": "a", "pid": "thermostat"})["status"] == 404
    assert nothing.call("Lightbulb", "countIdentities", {})["status"] == 404
    both.route("GET", "/count", lua="return Lightbulb.countIdentities()")
    assert both.get("/count").json() == {"count": 1}
    assert sorted(each["service"] for each in both.Config.listServices()).count("Lightbulb") == 1


def test_aliases_are_checked(lab: Lab, thermostat: Product) -> None:
    for wrong, expected in (
        ({"Lightbulb": "thermostat", "Lamp": "lamp"}, "aliases.Lamp: 'lamp' is none of its products"),
        ({"Keystore": "thermostat"}, "aliases.Keystore: there is a service of this name"),
        ({"bulb": "thermostat"}, "a capital letter"),
    ):
        with pytest.raises(SettingsError, match=expected):
            lab.solution("acme", products=["thermostat"], aliases=wrong)


def test_what_was_set_survives_a_restart(tmp_path: Any) -> None:
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
