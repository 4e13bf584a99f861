"""Scripts.trigger, Http, and the settings of Email."""

from __future__ import annotations

import json
import threading
from typing import Any
from urllib.parse import parse_qs, quote

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.probe import PROBE, WITNESS, Keystore, Service, events_of, same
from labkit.conformance.target import Target

LONGEST_URL = 8000  # characters
SECRET = "none of the journal"
VALUES: tuple[Any, ...] = ({"a": [1, 2.5, "é"], "b": {"c": False}}, "é 漢", 7, False, [1, 2])


async def failed(service: Service, operation: str, status: int, **parameters: object) -> str:
    """Return the text of the error object of a failure of the server. Raises Mismatch unless it has this status."""
    result = await service.table(operation, **parameters)
    service.same(f"status of {operation}", result.get("status"), status)
    return str(result.get("error"))


@check("SOL-SVC-6", "a sync trigger runs a handler of its own solution, and returns its result")
async def sync(target: Target) -> None:
    for solution in (PROBE, WITNESS):
        scripts = Service(target, "Scripts", solution)
        for data in VALUES:
            found = await scripts.done("trigger", event="echo", data=data)
            wanted = {"data": data, "by": solution, "service": "scripts", "event": "echo"}
            scripts.same("what trigger gives", found, wanted)
    scripts = Service(target, "Scripts")
    text = await failed(scripts, "trigger", 500, event="fails")
    expect.true("the error names the handler's", "as it was asked to" in text, text, scripts.last)
    for mode in ("sync", "async"):
        await scripts.refused("trigger", 404, event="nothing", mode=mode)
        for wrong in ("", "x" * 201):
            await scripts.refused("trigger", 400, event=wrong, mode=mode)
        await scripts.refused("trigger", 400, event="echo", mode=mode, data="x" * 65_536)
    await scripts.refused("trigger", 400, event="echo", mode="later")


@check("SOL-SVC-6", "async triggers are handled in order")
async def later(target: Target) -> None:
    scripts, to = Service(target, "Scripts"), target.identity()
    for number in range(5):
        found = await scripts.done("trigger", event="keep", mode="async", data={"to": to, "number": number})
        scripts.same("what trigger gives", found, {})
    scripts.same(
        "what an async failure gives", await scripts.done("trigger", event="fails", mode="async"), {}
    )
    events = await events_of(target, to, 5)
    expect.equal("what was handled", [each["event"]["number"] for each in events], [0, 1, 2, 3, 4])


@check("SOL-SVC-7", "handlers that trigger themselves", needs={"journal"})
async def loops(target: Target) -> None:
    scripts, store, key = Service(target, "Scripts"), Keystore(target), target.identity()
    await failed(scripts, "trigger", 500, event="nested", data={"key": key})
    store.same("how often it ran", await store.get(key), "10")
    await store.done("delete", key=key)
    await scripts.done("trigger", event="again", mode="async", data={"key": key})
    await target.settle()
    store.same("how often it ran", await store.get(key), "1000")


@check("SOL-SVC-8", "requests of scripts, with their answers")
async def requests(target: Target) -> None:
    http = Service(target, "Http")
    url = target.url(PROBE, "/outgoing/seen")
    for method in ("get", "post", "put", "patch", "delete"):
        body = {} if method == "get" else {"body": {"a": [1, "é"]}}
        answer = await http.done(
            method, url=f"{url}?q=%C3%A9", headers={"X-Number": 7, "X-Text": "t"}, **body
        )
        expect.equal("status_code", answer.get("status_code"), 200, http.last)
        seen = json.loads(answer["body"])
        wanted = {"method": method.upper(), "query": {"q": "é"}, **body}
        http.same("what arrives", {name: seen.get(name) for name in wanted}, wanted)
        sent = {"x-number": "7", "x-text": "t", **({"content-type": "application/json"} if body else {})}
        http.same("headers", {name: seen["headers"].get(name) for name in sent}, sent)
        kind = answer["headers"]["content-type"].partition(";")[0]
        expect.equal("type of the answer", kind, "application/json", http.last)
    answer = await http.done("get", url=target.url(PROBE, "/outgoing/missing"))
    found = [answer.get("status_code"), answer["body"], answer["headers"].get("x-why")]
    expect.equal("answer of another status", found, [404, "é", "gone"], http.last)
    for method in ("head", "options"):
        answer = await http.done(method, url=url)
        expect.true("an answer without a body", answer["body"] == "", answer, http.last)


