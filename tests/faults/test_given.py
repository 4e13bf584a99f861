"""Faults that change requests, and conditions on the content of requests and answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from labkit import Lab
from labkit.lab.device import Device

ALIAS = "/onep:v1/stack/alias"


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(seed=7) as lab:
        lab.product("thermostat", resources={"temperature": "number", "message": "string"})
        lab.product("lamp", resources={"message": "string"})
        acme = lab.solution("acme", products=["thermostat"])
        lab.solution("other")

        acme.route(
            "POST",
            "/echo/{name}",
            lua="return {parameters = request.parameters, body = request.body, headers = request.headers}",
        )
        yield lab


def device(lab: Lab, product: str = "thermostat", identity: str = "t-1") -> Device:
    return lab.product(product).device(identity).activate()


def write(device: Device, **values: object) -> httpx.Response:
    return device.request("POST", ALIAS, data=values)


def test_the_form_query_and_headers_of_a_device_are_changed_before_the_platform_reads_them(lab: Lab) -> None:
    one, lamp = device(lab), device(lab, "lamp", "l-1")
    upper = lab.faults.add(f"POST {ALIAS}", when="before", edit={"message": "upper"}, product="thermostat")
    assert [write(each, message="é b").status_code for each in (one, lamp)] == [204, 204]
    assert (one.read("message"), lamp.read("message")) == ({"message": "É B"}, {"message": "é b"})
    assert write(one, temperature=5).status_code == 204  # nothing to change in it
    assert (upper.hits, lab.journal.select("fault")[0].summary) == (
        1,
        f"{upper.name}: edit message, before the work",
    )
    upper.remove()
    stripped = lab.faults.add(f"* {ALIAS}", when="before", drop="@X-Platform-CIK", first=1)
    assert one.request("GET", f"{ALIAS}?message").status_code == 401
    assert (one.request("GET", f"{ALIAS}?message").status_code, stripped.hits) == (200, 1)
    lab.faults.add(f"GET {ALIAS}", when="before", edit={"?": ["replace", "message", "temperature"]}, first=1)
    assert one.request("GET", f"{ALIAS}?message").text == "temperature=5"
    lab.faults.add("GET /x", when="before", replace={"/": "/timestamp"}, first=1)
    assert [one.request("GET", "/x").status_code for _ in range(2)] == [200, 404]


def test_a_body_that_is_no_text_is_unchanged(lab: Lab) -> None:
    one = device(lab)
    lab.faults.add("POST /*", when="before", edit={"a": "upper"}, put={"@X-More": "1"})
    answer = one.request(
        "POST",
        ALIAS,
        content=b"message=%41\xff",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert (answer.status_code, answer.text) == (400, "body: the body is not valid UTF-8")


def test_a_body_above_the_limit_is_refused_as_without_faults(lab: Lab) -> None:
    one = device(lab)
    fault = lab.faults.add(f"POST {ALIAS}", when="before", edit={"message": "upper"})
    assert write(one, message="x" * 70_000).status_code == 413
    assert fault.hits == 0


def test_a_request_to_a_solution_is_changed(lab: Lab) -> None:
    acme = lab.solution("acme")
    lab.faults.add(
        "POST /echo/*",
        when="before",
        edit={"list": "[::-1]", "/": ["format", "{}!"], "?n": ["add", 1]},
        put={"@X-Added": "ä b", "more": True},
        solution="acme",
    )
    got = acme.post("/echo/a%20b?n=1&m=%20", json={"list": [1, 2]}).json()
    assert got["body"] == {"list": [2, 1], "more": True}
    assert got["parameters"] == {"name": "a b!", "n": "2", "m": " "}
    assert "x-added" in {name.lower() for name in got["headers"]}


def test_the_parameters_of_a_call_are_changed(lab: Lab) -> None:
    acme, other = lab.solution("acme"), lab.solution("other")
    fault = lab.faults.add(
        "Keystore.*", when="before", edit={"key": ["format", "{}-x"]}, drop="odd", solution="acme"
    )
    for each in (acme, other):
        assert each.call("Keystore", "set", {"key": "k", "value": "v"}) == {}
    fault.remove()
    assert acme.call("Keystore", "get", {"key": "k-x"}) == {"value": "v"}
    assert acme.call("Keystore", "get", {"key": "k"}) == {}
    assert other.call("Keystore", "get", {"key": "k"}) == {"value": "v"}
    shown = [each.detail for each in lab.journal.select("call") if each.summary == "Keystore.set"]
    assert [json.dumps(each).count("k-x") for each in shown] == [1, 0]


def test_a_condition_selects_calls_by_their_parameters(lab: Lab) -> None:
    acme = lab.solution("acme")
    one = lab.faults.add("Keystore.set", if_given={"key": "a*"}, status=503)
    two = lab.faults.add("Keystore.get", if_given={"key": "!b"}, edit={"value": "number"})
    three = lab.faults.add("Keystore.get", if_answer={".": "{}"}, body={"value": None})
    results = [acme.call("Keystore", "set", {"key": each, "value": "5"}) for each in ("a1", "b", "c")]
    assert [each.get("status", 200) for each in results] == [503, 200, 200]
    got = [acme.call("Keystore", "get", {"key": each}) for each in ("a1", "b", "c")]
    assert got == [{"value": None}, {"value": "5"}, {"value": 5}]
    assert (one.hits, two.hits, three.hits) == (1, 1, 1)


def test_a_condition_selects_requests_by_their_fields(lab: Lab) -> None:
    one = device(lab)
    accept = lab.faults.add(f"* {ALIAS}", if_given={"@Accept": "text/html"}, status=406)
    form = lab.faults.add(
        f"POST {ALIAS}", if_given={"temperature": "*", "message": "!*"}, if_status=204, status=205
    )
    answer = lab.faults.add(f"GET {ALIAS}", if_answer={"message": "?"}, edit={".": ["before", "="]})
    assert one.request("GET", f"{ALIAS}?message", headers={"Accept": "text/html"}).status_code == 406
    codes = [
        write(one, **each).status_code for each in ({"temperature": 1}, {"message": "a"}, {"message": "?"})
    ]
    assert codes == [205, 204, 204]
    assert write(one, temperature=1, message="?").status_code == 204
    assert one.request("GET", f"{ALIAS}?message").text == "message"
    assert write(one, message="b").status_code == 204
    assert one.request("GET", f"{ALIAS}?message").text == "message=b"
    assert (accept.hits, form.hits, answer.hits) == (1, 1, 1)


def test_headers_of_an_answer_are_edited(lab: Lab) -> None:
    one = device(lab)
    lab.faults.add(
        "GET /timestamp", edit={".": ["add", 7], "@Content-Type": ["before", ";"]}, put={"@X-A": "b"}
    )
    answer = one.request("GET", "/timestamp")
    assert (answer.headers["Content-Type"], answer.headers["X-A"]) == ("text/plain", "b")
    assert int(answer.text) == int(lab.clock.time) + 7


def test_a_condition_selects_events_by_their_payload(lab: Lab) -> None:
    heard: list[object] = []
    acme = lab.solution("acme")

    def hear(data: Any) -> None:
        heard.append((data["alias"], data["value"]))

    acme.on("device", "datapoint")(hear)

    fault = lab.faults.add("device datapoint", if_given={"alias": "message"}, edit={"value": "[::-1]"})
    one = device(lab)
    write(one, temperature=1, message="m")
    lab.settle()
    now = int(lab.clock.time)
    assert sorted(heard, key=str) == [("message", ["m", now]), ("temperature", [now, "1"])]
    assert fault.hits == 1


def test_further_faults_see_the_changed_request(lab: Lab) -> None:
    acme = lab.solution("acme")
    acme.route("GET", "/old", lua="return 'old'")
    acme.route("GET", "/new", lua="return 'new'")
    lab.faults.add("GET /old", when="before", replace={"/": "/new"})
    assert acme.get("/old").text == "new"
    lab.faults.add("GET /new", status=503, first=1)
    lab.faults.add("GET /new", headers={"X-Seen": "new"})
    assert [acme.get("/old").status_code for _ in range(2)] == [503, 200]
    assert acme.get("/old").headers["X-Seen"] == "new"


def test_a_request_to_a_provider_is_changed(lab: Lab) -> None:
    google, browser = lab.provider("google"), lab.browser()
    userinfo = google.endpoints["userinfo"]
    elsewhere = f"{userinfo}/elsewhere"
    assert [browser.get(each).status_code for each in (userinfo, elsewhere)] == [401, 404]
    lab.faults.add("GET /*/elsewhere", when="before", replace={"/": httpx.URL(userinfo).path})
    assert browser.get(elsewhere).status_code == 401
