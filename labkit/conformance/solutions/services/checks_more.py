"""Scripts.trigger, Http, and the settings of Email."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.probe import PROBE, WITNESS, Keystore, Service, events_of
from labkit.conformance.target import Target

LONGEST_URL = 8000  # characters
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


@check("SOL-SVC-10", "settings of Email")
async def mail_settings(target: Target) -> None:
    email = Service(target, "Email")
    domain = target.url(PROBE, "").removeprefix("https://").partition(":")[0].rstrip("/")
    email.same("settings", await email.done("getSettings"), {"from": f"noreply@{domain}", "custom": False})