@check("SOL-SVC-8", "redirects of requests of scripts")
async def redirects(target: Target) -> None:
    http = Service(target, "Http")
    seen = target.url(PROBE, "/outgoing/seen")
    for method, code, arrives in (
        ("get", 301, "GET"),
        ("get", 302, "GET"),
        ("get", 307, "GET"),
        ("post", 301, "GET"),
        ("post", 302, "GET"),
        ("post", 303, "GET"),
        ("post", 307, "POST"),
        ("post", 308, "POST"),
    ):
        for location in (seen, "/outgoing/seen"):
            url = target.url(PROBE, f"/outgoing/to/{code}?location={quote(location, safe='')}")
            body = {"body": {"a": 1}} if method == "post" else {}
            answer = await http.done(method, url=url, **body)
            found = json.loads(answer["body"])
            expect.equal("method after the redirect", found.get("method"), arrives, http.last)
            if arrives == "POST":
                http.same("body after the redirect", found.get("body"), {"a": 1})


@check("SOL-SVC-9", "hosts and URLs that scripts cannot request")
async def other_hosts(target: Target) -> None:
    http = Service(target, "Http")
    secret, seen = target.url(WITNESS, "/outgoing/seen"), target.url(PROBE, "/outgoing/seen")
    again = target.url(PROBE, f"/outgoing/to/302?location={quote(secret, safe='')}")
    for url in (
        secret,
        again,
        "https://127.0.0.1/",
        "http://example.com/",
        seen.replace("probe.", "a.probe."),
    ):
        await http.refused("get", 403, url=url)
    host = "https://a.example"
    for url in (
        *("", "x", "ftp://probe/", "/outgoing/seen", f"{seen} x", seen.replace("://", "://me:secret@")),
        *(f"{host}:99999/", f"{host}\\@probe/", f"{host}/é", f"{host}/".ljust(LONGEST_URL + 1, "x")),
    ):
        await http.refused("get", 400, url=url)
    await http.refused("get", 400)
    for headers in (
        {"Host": "x"},
        {"content-length": "1"},
        {"X": "a\r\nY: b"},
        {"X Y": "a"},
        {"X": {"a": 1}},
    ):
        await http.refused("get", 400, url=seen, headers=headers)
    await failed(http, "get", 502, url=target.url(PROBE, "/outgoing/round"))


@check("SOL-SVC-13", "requests with a method as an argument")
async def methods(target: Target) -> None:
    http, url = Service(target, "Http"), target.url(PROBE, "/outgoing/seen")
    for given in ({}, *({"method": each} for each in ("get", "GET", "post", "Put", "patch", "DELETE"))):
        body = {} if given.get("method", "get").lower() == "get" else {"body": "té"}
        seen = json.loads((await http.done("request", url=url, **{**given, "body": "té"}))["body"])
        wanted = {"method": given.get("method", "get").upper(), **body}
        http.same("what arrives", {name: seen[name] for name in seen.keys() & {"method", "body"}}, wanted)
    for method in ("head", "options"):
        answer = await http.done("request", url=url, method=method, body="té")
        expect.true("an answer without a body", answer["body"] == "", answer, http.last)
    for wrong in ("", "trace", "get "):
        await http.refused("request", 400, url=url, method=wrong)
    await http.refused("request", 400, method="get")


