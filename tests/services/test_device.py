"""The older service Device beyond the checks (solutions/rpc): restarts, replays, the journal, simulated fleets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab
from labkit.devices.identities import resource_id
from labkit.lab.product import Product
from labkit.lab.solution import Solution

RESOURCES: dict[str, Any] = {"temperature": "number", "message": "string"}
TEMPERATURE = {"alias": "temperature"}


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


def rpc(solution: Solution, procedure: str, *arguments: object, client: str = "") -> Any:
    calls = [{"id": 1, "procedure": procedure, "arguments": arguments}]
    auth = {"client_id": client} if client else {}
    result = solution.call("Device", "rpcCall", {"calls": calls, "auth": auth})
    return result[0] if isinstance(result, list) else result


def rid_of(solution: Solution, identity: str) -> str:
    return str(rpc(solution, "lookup", "alias", identity)["result"])


def test_rids_and_datapoints_survive_a_restart(tmp_path: Path) -> None:
    with Lab(seed=7, data=str(tmp_path / "lab.db")) as lab:
        lab.product("thermostat", resources=RESOURCES).device("t-001").activate()
        acme = lab.solution("acme", products=["thermostat"])
        rid = rid_of(acme, "t-001")
        rpc(acme, "write", TEMPERATURE, 21.5, client=rid)
        acme.Device2.addIdentityTag(identity="t-001", tags=[{"name": "room", "value": "hall"}])
        before = rpc(acme, "read", TEMPERATURE, client=rid)
        lab.restart()
        assert rid_of(acme, "t-001") == rid
        assert rpc(acme, "read", TEMPERATURE, client=rid) == before
        assert acme.Device2.getIdentityTag(identity="t-001") == {"tags": [{"name": "room", "value": "hall"}]}
        lab.reset()
        assert rpc(acme, "read", TEMPERATURE, client=rid)["status"] == 401
        acme.Device2.addIdentity(identity="t-001")
        assert acme.Device2.getIdentityTag(identity="t-001") == {"tags": []}
        assert rpc(acme, "read", TEMPERATURE, client=rid)["result"] == []


def test_a_device_that_was_added_after_an_unknown_rid_is_found(thermostat: Product, acme: Solution) -> None:
    for identity in ("t-001", "t-002", "t-003"):
        rid, own = (resource_id("thermostat", identity, alias) for alias in ("", "message"))
        assert rpc(acme, "info", rid)["status"] == "invalid"
        if identity == "t-001":
            acme.Device2.addIdentity(identity=identity)
        elif identity == "t-002":
            thermostat.allow(identity)
        else:
            thermostat.device(identity).activate()
        assert rpc(acme, "info", rid)["status"] == "ok"
        assert rpc(acme, "read", own, client=rid)["result"] == []


def test_rids_are_those_of_the_devices_and_resources_that_a_lab_has_now(
    lab: Lab, thermostat: Product, acme: Solution
) -> None:
    rid, own = (resource_id("thermostat", "t-001", alias) for alias in ("", "message"))

    def statuses(lab: Lab, *drops: str) -> list[object]:
        return [rpc(acme, *call)["status"] for call in (*(("drop", each) for each in drops), ("info", own))]

    assert statuses(lab) == ["invalid"]
    past = lab.snapshot()
    thermostat.allow("t-001")
    assert lab.fork(statuses, over=[rid]).results == [["ok", "invalid"]]
    assert statuses(lab) == ["ok"]
    lab.restore(past)
    assert statuses(lab) == ["invalid"]
    thermostat.allow("t-001")
    assert statuses(lab) == ["ok"]
    acme.Device2.removeGatewayResource(alias="message")
    assert statuses(lab) == ["invalid"]


def test_names_with_slashes_have_rids_of_their_own(lab: Lab) -> None:
    product = lab.product("lamp", resources={"b": "string", "c": "string"})
    acme = lab.solution("acme", products=[product])
    for identity in ("a", "a/b", "a/"):
        product.device(identity).activate()
    clients = [rid_of(acme, identity) for identity in ("a", "a/b", "a/")]
    found = [
        rpc(acme, "lookup", "alias", alias, client=each)["result"] for each in clients for alias in ("b", "c")
    ]
    assert len({*clients, *found}) == 9


def test_the_journal_hides_values_and_credentials(lab: Lab, thermostat: Product, acme: Solution) -> None:
    thermostat.device("t-001").activate()
    rpc(acme, "write", {"alias": "message"}, "open sesame", client=rid_of(acme, "t-001"))
    acme.call("Device", "write", {"device_sn": "t-001", "message": "open sesame"})
    key = "open-sesame".ljust(40, "x")
    acme.call("Device2", "updateIdentity", {"identity": "t-001", "auth": {"key": key, "type": "token"}})
    shown = str([record.detail for record in lab.journal.select("call")])
    assert "write" in shown
    assert "sesame" not in shown


def test_a_handler_that_waits_lets_others_run(lab: Lab, thermostat: Product, acme: Solution) -> None:
    """The handler of the first value waits, in lab time, for the second."""
    acme.on(
        "device",
        "datapoint",
        lua="""
        if data.value[2] == "1" then
          local found = Device.rpcCall({calls = {{
            id = 1, procedure = "wait", arguments = {data.rid, {timeout = 60000}}}}})
          Keystore.set({key = "waited", value = to_json(found[1].result)})
        end
        Keystore.set({key = "last", value = data.value[2]})
        """,
    )
    device = thermostat.device("t-001").activate()
    device.write(temperature=1)
    lab.settle()
    lab.clock.advance(seconds=30)
    assert acme.Keystore.get(key="waited") == {}
    device.write(temperature=2)
    lab.settle()
    assert acme.Keystore.get(key="waited") == {"value": f"[{int(lab.clock.now.timestamp())},2]"}


def test_hostile_values_are_refused(thermostat: Product, acme: Solution) -> None:
    device = thermostat.device("t-001").activate()
    rid = rid_of(acme, "t-001")
    for value in ("\ud800", "x" * (2**20 + 1), [1], {"a": 1}, float("inf"), float("nan")):
        alias = "temperature" if isinstance(value, float) else "message"
        assert rpc(acme, "write", {"alias": alias}, value, client=rid)["status"] == "invalid"
    times: list[object] = [float("inf"), float("nan"), True, "1", None, 1e300]
    limits: list[object] = [float("nan"), float("inf"), "5", None, [], 10_001]
    named: list[object] = [None, 5, [], {"alias": None}, {"alias": "\ud800"}, "\ud800"]
    for time in times:
        assert rpc(acme, "record", TEMPERATURE, [[time, 1]], client=rid)["status"] == "invalid"
    for limit in limits:
        assert rpc(acme, "read", TEMPERATURE, {"limit": limit}, client=rid)["status"] == "invalid"
    for which in named:
        assert rpc(acme, "read", which, client=rid)["status"] == "invalid"
        assert rpc(acme, "read", which)["status"] == "invalid"
    assert device.read("temperature", "message") == {}
    assert rpc(acme, "\ud800")["status"] == 400
