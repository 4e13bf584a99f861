"""Faults of requests: devices, solutions and providers, two tenants, several concurrent clients."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

import httpx
import pytest

from labkit import Lab
from labkit.lab.device import Device

ALIAS = "/onep:v1/stack/alias"
RESOURCES = {"temperature": "number", "message": "string", "_a.b$": "string"}
CUT = (httpx.RemoteProtocolError, httpx.ReadError)


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(seed=7) as lab:
        lab.product("thermostat", resources=RESOURCES)
        lab.product("lamp", resources=RESOURCES, auth="password")
        lab.solution("acme", products=["thermostat", "lamp"])
        lab.solution("other", products=["lamp"])
        yield lab


def device(lab: Lab, product: str, identity: str) -> Device:
    return lab.product(product).device(identity).activate()


def write(device: Device, value: object = "1") -> httpx.Response:
    return device.request("POST", ALIAS, data={"message": value})


# --- before the work --------------------------------------------------------------------------------------


def test_a_status_replaces_the_work(lab: Lab) -> None:
    one = device(lab, "thermostat", "t-1")
    fault = lab.faults.add(f"POST {ALIAS}", status=503, headers={"Retry-After": "7"}, first=2, name="busy")
    answers = [write(one, value) for value in ("a", "b", "c")]
    assert [each.status_code for each in answers] == [503, 503, 204]
    assert (answers[0].text, answers[0].headers["Retry-After"]) == ("fault busy", "7")
    assert one.read("message") == {"message": "c"}
    assert (fault.hits, fault.seen) == (2, 2)
    [first, _] = lab.journal.select("fault")
    [cause] = [each for each in lab.journal.select("request") if each.sequence == first.cause]
    assert (first.actor, first.summary, cause.status) == (
        "thermostat/t-1",
        "busy: status 503, headers Retry-After",
        503,
    )


def test_any_body_can_replace_the_work(lab: Lab) -> None:
    one = device(lab, "thermostat", "t-1")
    lab.faults.add(f"GET {ALIAS}", status=200, body={"é": [1, None]}, first=1)
    lab.faults.add(
        f"GET {ALIAS}", status=404, body="nothing\nhere", headers={"Content-Type": "text/odd"}, first=1
    )
    lab.faults.add(f"GET {ALIAS}", status=304, first=1)
    lab.faults.add(f"GET {ALIAS}", body="no work", when="before", first=1)
    data, text, empty, body = (one.request("GET", f"{ALIAS}?message") for _ in range(4))
    assert data.json() == {"é": [1, None]}
    assert (text.status_code, text.text, text.headers["Content-Type"]) == (404, "nothing\nhere", "text/odd")
    assert (empty.status_code, empty.content) == (304, b"")
    assert (body.status_code, body.text) == (200, "no work")
    assert one.request("GET", f"{ALIAS}?message").status_code == 204


def test_a_cut_before_and_after_the_work(lab: Lab) -> None:
    one = device(lab, "thermostat", "t-1")
    lab.faults.add(f"POST {ALIAS}", cut="before", first=1)
    with pytest.raises(CUT):
        write(one, "before")
    assert one.read("message") == {}
    lab.faults.add(f"POST {ALIAS}", cut="after", first=1)
    with pytest.raises(CUT):
        write(one, "after")
    assert one.read("message") == {"message": "after"}
    requests = [each for each in lab.journal.select("request", "thermostat/t-1") if each.status is None]
    assert [each.detail for each in requests] == [
        {"reason": "fault 1: cut before"},
        {"reason": "fault 2: cut after"},
    ]
    assert lab.journal.select("error") == []


def test_refused_requests_get_no_fault_before_the_work(lab: Lab) -> None:
    device(lab, "thermostat", "t-1")
    fault = lab.faults.add("* /*", status=503, product="thermostat")
    stranger = lab.product("thermostat").device("stranger")
    assert stranger.request("GET", f"{ALIAS}?message").status_code == 401
    assert stranger.request("GET", "/nothing").status_code == 404
    assert stranger.request("PUT", ALIAS).status_code == 405
    assert stranger.request("GET", "/timestamp").status_code == 503
    assert stranger.request("POST", "/provision/activate", data={"id": "stranger"}).status_code == 503
    assert fault.hits == 2


# --- after it ---------------------------------------------------------------------------------------------


def test_the_work_is_done_and_its_answer_replaced(lab: Lab) -> None:
    one = device(lab, "thermostat", "t-1")
    lab.faults.add(f"POST {ALIAS}", status=500, when="after", body={"error": "odd"}, first=1)
    answer = write(one, "kept")
    assert (answer.status_code, answer.json()) == (500, {"error": "odd"})
    lab.faults.add(f"GET {ALIAS}", status=203, when="after", if_status=200)
    answer = one.request("GET", f"{ALIAS}?message")
    assert (answer.status_code, answer.text) == (203, "message=kept")
    assert one.request("GET", f"{ALIAS}?temperature").status_code == 204


def test_fields_of_a_form(lab: Lab) -> None:
    one = device(lab, "thermostat", "t-1")
    one.write({"message": "a & b", "temperature": 1, "_a.b$": "é"})
    lab.faults.add(f"GET {ALIAS}", drop="temperature", replace={"_a\\.b$": "new & odd"})
    fault = lab.faults.add(f"GET {ALIAS}", drop="nothing of this name")
    assert one.read("message", "temperature", "_a.b$") == {"message": "a & b", "_a.b$": "new & odd"}
    assert fault.seen == 0


def test_headers_are_added_and_dropped_also_of_refusals(lab: Lab) -> None:
    one = device(lab, "thermostat", "t-1")
    lab.faults.add("* /*", headers={"WWW-Authenticate": "", "X-Odd": "ü"}, if_status=401)
    answer = one.request("GET", f"{ALIAS}?message", credentials=False)
    assert (answer.status_code, answer.headers.get("WWW-Authenticate"), answer.headers.get("X-Odd")) == (
        401,
        None,
        "ü",
    )
    fault = lab.faults.add("* /*", headers={"WWW-Authenticate": ""})
    assert one.request("GET", "/timestamp").status_code == 200
    assert fault.seen == 0


@pytest.mark.parametrize("framing", ["both", "length", "chunked"])
def test_cut_inside_an_answer(tmp_path: Any, framing: str) -> None:
    content = tmp_path / "fw.bin"
    content.write_bytes(bytes(range(256)) * 2000)
    with Lab(seed=7, wire={"download_framing": framing}) as lab:
        product = lab.product("thermostat", resources=RESOURCES, content=[{"id": "fw", "file": str(content)}])
        one = product.device("t-1").activate()
        write(one, "0123456789")
        lab.faults.add("* /*", cut="inside")
        for path in ("/timestamp", f"{ALIAS}?message", "/provision/download?id=fw"):
            with pytest.raises(CUT):
                one.request("GET", path)
        with pytest.raises(CUT):  # a 204 cannot be cut inside: nothing of it is sent
            write(one)
        lab.faults.clear()
        assert one.download("fw") == content.read_bytes()
        assert lab.journal.select("error") == []


def test_a_download_is_changed_before_it_is_sent(lab: Lab) -> None:
    product = lab.product("thermostat")
    product.content.add("fw", b"firmware")
    one = product.device("t-1").activate()
    lab.faults.add("GET /provision/download?*id=fw*", status=500, when="after", first=1)
    fault = lab.faults.add("GET /provision/download?*id=fw*", body="else", if_status=200, every=2)
    assert one.request("GET", "/provision/download?id=fw").status_code == 500
    assert one.download("fw") == b"firmware"
    assert one.request("GET", "/provision/download?id=fw").text == "else"
    assert one.download("fw") == b"firmware"
    assert one.content() == ["fw"]
    assert (fault.hits, fault.seen) == (1, 3)


# --- selection ----------------------------------------------------------------------------------------------


def test_faults_for_selected_devices(lab: Lab) -> None:
    for name, product, identity in (
        ("a", "thermostat", "x-1"),
        ("b", "thermostat", "ü/x-2"),
        ("c", "lamp", "x-1"),
    ):
        one = device(lab, product, identity)
        only = lab.faults.add(f"POST {ALIAS}", status=500, product=product, identity=identity)
        assert write(one).status_code == 500, name
        only.remove()
        assert write(one).status_code == 204
    lab.faults.add(f"POST {ALIAS}", status=500, identity=["*x-2", "nobody"])
    assert write(device(lab, "lamp", "x-2")).status_code == 500
    assert write(device(lab, "lamp", "x-3")).status_code == 204


def test_faults_of_a_site(lab: Lab) -> None:
    one, other = device(lab, "thermostat", "t-1"), device(lab, "lamp", "t-1")
    lab.faults.add(f"POST {ALIAS}", status=500, site="lamp.m2.*")
    assert [write(each).status_code for each in (one, other)] == [204, 500]


def test_faults_of_a_solution(lab: Lab) -> None:
    acme, other = lab.solution("acme"), lab.solution("other")
    for each in (acme, other):
        each.route("GET", "/people/{id}", lua="return {id = request.parameters.id, list = {{n = 1, m = 2}}}")
    lab.faults.add("GET /people/*", drop="list.n", solution="acme")
    assert acme.get("/people/é").json() == {"id": "é", "list": [{"m": 2}]}
    assert other.get("/people/é").json() == {"id": "é", "list": [{"n": 1, "m": 2}]}
    lab.faults.add("GET /people/é", status=502, solution="other", first=1)
    answer = other.get("/people/é")
    assert (answer.status_code, answer.json()) == (502, {"error": "fault 2"})
    lab.faults.add("* /*", cut="before", solution="other", first=1)
    with pytest.raises(CUT):
        other.get("/people/1")
    assert other.get("/people/1").status_code == 200
    assert [each.status for each in lab.journal.select("request", "other")] == [200, 502, None, 200]


def test_faults_of_a_provider(lab: Lab) -> None:
    google = lab.provider("google")
    lab.faults.add("GET /*", status=418, body={"tea": True}, site="google.social.*", first=1)
    lab.faults.add("GET /*", cut="before", site="google.social.*", first=1)
    lab.faults.add("GET /*", status=503, site="google.social.*", first=1)
    url = google.endpoints["userinfo"]
    assert lab.browser().get(url).json() == {"tea": True}
    with pytest.raises(CUT):
        lab.browser().get(url)
    refused = lab.browser().get(url)
    assert (refused.status_code, "fault 3" in refused.text) == (503, True)
    assert [(each.status, each.answer) for each in google.inbox] == [
        (418, "a fault's"),
        (None, "no answer"),
        (503, "fault 3"),
    ]


# --- concurrent requests --------------------------------------------------------------------------------------


def test_concurrent_clients_get_the_set_number_of_faults(lab: Lab) -> None:
    devices = [device(lab, ("thermostat", "lamp")[number % 2], f"d-{number}") for number in range(8)]
    fault = lab.faults.add(f"POST {ALIAS}", status=503, every=3, first=20, product="thermostat")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda each: [write(each).status_code for _ in range(20)], devices))
    assert Counter(chain.from_iterable(answers[0::2])) == {204: 80 - 20, 503: 20}
    assert Counter(chain.from_iterable(answers[1::2])) == {204: 80}
    assert (fault.hits, fault.seen) == (20, 60)


def test_chance_is_drawn_per_device(lab: Lab) -> None:
    def played(*order: str) -> dict[str, list[int]]:
        devices = {name: device(lab, "thermostat", name) for name in ("a", "b")}
        lab.faults.add(f"POST {ALIAS}", status=503, chance=0.5)
        answers: dict[str, list[int]] = {"a": [], "b": []}
        for name in order:
            answers[name].append(write(devices[name]).status_code)
        lab.reset()
        return answers

    mixed, parted = played(*"ab" * 10), played(*("a" * 10 + "b" * 10))
    assert mixed == parted
    assert mixed["a"] != mixed["b"]
    assert set(mixed["a"]) == {204, 503}


# --- delays -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_delay_on_the_virtual_clock_is_no_pending_work(lab: Lab, when: Any) -> None:
    one, other = device(lab, "thermostat", "t-1"), device(lab, "thermostat", "t-2")
    lab.faults.add(f"POST {ALIAS}", delay=30.25, when=when, identity="t-1")
    waiting = lab.begin(write, one, "late")
    lab.settle()
    assert not waiting.done
    write(other, "at once")
    assert one.read("message") == ({"message": "late"} if when == "after" else {})
    lab.clock.advance(30.249)
    assert not waiting.done
    lab.clock.advance(0.001)
    assert waiting.result().status_code == 204
    assert one.read("message") == {"message": "late"}


def test_delays_add_up_and_end_with_an_answer(lab: Lab) -> None:
    one = device(lab, "thermostat", "t-1")
    lab.faults.add(f"POST {ALIAS}", delay=10)
    lab.faults.add(f"POST {ALIAS}", delay=5, status=504)
    waiting = lab.begin(write, one)
    lab.clock.advance(14.5)
    assert not waiting.done
    lab.clock.advance(0.5)
    assert waiting.result().status_code == 504


def test_a_client_that_leaves_a_delayed_request_leaves_no_state() -> None:
    with Lab(seed=7, http_port=0) as lab:
        product = lab.product("thermostat", resources=RESOURCES)
        one = product.device("t-1").activate()
        lab.faults.add(f"POST {ALIAS}", delay=60)
        waiting = lab.begin(one.request, "POST", ALIAS, data={"message": "x"}, patience=0.3)
        with pytest.raises(httpx.ReadTimeout):
            waiting.future.result()
        lab.settle()
        lab.clock.advance(100)
        assert one.read("message") == {}


async def test_a_delay_on_a_running_clock_takes_its_time() -> None:
    def play() -> float:
        with Lab(speed=100) as lab:
            one = device_of(lab)
            lab.faults.add(f"POST {ALIAS}", delay=3)
            before = lab.clock.time
            one.write(message="x")
            return lab.clock.time - before

    assert await asyncio.to_thread(play) >= 3


def device_of(lab: Lab) -> Device:
    return lab.product("thermostat", resources=RESOURCES).device("t-1").activate()