@check("SOL-SVC-14", "values as JSON, in the query and in a form")
async def values(target: Target) -> None:
    http, url = Service(target, "Http"), target.url(PROBE, "/outgoing/seen")
    params = {"text": "é &=", "number": 7, "half": 1.5, "yes": True, "list": ["a", "b"]}
    sent = {"text": "é &=", "number": "7", "half": "1.5", "yes": "true", "list": ["a", "b"]}
    body, form = {"body": "té"}, "application/x-www-form-urlencoded"
    bodies: tuple[tuple[Any, Any, str], ...] = (
        *(({"json": each}, each, "application/json") for each in VALUES),
        (
            {"json": {"a": 1}, "headers": {"content-type": "application/json; v=1"}},
            {"a": 1},
            "application/json; v=1",
        ),
    )
    for method in ("post", "put", "patch", "delete"):
        for given, arrives, kind in bodies:
            seen = json.loads((await http.done(method, url=f"{url}?q=1", params=params, **given))["body"])
            http.same("the body", seen.get("body"), arrives)
            http.same("the query", seen["query"], {"q": "1", **sent})
            http.same("its type", seen["headers"].get("content-type"), kind)
        seen = json.loads((await http.done(method, url=f"{url}?q=1", params=params))["body"])
        arrived = {name: each if name == "list" else each[0] for name, each in parse_qs(seen["body"]).items()}
        http.same("a form", [seen["query"], arrived], [{"q": "1"}, sent])
        http.same("its type", seen["headers"].get("content-type"), form)
        await http.refused(method, 400, url=url, json={"a": 1}, **body)
    for address in (url, f"{url}?q=1", f"{url}#part"):
        seen = json.loads((await http.done("get", url=address, params=params))["body"])
        http.same("the query", seen["query"], {**sent, **({"q": "1"} if "?" in address else {})})
    for wrong in ("a=1", [1], {"a": {"b": 1}}, {"a": [[1]]}, {"a": ["x"] * 257}):
        await http.refused("get", 400, url=url, params=wrong)


@check("SOL-SVC-15", "timeouts of requests", needs={"settings"})
async def timeouts(target: Target) -> None:
    http, url = Service(target, "Http"), target.url(PROBE, "/outgoing/seen")
    value: Any
    for name, value in (("conn_timeout", 10_000), ("recv_timeout", 20_000), ("recv_timeout", "5000")):
        found = await http.done("get", url=url, **{name: value})
        expect.equal("status_code", found.get("status_code"), 200, http.last)
    for name, value in (
        *(("conn_timeout", each) for each in (0, 10_001, "x", 1.5)),
        *(("recv_timeout", each) for each in (0, 20_001, -1)),
    ):
        await http.refused("post", 400, url=url, **{name: value})
    await target.in_lab(_never_answers)


def _never_answers() -> None:
    from labkit.lab.lab import Lab

    go_on = threading.Event()
    with Lab(1, http_hosts=["one.apps.lab.localhost"]) as lab:
        solution = lab.solution("one")
        solution.route("GET", "/held", lambda: go_on.wait(60))
        try:
            found = solution.Http.get(url=solution.url("/held"), recv_timeout=50)
        finally:
            go_on.set()
        same("status without an answer", found.get("status"), 504)


@check("SOL-SVC-22", "wrong arguments in the field", needs={"settings"})
async def unprocessable(target: Target) -> None:
    for settings, status in (({}, 400), ({"profile": "field"}, 422), ({"wire": {"http_invalid": 422}}, 422)):
        await target.in_lab(_unprocessable, settings, status)


def _unprocessable(settings: dict[str, Any], status: int) -> None:
    from labkit.lab.lab import Lab

    with Lab(1, **settings) as lab:
        http = lab.solution("one").Http
        for given in ({"url": "ftp://x/"}, {"url": ""}, {"url": "https://x/", "recv_timeout": 0}):
            same("status of an invalid one", http.get(**given).get("status"), status)
        same("status without a URL", http.get().get("status"), 400)
        same("status of another host", http.get(url="https://x.example/").get("status"), 403)
        last = lab.journal.select("call", "one")[-3]
        same("status in the journal", last.status, status)


@check("SOL-SVC-10", "settings of Email")
async def mail_settings(target: Target) -> None:
    email = Service(target, "Email")
    domain = target.url(PROBE, "").removeprefix("https://").partition(":")[0].rstrip("/")
    found = await email.done("getSettings")
    shown = {name: found.get(name) for name in ("from", "custom")}
    email.same("settings", shown, {"from": f"noreply@{domain}", "custom": False})


