"""Documentation of a solution's routes: /swagger.json, /swagger.yaml and /docs."""

from __future__ import annotations

import re
from typing import Any

import yaml

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.interface.partners import create_own
from labkit.conformance.probe import PROBE, Probe
from labkit.conformance.target import Target

GATE, LODGE = "gate", "lodge"
SOURCE, YAML, PAGE = "/swagger.json", "/swagger.yaml", "/docs"
Document = dict[str, Any]


async def document(target: Target, solution: str) -> tuple[Probe, Document]:
    """Return the OpenAPI document of a solution."""
    probe = Probe(target, solution)
    response = expect.status(await probe.request("GET", SOURCE), 200)
    expect.true("JSON", response.headers["Content-Type"].startswith("application/json"), response.headers)
    found: Document = response.json()
    return probe, found


@check("SOL-DOC-1", "the routes with their parameters, tags, credentials and rates")
async def routes(target: Target) -> None:
    probe, found = await document(target, GATE)
    probe.same("version of OpenAPI", found.get("swagger"), "2.0")
    info = {name: found["info"].get(name) for name in ("title", "version", "description")}
    wanted = {"title": "The gate", "version": "2.1", "description": 'Doors <and> "gates" & é'}
    probe.same("info", info, wanted)
    host = target.url(GATE, "").removeprefix("https://").rstrip("/")
    probe.same("host", [found["host"], found["schemes"]], [host, ["https"]])
    methods = {(path, method) for path, entry in found["paths"].items() for method in entry}
    for where in (("/basic", "get"), ("/bearer/{door}", "get"), ("/keyed", "get")):
        expect.true(f"{where} is there", where in methods, methods, probe.last)
    for where in (("/open", "get"), ("/keyed", "put"), ("/rate/three", "get")):  # without a documented tag
        expect.true(f"{where} is not there", where not in methods, methods, probe.last)
    door = found["paths"]["/bearer/{door}"]["get"]
    texts = {name: door.get(name) for name in ("summary", "description", "tags")}
    text = "Opens for <b>anybody</b> with a token."
    probe.same(
        "texts", texts, {"summary": "A door by its name", "description": text, "tags": ["public", "doors"]}
    )
    probe.same("credentials", [*map(list, door["security"])], [["bearer"]])
    expect.true("401 is described", "401" in door["responses"], door, probe.last)
    key = found["securityDefinitions"]["apiKey"]
    probe.same("place of a key", [key.get("in"), key.get("name")], ["query", "our key"])


@check("SOL-DOC-1", "all routes of solutions without documented tags, with bodies and rates")
async def all_routes(target: Target) -> None:
    probe, lodge = await document(target, LODGE)
    expect.true("open to all", "get" in lodge["paths"]["/open"], lodge["paths"], probe.last)
    either = lodge["paths"]["/either"]["post"]
    probe.same("credentials", [*map(list, either["security"])], [["basic"], ["bearer"]])
    statuses = {path: sorted(lodge["paths"][path]["get"]["responses"]) for path in ("/own", "/rate/none")}
    probe.same("statuses", statuses, {"/own": ["200", "401", "429"], "/rate/none": ["200"]})
    probe, other = await document(target, PROBE)
    probe.same("title", other["info"]["title"], PROBE)
    names = {
        (each["name"], each["in"])
        for each in other["paths"]["/routes/{name}/of/{other}"]["get"]["parameters"]
    }
    expect.equal("parameters", names, {("name", "path"), ("other", "path")}, probe.last)
    bodies = {
        path: [each["in"] for each in other["paths"][path]["post"]["parameters"]]
        for path in ("/json/read", "/requests/json/{name}")
    }
    expect.true("bodies", all("body" in places for places in bodies.values()), bodies, probe.last)
    websocket = other["paths"].get("/socket/{key}", {})
    probe.same("methods of a path with a websocket", [*websocket], ["put"])


