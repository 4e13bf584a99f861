"""Requests, as the script of a route receives them."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from labkit.conformance import device_client, expect, raw
from labkit.conformance.check import check
from labkit.conformance.probe import JSON, PROBE, Probe, decoded
from labkit.conformance.solutions.routes.model import expected_body
from labkit.conformance.target import Target
from labkit.fleet.device import FORM

ADDRESS = re.compile(r"[0-9a-f.:]{3,45}", re.IGNORECASE)


@check("SOL-REQ-1 SOL-REQ-9", "a script sees method, uri, route, addresses, request_id and timestamp")
async def fields(target: Target) -> None:
    probe, device = Probe(target), target.device("token-open")
    before = await device_client.now(device)
    seen = [await probe.ask(method, "/requests/a%20b?x=1%202&y") for method in ("GET", "POST")]
    after = await device_client.now(device)
    domain = target.client(PROBE).name
    for method, request in zip(("GET", "POST"), seen, strict=True):
        given = {name: request.get(name) for name in ("method", "route")}
        probe.same("method and route", given, {"method": method, "route": "/requests/{name}"})
        uri = urlsplit(str(request.get("uri")))
        expect.equal("the uri's host", (uri.scheme, uri.hostname), ("https", domain), probe.last)
        expect.equal("the uri's path", (uri.path, uri.query), ("/requests/a%20b", "x=1%202&y"), probe.last)
        for name in ("ip", "server_ip"):
            expect.true(
                f"{name} is an address", ADDRESS.fullmatch(str(request.get(name))), request, probe.last
            )
        stamp = request.get("timestamp")
        in_time = isinstance(stamp, int) and before * 1_000_000 <= stamp < (after + 1) * 1_000_000
        expect.true("timestamp is now, in microseconds", in_time, stamp, probe.last)
    ids = {request.get("request_id") for request in seen}
    expect.true("each has a request_id of its own", len(ids) == 2 and None not in ids, ids, probe.last)


@check("SOL-REQ-2", "parameters has placeholders and query; the placeholder wins")
async def parameters(target: Target) -> None:
    probe = Probe(target)
    found = await probe.ask("GET", "/routes/a%26b/of/c?x=1&y=%C3%A9+%2B&z=&name=query&flag&t=%2541%252B")
    wanted = {"name": "a&b", "other": "c", "x": "1", "y": "é +", "z": "", "flag": "", "t": "%41%2B"}
    probe.same("parameters", found, wanted)
    found = await probe.ask("POST", "/requests/one?two=2", json={"three": 3})
    probe.same("parameters of a POST", found.get("parameters"), {"name": "one", "two": "2"})


@check("SOL-REQ-3", "headers have names in lower case")
async def headers(target: Target) -> None:
    probe = Probe(target)
    sent = {"X-Some-Header": "Some Value", "x-other": "other", "AUTHORIZATION": "Bearer abc", "Cookie": "a=b"}
    found = (await probe.ask("GET", "/requests/a", headers=sent)).get("headers", {})
    expect.equal("names in lower case", [name for name in found if name != name.lower()], [], probe.last)
    wanted = {name.lower(): value for name, value in sent.items()}
    probe.same("values", {name: found.get(name) for name in wanted}, wanted)
    expect.equal("host", found.get("host", "").split(":")[0], target.client(PROBE).name, probe.last)


@check("SOL-REQ-3", "repeated headers, and headers with characters beyond ASCII")
async def more_headers(target: Target) -> None:
    sent = [
        *(("X-Twice", "a"), ("x-twice", "b, c"), ("X-TWICE", "")),
        *(("Cookie", "a=1"), ("Cookie", "b=2; c=3"), ("Cookie2", "a"), ("Cookie2", "b")),
        *(("Accept", "text/a"), ("Accept", "text/b")),
        *(("X-UTF-8", "é😀"), ("X-Latin", "gr\udcfc\udcdf \udca0"), ("X-Mixed", "é\udcff"), ("X-None", "")),
    ]
    async with raw.connect(target, target.client(PROBE).name) as connection:
        response = expect.status(await connection.ask("GET", "/requests/a", sent), 200)
    wanted = {
        "x-twice": "a, b, c, ",
        "cookie": "a=1; b=2; c=3",
        "cookie2": "a, b",
        "accept": "text/a, text/b",
        "x-utf-8": "é😀",
        "x-latin": "grüß \xa0",
        "x-mixed": "Ã©ÿ",
        "x-none": "",
    }
    found = decoded(response)["headers"]
    expect.equal("request.headers", {name: found.get(name) for name in wanted}, wanted, response)


@check("SOL-REQ-4", "body is a table of JSON or of a declared form, else text; no body is an empty table")
async def bodies(target: Target) -> None:
    probe, form = Probe(target), "a=1&b=x+y%26&b=z&c="
    for path, kind, content, seen in (
        ("json", JSON, '{"a": [1, {"b": null}], "c": "é"}', {"a": [1, {}], "c": "é"}),
        ("json", JSON, "[1, 2]", [1, 2]),
        ("json", f"{JSON}; charset=utf-8", '"text"', "text"),
        ("json", JSON, "", {}),
        ("form", FORM, form, {"a": "1", "b": ["x y&", "z"], "c": ""}),
        ("form", FORM, "", {}),
        ("text", "text/plain", '{"a": 1}', '{"a": 1}'),
        ("text", "text/plain", "é\n", "é\n"),
        ("text", "text/plain", "", {}),
        ("json", FORM, form, form),
        ("json", "text/plain", "some text", "some text"),
    ):
        headers = {"Content-Type": kind} if content else {}
        data = content.encode()
        found = await probe.ask("POST", f"/requests/{path}/a", content=data, headers=headers)
        probe.same(f"body of {content!r} as {kind}", found.get("body"), seen)
        kind_seen = "string" if isinstance(seen, str) else "table"
        expect.equal("type of the body", found.get("kind"), kind_seen, probe.last)
    for method in ("GET", "POST"):
        found = await probe.ask(method, "/requests/a")
        probe.same(f"body of a {method} without one", found.get("body"), {})


@check("SOL-REQ-4 SOL-REQ-5", "bodies of every kind at routes of every kind, declared as every kind")
async def bodies_of_every_kind(target: Target) -> None:
    probe = Probe(target)
    types = (None, JSON, " Application/Problem+JSON ;q=1", "text/plain", f"{FORM}; charset=utf-8")
    bodies = (
        '{"a": [1]}',
        ' \n[1, "é"] ',
        '{"a": ',
        "[1,",
        '{"a": 1}x',
        "null",
        '\ufeff{"é": [1]}',  # with a byte order mark
        "5",
        '"a"',
        "a=1&a=2&b",
        "{=[",
        "é",
    )
    for kind in ("json", "form", "text"):
        for declared in types:
            headers = {"Content-Type": declared} if declared else {}
            for content in bodies:
                wanted = expected_body(kind, declared, content.encode())
                path = f"/requests/{kind}/{target.identity()}"
                response = await probe.request("POST", path, content=content.encode(), headers=headers)
                expect.status(response, wanted.status)
                if wanted.status == 200:
                    probe.same(f"{content!r} as {declared}", decoded(response), wanted.body)


@check("SOL-REQ-4", "text that is not UTF-8 arrives byte for byte")
async def other_bytes(target: Target) -> None:
    probe = Probe(target)
    for content in (b"\xff", b"gr\xfc\xc3\xbc\xed\xa0\x80", b"{\xff", bytes(range(256))):
        headers = {"Content-Type": "text/plain"}
        response = await probe.request("POST", "/responses/echo", content=content, headers=headers)
        expect.body(expect.status(response, 200), content)
        response = await probe.request("POST", "/requests/json/a", content=content, headers=headers)
        seen = {"kind": "string", "body": content.decode(errors="replace")}
        probe.same("what a route for JSON gets", decoded(expect.status(response, 200)), seen)


@check("SOL-REQ-5", "a body that is no JSON though declared as such is answered 400, and no script runs")
async def no_json(target: Target) -> None:
    probe, key = Probe(target), target.identity()
    for content in ('{"a": ', "a=1&b=2", "{'a': 1}", '{"a": 1} {"b": 2}', "NaN", b'{"a": "\xff"}'):
        response = await probe.request(
            "POST", f"/requests/json/{key}", content=content, headers={"Content-Type": JSON}
        )
        expect.status(response, 400)
    probe.same("what the script has stored", await probe.ask("GET", f"/notes/{key}"), {})
    await probe.ask("POST", f"/requests/json/{key}", json={})
    found = await probe.ask("GET", f"/notes/{key}")
    probe.same("what it stores of a good one", found, {"note": "the script has run"})