@check("SOL-SVC-16", "what Email.send gives")
async def mail_results(target: Target) -> None:
    email, ids = Service(target, "Email"), set()
    to = ["Ann <ann@example.com>", "bob@example.com"]
    given = {
        "to": to,
        "cc": "eve@example.com",
        "bcc": ["Joe <joe@example.com>"],
        "from": "It <it@example.com>",
    }
    wanted = ["ann@example.com", "bob@example.com", "eve@example.com", "joe@example.com"]
    for _ in range(2):
        found = await email.done("send", subject="results", text="x", **given)
        email.same("accepted", found.get("accepted"), wanted)
        email.same("rejected", found.get("rejected") or [], [])
        email.same("envelope", found.get("envelope"), {"from": "it@example.com", "to": wanted})
        expect.true("a response", isinstance(found.get("response"), str), found, email.last)
        ids.add(str(found.get("messageId")))
    expect.equal("different ids", len(ids), 2, email.last)


@check("SOL-SVC-17", "mails of a day", needs={"settings"})
async def mail_usage(target: Target) -> None:
    await target.in_lab(_mail_usage)


def _mail_usage() -> None:
    from labkit.lab.lab import Lab

    with Lab(1, start="2026-01-01T23:59:58Z") as lab:
        one, other = lab.solution("one"), lab.solution("other")
        for mails, seconds in ((1, 0), (2, 1), (1, 1), (2, 60)):
            lab.clock.advance(seconds)
            one.Email.send(to="ann@example.com", subject="x")
            same("mails of the day", one.Email.getSettings()["usage"], {"daily": mails})
            quota = one.Email.getSettings()["quota"]["daily"]
            expect.true("a daily quota beyond it", quota > mails, quota)
            same("mails of another solution", other.Email.getSettings()["usage"], {"daily": 0})


@check("SOL-SVC-23", "arguments without an effect, and an operation known by name only", needs={"settings"})
async def without_effect(target: Target) -> None:
    await target.in_lab(_without_effect)


def _without_effect() -> None:
    from labkit.lab.lab import Lab

    with Lab(1, http_hosts=["one.apps.lab.localhost"]) as lab:
        one = lab.solution("one")
        one.route("GET", "/a", lua="return 1")
        given = {"credentials": SECRET, "sslOptions": {"key": SECRET}}
        same("status", one.Http.get(url=one.url("/a"), **given)["status_code"], 200)
        mail = {"to": "ann@example.com", "subject": "x", "connection": {"password": SECRET}}
        same("status of a mail", one.Email.send(**mail).get("status"), None)
        calls = lab.journal.select("call")
        for name in ("credentials", "sslOptions", "connection"):
            hint = f"{name} has no effect in labkit"
            expect.true(hint, any(hint in str((each.detail or {}).get("hint")) for each in calls), calls)
        expect.true("no value of them", SECRET not in lab.journal.canonical(), "a value")
        text = one.call("Config", "updateEnv", {})["error"]
        expect.true("known by name only", "known by name only" in text, text)


@check("SOL-SVC-24", "calls of the day, the month and in all", needs={"settings"})
async def call_usage(target: Target) -> None:
    await target.in_lab(_call_usage)


def _call_usage() -> None:
    from labkit.lab.lab import Lab

    with Lab(1, start="2026-01-30T23:00:00Z") as lab:
        one, other = lab.solution("one"), lab.solution("other")

        def used(title: str, *wanted: int) -> None:
            found = one.Config.usage()["Keystore"]
            same(title, tuple(found["usage"].values()), wanted)
            expect.true("a quota beyond it", min(found["quota"].values()) > wanted[-1], found)

        used("before", 0, 0, 0)
        one.run("Keystore.get{key = 'a'} Keystore.command{key = 'a', command = 'incr'}")
        other.Keystore.get(key="a")
        one.Keystore.get(key="a")
        used("of a day", 3, 3, 3)
        lab.clock.advance(hours=2)
        used("of the next day", 0, 3, 3)
        one.Keystore.get(key="")
        before = lab.snapshot()
        used("with a refused one", 1, 4, 4)
        lab.clock.advance(days=1)
        one.Keystore.get(key="a")
        used("of the next month", 1, 1, 5)
        lab.restore(before)
        lab.restart()
        used("of the snapshot", 1, 4, 4)
        lab.reset()
        used("after a reset", 0, 0, 0)


