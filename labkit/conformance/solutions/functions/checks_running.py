"""Functions and scripts that a restart interrupts, and many functions that wait for each other at once."""

from __future__ import annotations

import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.interface.partners import solution_id
from labkit.conformance.probe import same
from labkit.conformance.target import Target
from labkit.core.errors import LabError

if TYPE_CHECKING:
    from labkit.lab.lab import Lab
    from labkit.lab.solution import Solution

WAIT_LIMIT = 20.0  # seconds of real time for a function of a check
CONCURRENT = 20  # concurrent functions, more than there are threads


@check(
    "SOL-FUN-4", "twenty functions at once, each of which waits for another solution's", needs={"settings"}
)
async def many(target: Target) -> None:
    await target.in_lab(_many, target)


def _many(target: Target) -> None:
    lab = target.lab
    asks, answers = lab.solution(solution_id(target)), lab.solution(solution_id(target))

    def answer(order: Any, services: Any) -> Any:
        time.sleep(0.001)  # so that the calls overlap
        services.Keystore.set(key=f"number {order['number']}", value=order["number"])
        return {"number": order["number"]}

    def ask(request: Any, services: Any) -> Any:
        return services.Panels.ask(number=request.parameters["number"])

    async def ask_later(request: Any, services: Any) -> Any:
        return await services.Panels.ask(number=request.parameters["number"])

    parameters = {"title": "order", "type": "object"}
    answers.publish(default_script_key="panels", operations=[{"name": "ask", "parameters": parameters}])
    answers.on("interface", "ask", answer)
    asks.subscribe(answers)
    asks.route("GET", "/now/{number}", ask)
    asks.route("GET", "/later/{number}", ask_later)
    for path in ("/now", "/later"):
        begun = [lab.begin(asks.get, f"{path}/{number}") for number in range(CONCURRENT)]
        for number, each in enumerate(begun):
            response = each.result()
            same(f"what {number} is given", response.json(), {"number": f"{number}"}, response)
    for number in range(CONCURRENT):
        found = answers.Keystore.get(key=f"number {number}")
        expect.equal(f"what {number} has stored", found, {"value": f"{number}"})


@check("SOL-FUN-3", "the effect of a restart on scripts and functions", needs={"settings"})
async def restarted(target: Target) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for settings in ({}, {"data": Path(folder) / "lab.db"}):
            await target.in_lab(_restarted, settings)


def _restarted(settings: dict[str, Any]) -> None:
    from labkit.lab.lab import Lab

    with Lab(1, solutions=[{"id": "one"}], **settings) as lab:
        _globals(lab)
        _running(lab)
        _waiting(lab)


def _globals(lab: Lab) -> None:
    solution = lab.solution("one")
    kept = "count = (count or 0) + 1; Keystore.command{key = 'c', command = 'incr'}; return {count = count}"
    solution.route(
        "GET", "/count", lua=f"if not counted then counted = function() {kept} end end return counted()"
    )
    before = [solution.get("/count").json()["count"] for _ in range(2)]
    lab.restart()
    after = [solution.get("/count").json()["count"] for _ in range(2)]
    expect.equal("a global after a restart", after, before)
    expect.equal("what is stored", solution.Keystore.get(key="c"), {"value": "4"})


def _running(lab: Lab) -> None:
    """A restart interrupts a running function; the next call runs normally."""
    solution = lab.solution("one")
    started, resume, ended = threading.Event(), threading.Event(), threading.Event()
    refused: list[bool] = []

    def slow(services: Any) -> None:
        started.set()
        resume.wait(WAIT_LIMIT)
        try:
            services.Keystore.set(key="slow", value="x")
            refused.append(False)
        except LabError:
            refused.append(True)
        ended.set()

    solution.route("POST", "/slow", slow)
    asking = threading.Thread(target=_post, args=(solution, "/slow"))
    asking.start()
    started.wait(WAIT_LIMIT)
    lab.restart()
    resume.set()
    ended.wait(WAIT_LIMIT)
    asking.join(WAIT_LIMIT)
    expect.equal("was the call of a service refused?", refused, [True])
    expect.equal("what is under its key", solution.Keystore.get(key="slow"), {})
    response = solution.post("/slow")
    expect.equal("status afterwards", response.status_code, 200, response)
    expect.equal("what is under its key", solution.Keystore.get(key="slow"), {"value": "x"})


def _waiting(lab: Lab) -> None:
    """A restart ends a function that waits for a service blocked by another solution's function."""
    asks, answers = lab.solution("asks"), lab.solution("answers")
    started, resume, ended = threading.Event(), threading.Event(), threading.Event()
    raised: list[bool] = []

    def ask() -> str:
        started.set()
        resume.wait(WAIT_LIMIT)
        return "answered"

    def waits(services: Any) -> Any:
        raised.append(True)
        found = services.Panels.ask()
        raised[-1] = False
        return {"found": found}

    def tells(services: Any) -> Any:
        try:
            return waits(services)
        finally:
            ended.set()

    answers.publish(default_script_key="panels", operations=[{"name": "ask"}])
    answers.on("interface", "ask", ask)
    asks.subscribe(answers)
    asks.route("POST", "/waits", tells)
    asking = threading.Thread(target=_post, args=(asks, "/waits"))
    asking.start()
    started.wait(WAIT_LIMIT)
    lab.restart()
    expect.equal("does the one that waited end?", ended.wait(WAIT_LIMIT), True)
    resume.set()
    asking.join(WAIT_LIMIT)
    expect.equal("was its call refused?", raised, [True])
    response = asks.post("/waits")
    same("what it gives afterwards", response.json(), {"found": "answered"}, response)


def _post(solution: Solution, path: str) -> None:
    """Send a POST request whose connection is cut; ignore the client's error."""
    with suppress(Exception):
        solution.post(path)