@check("SOL-DOC-2", "what schema.yml says of a route, of another path and of definitions")
async def merged(target: Target) -> None:
    for solution in (GATE, LODGE):
        probe, found = await document(target, solution)
        door = found["paths"]["/bearer/{door}"]
        probe.same("texts of the route", door["get"].get("summary"), "A door by its name")
        answers = door["get"]["responses"]
        probe.same("an answer", answers["200"].get("schema"), {"$ref": "#/definitions/Door"})
        expect.true("further answers", {"401", "404"} <= answers.keys(), answers, probe.last)
        probe.same("parameters of the path", [each["name"] for each in door["parameters"]], ["door"])
        probe.same("its own parameters", door["get"]["parameters"], [{"$ref": "#/parameters/lamp"}])
        probe.same("a definition", found["definitions"]["Door"]["type"], "object")
        probe.same("a parameter", found["parameters"]["lamp"]["enum"], ["on", "off"])
        probe.same("info", found["info"].get("contact"), {"name": "Ann é"})
        elsewhere = found["paths"]["/elsewhere/{id}"]["post"]
        probe.same("a path without a route", [each["name"] for each in elsewhere["parameters"]], ["id"])
        expect.true("an answer of it", elsewhere["responses"], elsewhere, probe.last)


@check("SOL-DOC-3", "a page that needs nothing else, with texts of the solution")
async def page(target: Target) -> None:
    for solution, title in ((GATE, "The gate"), (LODGE, "The gate"), (PROBE, PROBE)):
        probe = Probe(target, solution)
        response = expect.status(await probe.request("GET", PAGE), 200)
        expect.header(response, "Content-Type", "text/html; charset=utf-8")
        text = response.text
        expect.true("its title", f"<title>{title}</title>" in text, text[:300], response)
        foreign = re.findall(r"<script|<link|<img|@import|url\(|(?:src|href)=\"(?:https?:)?//", text)
        expect.equal("parts from elsewhere", foreign, [], response)
        if solution == PROBE:
            expect.true("a route", "/routes/{name}/of/{other}" in text, text[:300], response)
            continue
        expect.true(
            "a route", "/bearer/{door}" in text and "A door by its name" in text, text[:300], response
        )
        for escaped in ("&lt;b&gt;anybody&lt;/b&gt;", "&lt;script&gt;alert(1)&lt;/script&gt;"):
            expect.true(f"{escaped} is text", escaped in text, text[:300], response)


@check("SOL-DOC-5", "the same in YAML")
async def in_yaml(target: Target) -> None:
    for solution in (GATE, LODGE):
        probe, found = await document(target, solution)
        response = expect.status(await probe.request("GET", YAML), 200)
        expect.header(response, "Content-Type", "application/yaml; charset=utf-8")
        expect.equal("the document", yaml.safe_load(response.content), found, response)


@check("SOL-DOC-4", "methods of the pages")
async def methods(target: Target) -> None:
    for solution in (GATE, PROBE):
        probe = Probe(target, solution)
        for path in (SOURCE, YAML, PAGE, "//docs"):
            expect.status(await probe.request("HEAD", path), 200)
            for method, status in (("OPTIONS", 204), ("POST", 405), ("DELETE", 405)):
                response = expect.status(await probe.request(method, path), status)
                allow = {each.strip() for each in response.headers.get("Allow", "").split(",")}
                expect.equal("Allow", allow, {"GET", "HEAD", "OPTIONS"}, response)
        for path in ("/docs/", "/Docs", "/swagger", "/swagger.json/more"):
            expect.status(await probe.request("GET", path), 404)


@check("SOL-DOC-4", "routes of a solution's own with these paths", needs={"settings"})
async def own(target: Target) -> None:
    solution, other = await create_own(target), await create_own(target)
    await target.in_lab(lambda: solution.handle.route("GET", "/docs", lua="return 'our own'"))
    await target.in_lab(lambda: solution.handle.route("POST", "/swagger.json", lua="return 'taken'"))
    for each, path, status in (
        (solution, PAGE, 200),
        (solution, SOURCE, 405),
        (other, PAGE, 200),
        (other, SOURCE, 200),
    ):
        response = await target.in_lab(each.handle.get, path)
        expect.status(response, status)
        if path == PAGE:
            expect.equal("our own", response.text == "our own", each is solution, response)
