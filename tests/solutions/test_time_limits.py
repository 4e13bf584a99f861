"""Time limits of handlers in all languages, and a limit of their journal records."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from labkit import Lab
from labkit.core.errors import LabError
from labkit.lab.solution import Solution
from labkit.solutions import workers

SECONDS = 0.4
MESSAGE = f"time limit: the handler ran for more than {SECONDS:g} s (guard.script_time)"
FOREVER = "while true do Slow.wait{} end"
STUBBORN = "while true do pcall(Slow.wait, {}) end"
NEVER_WAITS = "while true do Keystore.get{key = 'k'} end"


@pytest.fixture
def lab() -> Iterator[Lab]:
    async def wait() -> None:
        await asyncio.Event().wait()

    with Lab(1, guard={"script_time": SECONDS, "script_cpu": 0.3}, journal={"per_run": 50}) as lab:
        lab.service("Slow", wait=wait)
        yield lab


@pytest.fixture
def acme(lab: Lab) -> Solution:
    return lab.solution("acme")


def get(acme: Solution, path: str) -> tuple[int, str]:
    began = time.monotonic()
    answer = acme.get(path)
    assert time.monotonic() - began < SECONDS + 5
    return answer.status_code, answer.text


@pytest.mark.parametrize("script", [FOREVER, STUBBORN, NEVER_WAITS])
def test_a_script_that_goes_on_for_ever_is_ended(acme: Solution, script: str) -> None:
    acme.route("GET", "/wait", lua=script)
    acme.route("GET", "/fine", lua="return 'fine'")
    status, text = get(acme, "/wait")
    assert status == 504
    assert MESSAGE in text
    assert get(acme, "/fine") == (200, "fine")


def sync(services: Any) -> None:
    while True:
        services.Slow.wait()


async def asynchronous(services: Any) -> None:
    while True:
        await services.Slow.wait()


async def calling_what_is_over_at_once(services: Any) -> None:
    while True:
        await services.Keystore.get(key="x")


@pytest.mark.parametrize("function", [sync, asynchronous, calling_what_is_over_at_once])
def test_a_function_that_waits_for_ever_is_ended(acme: Solution, function: Callable[..., object]) -> None:
    acme.route("GET", "/wait", function)
    status, text = get(acme, "/wait")
    assert status == 504
    assert MESSAGE in text


def test_threads_that_do_not_end_are_replaced_and_can_call_no_service(lab: Lab, acme: Solution) -> None:
    release, refused = threading.Event(), []

    def stuck(services: Any) -> None:
        release.wait()
        try:
            services.Config.listSolutions()
        except LabError as error:
            refused.append(str(error))

    acme.route("GET", "/stuck", stuck)
    acme.route("GET", "/fine", lambda: "fine")
    count = 2 * workers.THREADS
    answers = [lab.begin(acme.get, "/stuck") for _ in range(count)]
    assert [each.result().status_code for each in answers] == [504] * count
    assert get(acme, "/fine") == (200, "fine")
    release.set()
    while len(refused) < count:
        time.sleep(0.01)
    assert set(refused) == {workers.TIME_IS_OVER}


@pytest.mark.parametrize("language", ["lua", "sync", "async"])
def test_an_event_handler_is_ended(lab: Lab, language: str) -> None:
    product = lab.product("p", resources={"text": "string"})
    acme = lab.solution("other", products=[product])
    if language == "lua":
        acme.on("device", "datapoint", lua=FOREVER)
    else:
        acme.on("device", "datapoint", sync if language == "sync" else asynchronous)
    device = product.device("d").activate()
    device.write(text="x")
    began = time.monotonic()
    lab.settle()
    assert time.monotonic() - began < SECONDS + 5
    [run] = [each for each in lab.journal.select("script") if "datapoint" in each.summary]
    place = "device_datapoint:1: " if language == "lua" else ""
    assert (run.status, (run.detail or {})["error"]) == (504, f"{place}{MESSAGE}")


@pytest.mark.parametrize("language", ["lua", "sync", "async"])
def test_a_handler_of_an_operation_is_ended(lab: Lab, language: str) -> None:
    beta = lab.solution("beta", services={"Interface": {"operations": [{"name": "go"}]}})
    alpha = lab.solution("alpha", subscriptions=[{"publisher": "beta"}])
    if language == "lua":
        beta.on("interface", "go", lua=FOREVER)
    else:
        beta.on("interface", "go", sync if language == "sync" else asynchronous)
    answer = alpha.call("Beta", "go", {})
    assert isinstance(answer, dict)
    assert (answer["status"], MESSAGE in answer["error"]) == (504, True)


def test_delays_in_lab_time_do_not_count(lab: Lab, acme: Solution) -> None:
    lab.faults.add("Keystore.get", delay=10)
    acme.route("GET", "/held", lua="return Keystore.get{key = 'k'} and 'done'")
    begun = lab.begin(acme.get, "/held")
    time.sleep(3 * SECONDS)
    lab.clock.advance(10)
    assert begun.result().text == "done"


def test_a_timeout_error_of_the_handler_itself_is_no_time_limit(acme: Solution) -> None:
    async def late() -> None:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(1)

    acme.route("GET", "/late", late)
    status, text = get(acme, "/late")
    assert (status, MESSAGE in text) == (500, False)


# ---- the journal


def test_a_run_leaves_a_limited_number_of_records_and_one_with_the_count_of_the_rest(
    lab: Lab, acme: Solution
) -> None:
    acme.route("GET", "/many", lua="for i = 1, 200 do Keystore.get{key = 'k'} print(i) end return 'done'")
    lab.journal.clear()
    assert get(acme, "/many") == (200, "done")
    kinds = [each.kind for each in lab.journal]
    assert kinds.count("call") + kinds.count("log") == 50
    [warning] = lab.journal.select("warning")
    assert warning.summary == "350 records of this run were left out (journal.per_run: 50)"
    [script] = lab.journal.select("script")
    assert (warning.cause, warning.actor) == (script.sequence, "acme")
    assert get(acme, "/many") == (200, "done")
    assert len(lab.journal.select("warning")) == 2
