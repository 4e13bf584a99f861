"""Routes: selection of the script that answers a request on a solution's domain."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from labkit.conformance import device_client, expect
from labkit.conformance.check import check, model_check
from labkit.conformance.probe import PROBE, WITNESS, Probe, decoded, same
from labkit.conformance.target import Target
from labkit.core.errors import SettingsError

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


METRICS = "metrics"
CLIENTS = 8


@check("SOL-ROUTE-1", "each request of a route runs its script")
async def runs(target: Target) -> None:
    probe, witness, key = Probe(target), Probe(target, WITNESS), target.identity()
    for sums in ([1, 2], [3], [4]):
        found = await probe.ask("POST", f"/count/{key}", json={"times": len(sums)})
        probe.same("what the script gives", found, sums)
    found = await witness.ask("POST", f"/count/{key}", json={"times": 1})
    witness.same("what it gives in another solution", found, [1])
    response = await Probe(target, METRICS).request("GET", "/metrics")
    names = sorted(decoded(expect.status(response, 200)))
    expect.equal("what GET /metrics gives", names, ["dailyCount", "logs"], response)


@check("SOL-ROUTE-2", "solutions have no device endpoints, products no routes, and no solution another's")
async def domains_apart(target: Target) -> None:
    for domain, method, path in (
        (PROBE, "GET", "/timestamp"),
        (PROBE, "POST", "/provision/activate"),
        (PROBE, "GET", "/provision/download"),
        (METRICS, "GET", device_client.ALIAS),
        (METRICS, "POST", device_client.RECORD),
        ("token-open", "GET", "/metrics"),
        ("token-open", "GET", "/routes"),
        ("metered", "GET", "/metrics"),
        (PROBE, "GET", "/metrics"),
        (METRICS, "GET", "/routes"),
    ):
        expect.status(await target.client(domain).request(method, path), 404)


@check("SOL-ROUTE-3", "a placeholder matches a segment, after the exact ones")
async def placeholders(target: Target) -> None:
    probe = Probe(target)
    for path, name in (
        ("/routes/one", "one"),
        ("/routes/one/", "one"),
        ("/routes//one", "one"),
        ("/routes///one//", "one"),
        ("/routes/a%20b%2Fc%C3%A9", "a b/cé"),
        ("/routes/a%2F%2Fb", "a//b"),
        ("/routes/a%2541%2526", "a%41%26"),  # decoded once
        ("/routes/a+b%2Bc", "a+b+c"),  # no form
        ("/routes/%C3%A9e%CC%81%00%F0%9F%98%80", "ée\u0301\0😀"),
        ("/routes/exactly", "exactly"),
        ("/routes/Exact", "Exact"),
    ):
        probe.same(f"what {path} gives", await probe.ask("GET", path), {"placeholder": name})
    for path in ("/routes/exact", "/routes/exact/"):
        probe.same(f"what {path} gives", await probe.ask("GET", path), {"exact": True})
    found = await probe.ask("GET", "/routes/exact/of/b")
    probe.same("two placeholders", found, {"name": "exact", "other": "b"})
    for path in ("/routes/", "/routes"):
        expect.body(expect.status(await probe.request("GET", path), 200), "all of them")
    for path in ("/routes/one/two", "/routes/one/of", "/routes/one/of/b/c", "/routes//of/b"):
        expect.status(await probe.request("GET", path), 404)


@check("SOL-ROUTE-4", "an unknown path is answered 404, a wrong method 405 with Allow")
async def unknown(target: Target) -> None:
    probe = Probe(target)
    for method, path in (("GET", "/"), ("GET", "/nowhere"), ("POST", "/nowhere"), ("GET", "/Routes")):
        expect.status(await probe.request(method, path), 404)
    for method, path, allowed in (
        ("DELETE", "/routes", {"GET", "PUT"}),
        ("POST", "/routes", {"GET", "PUT"}),
        ("PUT", "/routes/one", {"GET"}),
        ("GET", "/json/read", {"POST"}),
    ):
        response = expect.status(await probe.request(method, path), 405)
        allow = {each.strip() for each in response.headers.get("Allow", "").split(",")}
        expect.true(f"Allow names {allowed}", allowed <= allow, allow, response)
        expect.true(f"Allow does not name {method}", method not in allow, allow, response)


@check("SOL-ROUTE-4", "Allow lists the very methods that are not answered 405")
async def listed_methods(target: Target) -> None:
    probe = Probe(target)
    for path in (
        "/routes",
        "/routes/one",
        "/routes/exact",
        "/json/read",
        "/tree",
        "/tree/fixed",
        "/tree/a/leaf",
    ):
        response = expect.status(await probe.request("OPTIONS", path), 204)
        allowed = {each.strip() for each in response.headers.get("Allow", "").split(",")}
        asked = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND")
        taken = {each for each in asked if (await probe.request(each, path)).status_code != 405}
        expect.equal(f"methods of {path}", sorted(allowed), sorted(taken), response)


@check("SOL-ROUTE-5", "a header begins a route, with its method and content type; several stand in a file")
async def headers(target: Target) -> None:
    probe = Probe(target)
    expect.body(expect.status(await probe.request("GET", "/routes"), 200), "all of them")
    expect.body(expect.status(await probe.request("PUT", "/routes"), 200), "in lower case")
    text = '{"a": 1}'
    for path, kind in (("/requests/json/a", "table"), ("/requests/text/a", "string")):
        found = await probe.ask("POST", path, content=text)
        expect.equal(f"type of the body of {path}", found.get("kind"), kind, probe.last)
    found = await probe.ask("POST", "/requests/a", content=text)
    probe.same("body where the header has no content type", found.get("body"), {"a": 1})


@check("SOL-ROUTE-6", "a solution that defines a route twice does not load", needs={"settings"})
async def twice(target: Target) -> None:
    name = target.identity()
    with tempfile.TemporaryDirectory() as folder:
        endpoints = Path(folder) / "endpoints"
        endpoints.mkdir()
        (endpoints / "first.lua").write_text("--#ENDPOINT GET /a\nreturn 1\n--#ENDPOINT GET /b\nreturn 2\n")
        second = endpoints / "second.lua"
        second.write_text("--#ENDPOINT POST /b\nreturn 3\n\n--#ENDPOINT get /b/\nreturn 4\n")
        try:
            await target.in_lab(target.lab.solution, name, path=folder)
            message = "nothing"
        except SettingsError as error:
            message = str(error)
        for line in ("endpoints/first.lua:3", "endpoints/second.lua:4"):
            expect.true(f"the error names {line}", line in message, message)
        second.write_text("--#ENDPOINT POST /b\nreturn 3\n")
        solution = await target.in_lab(target.lab.solution, name, path=folder)
        response = await target.in_lab(solution.get, "/b")
        expect.equal("what the route gives once it is there once", response.json(), 2, response)


@check("SOL-ROUTE-7", "eight clients at once get answers to their own requests, from a script that waits")
async def globals_apart(target: Target) -> None:
    for _ in range(2):
        names = [target.identity() for _ in range(CLIENTS)]
        clients = [Probe(target) for _ in names]
        requests = (
            each.ask("POST", f"/scripts/globals/{name}") for each, name in zip(clients, names, strict=True)
        )
        found = await asyncio.gather(*requests)
        same("the global after the service answered, for each", found, [{"x": name} for name in names])


@model_check(
    "SOL-ROUTE-2 SOL-ROUTE-3 SOL-ROUTE-4 SOL-REQ-1 SOL-REQ-2 SOL-REQ-3 SOL-REQ-4 SOL-REQ-5 SOL-RESP-1 "
    "SOL-RESP-2 SOL-RESP-3 SOL-RESP-4 SOL-RESP-5 SOL-RESP-6 SOL-RESP-8",
    "requests to overlapping routes, and the answers of scripts, as a model has them",
)
def model() -> type[Game]:
    """Return the game of routes."""
    from labkit.conformance.solutions.routes.requests import Requests

    return Requests