@check("SOL-SVC-18", "parameters of a service with their schema")
async def schemas(target: Target) -> None:
    config = Service(target, "Config")
    for service, names in (("keystore", {"key", "match"}), ("Config", {"service", "type"})):
        for given in ({}, {"includeSchema": False}):
            found = await config.done("getParameters", service=service, **given)
            config.same("a schema without a wish", "schema" in found, False)
        schema = await config.field("getParameters", "schema", service=service, includeSchema=True)
        config.same("its type", schema.get("type"), "object")
        expect.true("its properties", names <= schema["properties"].keys(), schema, config.last)
    await config.refused("getParameters", 400, service="Keystore", includeSchema="maybe")


@check("SOL-SVC-19", "types of services, and the older name of their list")
async def service_types(target: Target) -> None:
    config = Service(target, "Config", "hall")
    listed = {}
    for kind in (None, "core", "application", "interface", "product", "exosite", "exchange"):
        given = {} if kind is None else {"type": kind}
        _, listed[kind] = await config.call("Config", "listServices", given)
        _, older = await config.call("Config", "listService", given)
        config.same("what the older name gives", older, listed[kind])
    expect.true("services of other solutions", len(listed["application"]) > 0, listed[None], config.last)
    config.same("by the older word", listed["interface"], listed["application"])
    config.same(
        "types", sorted({each["type"] for each in listed[None]} - {"product"}), ["application", "core"]
    )
    config.same("of other types", [[*listed["exosite"]], [*listed["exchange"]]], [[], []])


NOTHING = """
local user = User.createUser{email = 'ann@example.com', name = 'Ann', password = 'secret words'} and 1
Keystore.set{key = 'a', value = 'b'}
return {
deleted = User.deleteUser{id = user} or 'nil',
again = User.deleteUser{id = user}.status,
cleared = Keystore.clear{} or 'nil',
triggered = Scripts.trigger{event = 'none'} or 'nil',
}
"""


@check("SOL-SVC-20", "operations without a result, by each profile and by a switch", needs={"settings"})
async def no_content(target: Target) -> None:
    for settings, is_table in (
        ({}, False),
        ({"profile": "field"}, False),
        ({"wire": {"no_content": True}}, True),
    ):
        await target.in_lab(_no_content, settings, is_table)


def _no_content(settings: dict[str, Any], is_table: bool) -> None:
    from labkit.lab.lab import Lab

    with Lab(1, **settings) as lab:
        solution = lab.solution("one")
        solution.on("scripts", "none", lua="return nil")
        solution.route("GET", "/nothing", lua=NOTHING)
        found = solution.get("/nothing").json()
        wanted = {"status_code": 204} if is_table else None
        given = wanted or "nil"
        same(
            "what scripts get", found, {"deleted": given, "again": 404, "cleared": given, "triggered": "nil"}
        )
        user = solution.User
        user.createUser(email="bea@example.com", name="Bea", password="secret words")
        same("what it gives a cell", user.deleteUser(id=2), wanted)


@check("SOL-SVC-21", "texts in a sandbox")
async def sandbox(target: Target) -> None:
    scripts = Service(target, "Scripts")
    for text, parameters, value in (
        *(("return parameters", each, each) for each in VALUES),
        ("return level * 2, 5", {"level": 21}, 42),
        ("level = (level or 0) + 1 return level", None, 1),
        ("level = (level or 0) + 1 return level", {}, 1),
        ("return {Keystore == nil, murano == nil, print == nil, log == nil}", None, [True] * 4),
        ("return string.upper(name) .. #names", {"name": "é a", "names": [1, 2]}, "é A2"),
    ):
        given = {} if parameters is None else {"parameters": parameters}
        found = await scripts.done("sandbox", script=text, **given)
        scripts.same(f"what {text} gives", found, {"value": value})
    for text in ("local a = 1", "return nil", "return level"):
        scripts.same("without a value", await scripts.done("sandbox", script=text) or {}, {})
    for text in (
        "error('no')",
        "return (",
        "Keystore.set{key = 'a'}",
        "local t = {} while true do t[#t + 1] = {} end",
    ):
        await scripts.refused("sandbox", 400, script=text)
    for wrong in ({"timeout": 0}, {"timeout": 11}, {"script": None}, {"script": "x" * 65_537}):
        await scripts.refused("sandbox", 400, **{"script": "return 1", **wrong})
    await failed(scripts, "sandbox", 504, script="while true do end")
