"""Python functions as handlers: their arguments, and the effect of their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.interface.partners import solution_id
from labkit.conformance.probe import same
from labkit.conformance.target import Target
from labkit.core.errors import LabError

if TYPE_CHECKING:
    from labkit.lab.solution import Solution

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


@check("SOL-FUN-1", "fields and results of functions, of every kind", needs={"settings"})
async def values(target: Target) -> None:
    await target.in_lab(_values, await target.in_lab(target.lab.solution, target.identity()))


def _values(solution: Solution) -> None:
    given: list[Any] = []

    def value(response: Any) -> Any:
        fields, result = given[-1]
        for name, each in fields.items():
            setattr(response, name, each)
        return result

    async def later(response: Any) -> Any:
        return value(response)

    solution.route("GET", "/value")(value)  # as a decorator does
    solution.route("GET", "/later")(later)

    nothing: dict[str, Any] = {}
    for fields, result, status, body in (
        (nothing, BYTES, 200, BYTES),
        ({"message": bytes(range(256))}, None, 200, bytes(range(256))),
        ({"body": "gr\udcfc\udcc3\udcbc"}, None, 200, b"gr\xfc\xc3\xbc"),
        ({"code": 201.0, "body": b""}, None, 201, b""),
        ({"code": "404"}, "text", 404, b"text"),
        ({"code": 200.5}, "text", 500, None),
        ({"code": float("nan")}, "text", 500, None),
        ({"code": True}, "text", 500, None),
        ({"code": None}, "text", 500, None),
        ({"code": [200]}, "text", 500, None),
        ({"code": "²00"}, "text", 500, None),
        ({"headers": None}, "text", 500, None),
        ({"headers": {1: "a"}}, "text", 500, None),
        ({"headers": {"X-A": None}}, "text", 500, None),
        ({"headers": {"X-A": b"a\n"}}, "text", 500, None),
        ({"headers": {"X-A": b"\xff"}}, "text", 500, None),
        (nothing, {"a": float("nan")}, 500, None),
        (nothing, float("inf"), 500, None),
        (nothing, {"a": {1, 2}}, 500, None),
        (nothing, {(1, 2): 3}, 500, None),
        (nothing, ({"a": (1, None, True)}, []), 200, b'[{"a":[1,null,true]},[]]'),
        (nothing, 0, 200, b"0"),
        (nothing, False, 200, b"false"),
        (nothing, "", 200, b""),
        (nothing, {}, 200, b"{}"),
    ):
        given.append((fields, result))
        for path in ("/value", "/later"):
            response = solution.get(path)
            what = f"{fields} and {result!r}"
            expect.equal(f"status of {what}", response.status_code, status, response)
            if body is not None:
                expect.equal(f"what is sent of {what}", response.content, body, response)
    headers = {"X-A": b"gr\xc3\xbc", "X-B": ("a", b"b", 1, 2.5, False), "Content-Type": "text/css"}
    given.append(({"headers": headers}, "text"))
    response = solution.get("/value")
    raw = {
        name: [each for key, each in response.headers.raw if key.lower() == name] for name in (b"x-a", b"x-b")
    }
    wanted = {b"x-a": [b"gr\xc3\xbc"], b"x-b": [b"a", b"b", b"1", b"2.5", b"false"]}
    expect.equal("headers", raw, wanted, response)
    expect.equal("content type", response.headers.get("Content-Type"), "text/css", response)


@check("SOL-FUN-1", "logs of functions", needs={"settings", "journal"})
async def logs(target: Target) -> None:
    await target.in_lab(_logs, await target.in_lab(target.lab.solution, target.identity()))


def _logs(solution: Solution) -> None:
    levels = ("debug", "info", "notice", "warning", "error")

    def says(log: Any, request: Any) -> Any:
        for level in levels:
            getattr(log, level)({"level": level})
        return request.route

    async def says_later(log: Any, request: Any) -> Any:
        return says(log, request)

    solution.route("GET", "/says", says)
    solution.route("GET", "/later", says_later)
    for path in ("/says", "/later"):
        response = solution.get(path)
        expect.equal("what comes of it", response.text, path, response)
    lines = solution.logs
    for path in ("/says", "/later"):
        found = [
            (line.level, line.text)
            for line in lines.itertuples()
            if line.run == f"GET {path}" and line.level != "run"
        ]
        expect.equal(f"what {path} logged", found, [(each, f"{{'level': '{each}'}}") for each in levels])


@check("SOL-FUN-5", "calls of functions, of every kind, and their results", needs={"settings"})
async def calls(target: Target) -> None:
    await target.in_lab(_calls, target)


def _calls(target: Target) -> None:
    solution = target.lab.solution(target.identity())
    service = "Echo_" + target.identity().replace("-", "_")
    target.lab.service(service, echo=lambda **others: others)
    given: list[Any] = []

    def calls(services: Any) -> Any:
        name, operation, table, named = given[-1]
        return getattr(getattr(services, name), operation)(*table, **named)

    async def calls_later(services: Any) -> Any:
        return await calls(services)

    solution.route("GET", "/calls", calls)
    solution.route("GET", "/later", calls_later)
    nothing: dict[str, Any] = {}
    unknown = {"type": "QueryError", "status": 404}
    for name, operation, table, named, wanted in (
        (service, "echo", (), {"a": 1, "b": [None, "é"]}, {"a": 1, "b": [None, "é"]}),
        (service, "echo", ({"a": 1, "c_": 2},), nothing, {"a": 1, "c_": 2}),
        (service, "echo", ({"a": 1, "from": 2},), {"a": 3, "from_": 4}, {"a": 3, "from": 4}),
        (service, "echo", (None,), {"class_": 1, "_a": 2}, {"class": 1, "_a": 2}),
        (service, "nonsense", (), {"a": 1}, unknown),
        ("Keystore", "nonsense", (), nothing, unknown),
        ("Nonsense", "get", ({"key": "k"},), nothing, unknown),
        ("Keystore", "get", (), nothing, {"type": "QueryError", "status": 400}),
    ):
        given.append((name, operation, table, named))
        for path in ("/calls", "/later"):
            response = solution.get(path)
            found = response.json()
            fields = {
                key: each for key, each in found.items() if key not in ("error", "message", "status_code")
            }
            same(f"what {name}.{operation} gives for {table} and {named}", fields, wanted, response)


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


@check("SOL-FUN-2", "a handler's changes are not visible to another handler", needs={"settings"})
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
        subscriber.on("panels", "loud", lambda fields: fields["list"].append(fields.pop("name")) or fields)
    found = publisher.Interface.trigger(event="loud", mode="sync", data={"name": "x", "list": [1]})
    same("what both give", [each.get("result") for each in found], [{"list": [1, "x"]}] * 2)


def _refused(add: Callable[..., object], *args: object) -> None:
    try:
        add(*args)
        refused = False
    except LabError:
        refused = True
    expect.equal("is the function refused?", refused, True)
