"""Functions of Python where other solutions have scripts, and what a restart does to both."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
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

PATIENCE = 20.0  # seconds of real time that a check waits for its own function
BYTES = b"gr\xc3\xbc\xc3\x9fe \xff"


@check("SOL-FUN-1", "routes that are functions, sync and async", needs={"settings"})
async def routes(target: Target) -> None:
    await target.in_lab(_routes, await target.in_lab(target.lab.solution, target.identity()))


def _routes(solution: Solution) -> None:
    def asks(request: Any, response: Any, now: Any, context: Any, services: Any, times: int = 2) -> Any:
        response.code = 201
        services.Keystore.set(key="k", value=request.body["a"] * times)
        kept = services.Keystore.get(key="k")["value"]
        return {"kept": kept, "now": now() > 0, "solution": context["solution_id"]}

    async def waits(request: Any, services: Any) -> Any:
        return {"kept": (await services.Keystore.get(key="k"))["value"], "name": request.parameters["name"]}

    def fails() -> Any:
        raise ValueError("as it was asked to")

    solution.route("POST", "/asks", asks)
    solution.route("GET", "/waits/{name}", waits)
    solution.route("GET", "/bytes", lambda: {"a": BYTES, "b": [bytearray(BYTES), {"c": b""}], "d": (1, None)})
    solution.route("GET", "/fails", fails)
    solution.route("GET", "/no-json", lambda: {"a": object()})
    solution.route("GET", "/nothing", lambda request: None)
    text = "grüße \N{REPLACEMENT CHARACTER}"
    for method, path, status, wanted in (
        ("POST", "/asks", 201, {"kept": "xx", "now": True, "solution": solution.id}),
        ("GET", "/waits/a%20b", 200, {"kept": "xx", "name": "a b"}),
        ("GET", "/bytes", 200, {"a": text, "b": [text, {"c": ""}], "d": [1, None]}),
        ("GET", "/fails", 500, None),
        ("GET", "/no-json", 500, None),
        ("GET", "/nothing", 200, None),
    ):
        response = solution.request(method, path, **({"json": {"a": "x"}} if method == "POST" else {}))
        expect.equal(f"status of {path}", response.status_code, status, response)
        if wanted is not None:
            same(f"what {path} gives", response.json(), wanted, response)
    for wrong in (lambda nonsense: nonsense, lambda request, data: data):
        _refused(solution.route, "GET", "/wrong", wrong)


@check("SOL-FUN-2", "under which names a function is given an event", needs={"settings"})
async def names(target: Target) -> None:
    publisher = await target.in_lab(target.lab.solution, solution_id(target))
    subscriber = await target.in_lab(target.lab.solution, solution_id(target))
    await target.in_lab(_names, publisher, subscriber)


def _names(publisher: Solution, subscriber: Solution) -> None:
    called = [{"name": each, "parameters": {"title": "order", "type": "object"}} for each in ("ask", "zoom")]
    publisher.publish(
        default_script_key="panels", operations=called, events=[{"name": "aloud"}, {"name": "loud"}]
    )
    publisher.on("interface", "ask", lambda anything, more=5: {"got": anything, "more": more})
    publisher.on("interface", "zoom", lambda order, context: {"got": order, "by": context["caller_id"]})
    subscriber.subscribe(publisher)
    same("what ask gives", subscriber.Panels.ask(a=1), {"got": {"a": 1}, "more": 5})
    same("what zoom gives", subscriber.Panels.zoom(b="c"), {"got": {"b": "c"}, "by": subscriber.id})
    for event in ("aloud", "loud"):
        subscriber.on("panels", event, lambda whatever: {"heard": whatever})
        found = publisher.Interface.triggerOne(event=event, target=subscriber.id, data={"x": 1})
        same(f"what {event} gives", found, {"heard": {"x": 1}})
    for service, event in (("device", "datapoint"), ("timer", "timer"), ("config", "service")):
        _refused(subscriber.on, service, event, lambda whatever: whatever)
    for wrong in (lambda one, other: one, lambda data, /: data):
        _refused(subscriber.on, "panels", "loud", wrong)


@check("SOL-FUN-2", "what one handler changes another does not see", needs={"settings"})
async def apart(target: Target) -> None:
    await target.in_lab(_apart, target)


def _apart(target: Target) -> None:
    lab, name = target.lab, target.identity()
    product = lab.product(name, resources={"text": "string"})
    seen: list[Any] = []

    def handle(data: Any) -> None:
        seen.append([*data["value"], "changed" in data])
        data["value"][1] = "changed"
        data["changed"] = True

    for each in ("one", "other"):
        lab.solution(f"{name}-{each}", products=[product]).on("device", "datapoint", handle)
    product.device(name).activate().write(text="as written")
    lab.settle()
    expect.equal("what both were given", [each[1:] for each in seen], [["as written", False]] * 2)
    publisher = lab.solution(solution_id(target))
    publisher.publish(default_script_key="panels", events=[{"name": "loud"}])
    for each in ("one", "other"):
        subscriber = lab.solution(f"{publisher.id}{each}")
        subscriber.subscribe(publisher)
        subscriber.on("panels", "loud", lambda told: told["list"].append(told.pop("name")) or told)
    found = publisher.Interface.trigger(event="loud", mode="sync", data={"name": "x", "list": [1]})
    same("what both give", [each.get("result") for each in found], [{"list": [1, "x"]}] * 2)


# ---- restarts


@check("SOL-FUN-3", "what a restart does to scripts and functions", needs={"settings"})
async def restarted(target: Target) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for settings in ({}, {"data": Path(folder) / "lab.db"}):
            await target.in_lab(_restarted, settings)


def _restarted(settings: dict[str, Any]) -> None:
    from labkit.lab.lab import Lab

    with Lab(1, solutions=[{"id": "one"}], **settings) as lab:
        _globals(lab)
        _running(lab)


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
    """A function that a restart finds running, and one that runs afterwards."""
    solution = lab.solution("one")
    began, goes_on, ended = threading.Event(), threading.Event(), threading.Event()
    refused: list[bool] = []

    def slow(services: Any) -> None:
        began.set()
        goes_on.wait(PATIENCE)
        try:
            services.Keystore.set(key="slow", value="x")
            refused.append(False)
        except LabError:
            refused.append(True)
        ended.set()

    solution.route("POST", "/slow", slow)
    asking = threading.Thread(target=_post, args=(solution, "/slow"))
    asking.start()
    began.wait(PATIENCE)
    lab.restart()
    goes_on.set()
    ended.wait(PATIENCE)
    asking.join(PATIENCE)
    expect.equal("was the call of a service refused?", refused, [True])
    expect.equal("what is under its key", solution.Keystore.get(key="slow"), {})
    response = solution.post("/slow")
    expect.equal("status afterwards", response.status_code, 200, response)
    expect.equal("what is under its key", solution.Keystore.get(key="slow"), {"value": "x"})


def _post(solution: Solution, path: str) -> None:
    """A request that is cut off, whatever a client says of that."""
    with suppress(Exception):
        solution.post(path)


def _refused(add: Callable[..., object], *args: object) -> None:
    try:
        add(*args)
        refused = False
    except LabError:
        refused = True
    expect.equal("is the function refused?", refused, True)
