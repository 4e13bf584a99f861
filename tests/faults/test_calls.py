"""Faults of service calls from cells and scripts, in two solutions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from labkit import Lab, LabError, LabWarning


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(seed=7) as lab:
        lab.product("thermostat", resources={"message": "string"})
        for name in ("acme", "other"):
            solution = lab.solution(name, products=["thermostat"])
            solution.route(
                "GET",
                "/count",
                lua='return {value = Keystore.command{key = "n", command = "incr", args = {}}}',
            )
        yield lab


def test_a_fault_before_the_call_returns_an_error_object(lab: Lab) -> None:
    acme, other = lab.solution("acme"), lab.solution("other")
    fault = lab.faults.add("Keystore.set", status=503, solution="acme", first=1, name="down")
    refused = acme.Keystore.set(key="a", value="1")
    assert (refused["status"], refused["error"], refused["type"]) == (503, "fault down", "ServerError")
    assert acme.Keystore.get(key="a").get("value") is None
    assert "error" not in other.Keystore.set(key="a", value="1")
    assert "error" not in acme.Keystore.set(key="a", value="2")
    assert (fault.hits, fault.seen) == (1, 1)


def test_a_fault_after_the_call_replaces_its_result(lab: Lab) -> None:
    acme = lab.solution("acme")
    lab.faults.add("Keystore.*", status=504, body="no answer in time", when="after", first=1)
    lost = acme.get("/count").json()["value"]
    assert (lost["status"], lost["error"]) == (504, "no answer in time")
    assert acme.get("/count").json()["value"]["value"] == 2


def test_a_lost_call_returns_success(lab: Lab) -> None:
    acme, other = lab.solution("acme"), lab.solution("other")
    for each in (acme, other):
        each.User.createRole(role_id="guest")
    fault = lab.faults.add(
        "User.deleteRole", lost=True, solution="acme", if_given={"role_id": "guest"}, first=1
    )
    assert acme.User.deleteRole(role_id="guest") is None
    assert acme.User.getRole(role_id="guest")["role_id"] == "guest"
    other.User.deleteRole(role_id="guest")
    assert other.User.getRole(role_id="guest")["status"] == 404
    assert acme.User.deleteRole(role_id="nobody")["status"] == 404
    acme.User.deleteRole(role_id="guest")
    assert acme.User.getRole(role_id="guest")["status"] == 404
    assert (fault.hits, fault.seen) == (1, 1)


def test_fields_of_results_and_of_error_objects_are_changed(lab: Lab) -> None:
    acme = lab.solution("acme")
    acme.User.createUser(email="ann@example.com", name="Ann", password="correct horse")
    lab.faults.add("User.listUsers", drop="creation_date", replace={"name": None})
    [user] = acme.User.listUsers()
    assert ("creation_date" in user, user["name"], user["email"]) == (False, None, "ann@example.com")
    lab.faults.add("User.getUser", drop="status", if_status=404)
    assert "status" not in acme.User.getUser(id=99)
    assert acme.User.getUser(id=1)["status"] == 0


def test_each_replaced_result_is_a_copy(lab: Lab) -> None:
    acme = lab.solution("acme")
    lab.faults.add("Config.*", body={"list": []})
    first = (
        acme.Config.solutionConfig()
        if "solutionConfig" in dir(acme.Config)
        else acme.call("Config", dir(acme.Config)[0])
    )
    assert first == {"list": []}
    first["list"].append(1)
    assert acme.call("Config", dir(acme.Config)[0]) == {"list": []}


def test_a_refused_call_gets_no_fault_before_the_work(lab: Lab) -> None:
    acme = lab.solution("acme")
    fault = lab.faults.add("*.*", status=500)
    with pytest.warns(LabWarning, match="there is no service 'Nothing'"):
        assert acme.call("Nothing", "at", {})["status"] == 404
    assert acme.call("Keystore", "get", {})["status"] == 400
    assert fault.seen == 0


def test_the_journal_has_the_run_of_the_affected_call(lab: Lab) -> None:
    acme = lab.solution("acme")
    lab.faults.add("Keystore.command", status=500)
    acme.get("/count")
    [hit] = lab.journal.select("fault")
    [run] = [each for each in lab.journal.select("script", "acme") if each.sequence == hit.cause]
    [call] = lab.journal.select("call")
    assert (hit.actor, run.summary, call.status, call.cause) == ("acme", "GET /count", 500, run.sequence)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_delayed_script_is_no_pending_work(lab: Lab, when: Any) -> None:
    acme, other = lab.solution("acme"), lab.solution("other")
    lab.faults.add("Keystore.*", delay=5, when=when, solution="acme")
    waiting = lab.begin(acme.get, "/count")
    lab.settle()
    assert other.get("/count").json()["value"]["value"] == 1
    lab.clock.advance(4.9)
    assert not waiting.done
    lab.clock.advance(0.1)
    assert waiting.result().json()["value"]["value"] == 1


def test_a_cell_that_would_wait_for_ever_raises(lab: Lab) -> None:
    acme = lab.solution("acme")
    device = lab.product("thermostat").device("t-1").activate()
    lab.faults.add("Keystore.*", delay=5, name="slow")
    for call in (lambda: acme.get("/count"), lambda: acme.Keystore.get(key="x")):
        with pytest.raises(LabError, match="the fault 'slow' would delay this for ever"):
            call()
    device.write(message="no call is made")
    lab.faults.clear()
    lab.faults.add("* /*", delay=5, product="thermostat")
    for ask in (lambda: device.write(message="x"), device.timestamp, device.content):
        with pytest.raises(LabError, match=r"'fault 1' would delay .* lab.begin\(device.write"):
            ask()
    begun = lab.begin(device.read, "message")
    with pytest.raises(LabError, match="a fault delays this still"):
        begun.result()
    lab.clock.advance(5)
    assert begun.result() == {"message": "no call is made"}


def test_a_poll_that_a_fault_delays(lab: Lab) -> None:
    device = lab.product("thermostat").device("t-1").activate()
    lab.faults.add("GET /onep:v1/stack/alias", delay=5, when="before", first=1)
    lab.faults.add("GET /onep:v1/stack/alias", delay=7, when="after", first=1)
    poll = device.start_poll("message", timeout=10)
    with pytest.raises(LabError, match="the clock stands still"):
        poll.result()
    lab.clock.advance(5)
    device.write(message="x")
    lab.settle()
    assert not poll.done
    lab.clock.advance(7)
    assert poll.result() == "x"


def test_a_call_behind_a_delayed_one_is_no_pending_work(lab: Lab) -> None:
    device = lab.product("thermostat").device("t-1").activate()
    keep = 'Keystore.command{key = "seen", command = "rpush", args = {data.value[2]}}'
    acme = lab.solution("acme")
    acme.on("device", "datapoint", lua=keep)
    lab.faults.add("Keystore.command", delay=5, solution="acme", first=2)
    for value in "abc":
        device.write(message=value)
    lab.settle()  # the first call is delayed, and the others wait for it
    lab.clock.advance(9.9)
    lab.clock.advance(0.1)
    seen = acme.Keystore.command(key="seen", command="lrange", args=[0, -1])
    assert seen["value"] == ["a", "b", "c"]


def test_concurrent_calls_of_one_run(lab: Lab) -> None:
    acme = lab.solution("acme")

    async def several(services: Any) -> object:
        names = ("a", "b", "c")
        await asyncio.gather(*(services.Keystore.set(key=each, value=each) for each in names))
        return await asyncio.gather(*(services.Keystore.get(key=each) for each in names))

    acme.route("GET", "/several", several)
    lab.faults.add("Keystore.set", delay=5)
    begun = lab.begin(acme.get, "/several")
    lab.settle()
    lab.clock.advance(5)
    assert [each["value"] for each in begun.result().json()] == ["a", "b", "c"]
    device = lab.product("thermostat").device("t-1").activate()
    device.write(message="the count of activities is right")
    lab.settle()
