"""Files of a solution besides routes and handlers: static files, CORS settings, and older file formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.conformance import device_client, expect
from labkit.conformance.check import check, model_check
from labkit.conformance.probe import PROBE, Probe, events_of, same
from labkit.conformance.target import Target

if TYPE_CHECKING:
    import httpx

    from labkit.conformance.models.game import Game


SITE, OLDER, PRODUCT = "site", "older", "by-older"
ASSETS = (
    ("/start.html", "<p>start é</p>\n".encode(), "text/html; charset=utf-8"),
    ("/style.css", b"body { color: red }\n", "text/css; charset=utf-8"),
    ("/more/two%20words.txt", "grüße\n".encode(), "text/plain; charset=utf-8"),
    ("/more/start.html", b"<p>more</p>\n", "text/html; charset=utf-8"),
    ("/more/plain", b"\x00\x01\xfe\xff\r\n", "application/octet-stream"),
)
ORIGINS = {
    "https://shop.one.example": True,
    "https://a.b.one.example": True,
    "HTTPS://SHOP.ONE.EXAMPLE": True,
    "https://.one.example": True,
    "https://one.example": False,
    "https://shopone.example": False,
    "https://shop.one.example.org": False,
    "https://shop.one.exampl": False,
    "http://shop.one.example": False,
    "https://shop.one.example:8000": False,
    "https://shop.one.example/": False,
    "https://a/b.one.example": False,
    "http://localhost:3000": True,
    "http://localhost:1": True,
    "http://localhost": False,
    "http://localhost:": False,
    "http://localhost:80a": False,
    "http://localhost:²": False,
    "http://localhost:80:80": False,
    "https://localhost:3000": False,
    "https://two.example": True,
    "https://two.example.one": False,
    "https://a1b2c.three.example": True,
    "https://abc.three.example": True,
    "https://abbc.three.example": True,
    "https://ac.three.example": False,
    "https://acb.three.example": False,
    "https://ab.three.example": False,
    "https://xabc.three.example": False,
    "https://abc.three.examplex": False,
    "https://xthreec.three.example": True,
    "https://xc.three.example": False,
    "https://abbc.four.example": True,
    "https://a1b2b3c.four.example": True,
    "https://abc.four.example": False,
    "https://abba.five.example": True,
    "https://aba.five.example": False,  # both parts would need the same b
    "https://any.example:8443": True,
    "https://any.example:8444": False,
    f"https://{'x' * 200}.one.example": True,
    f"https://{'x' * 280}.one.example": True,  # 300 characters, the longest
    f"https://{'x' * 281}.one.example": False,
    "null": False,
    "*": False,
}
ALLOWED, OTHER = "https://shop.one.example", "https://shop.two.example"
PREFIX = "Access-Control-"


@check("SOL-ASSET-1 SOL-ASSET-2", "each asset comes as it is, with the type of its name")
async def assets(target: Target) -> None:
    site = Probe(target, SITE)
    for path, content, kind in ASSETS:
        response = expect.status(await site.request("GET", path), 200)
        expect.body(response, content)
        expect.header(response, "Content-Type", kind)
    response = expect.status(await site.request("GET", "//more///plain"), 200)
    expect.body(response, b"\x00\x01\xfe\xff\r\n")
    for path in (
        "/.hidden",
        "/more/drafts/draft.txt",
        "/more/nothing",
        "/More/plain",
        "/site.yaml",
        "/cors.yaml",
    ):
        expect.status(await site.request("GET", path), 404)
    for path in ("/../site.yaml", "/%2e%2e/site.yaml", "/more/..%2f..%2fsite.yaml"):
        expect.status(await site.request("GET", path), 404)


@check("SOL-ASSET-3", "/ shows the default page, a folder below does not")
async def default_page(target: Target) -> None:
    site = Probe(target, SITE)
    response = expect.status(await site.request("GET", "/"), 200)
    expect.body(response, "<p>start é</p>\n")
    expect.header(response, "Content-Type", "text/html; charset=utf-8")
    for path in ("/more", "/more/"):
        expect.status(await site.request("GET", path), 404)


@check("SOL-ASSET-4", "HEAD, OPTIONS and other methods of an asset; a route goes before it")
async def methods(target: Target) -> None:
    site = Probe(target, SITE)
    for path, content, kind in ASSETS:
        response = expect.status(await site.request("HEAD", path), 200)
        expect.header(response, "Content-Type", kind)
        expect.header(response, "Content-Length", str(len(content)))
    for method, status in (("OPTIONS", 204), ("POST", 405), ("PUT", 405), ("DELETE", 405)):
        response = expect.status(await site.request(method, "/style.css"), status)
        expect.equal(f"Allow for {method}", _listed(response, "Allow"), {"GET", "HEAD", "OPTIONS"}, response)
    expect.body(expect.status(await site.request("GET", "/both.txt"), 200), "a route")
    response = expect.status(await site.request("OPTIONS", "/both.txt"), 204)
    expect.equal("Allow of a route", _listed(response, "Allow") >= {"GET", "OPTIONS"}, True, response)
    expect.status(await site.request("OPTIONS", "/nowhere"), 404)
    expect.body(expect.status(await site.request("OPTIONS", "/methods"), 200), "its own answer")
    response = expect.status(await site.request("POST", "/methods"), 405)
    expect.true(
        "Allow has OPTIONS", _listed(response, "Allow") >= {"GET", "OPTIONS"}, response.headers.get("Allow")
    )


@check("SOL-CORS-1", "which origins are allowed")
async def origins(target: Target) -> None:
    site = Probe(target, SITE)
    for origin, allowed in ORIGINS.items():
        response = await site.request("GET", "/deep", headers={"Origin": origin.encode()})
        expect.status(response, 200)
        found = response.headers.get("Access-Control-Allow-Origin")
        expect.equal(
            f"Access-Control-Allow-Origin for {origin[:60]}", found, origin if allowed else None, response
        )


@check("SOL-CORS-2", "the CORS headers for an allowed origin, another one, and none")
async def answers(target: Target) -> None:
    site = Probe(target, SITE)
    for method, path, status in (
        ("GET", "/deep", 200),
        ("GET", "/style.css", 200),
        ("HEAD", "/style.css", 200),
        ("GET", "/nowhere", 404),
        ("POST", "/deep", 405),
    ):
        response = expect.status(await site.request(method, path, headers={"Origin": ALLOWED}), status)
        given = {"Access-Control-Allow-Origin": ALLOWED, "Access-Control-Expose-Headers": "X-Count, X-More"}
        expect.equal("headers for an allowed origin", _cors(response), _lower(given), response)
        expect.equal("Vary", _listed(response, "Vary"), {"Origin"}, response)
        response = expect.status(await site.request(method, path, headers={"Origin": OTHER}), status)
        expect.equal("headers for another origin", _cors(response), {}, response)
        expect.equal("Vary", _listed(response, "Vary"), {"Origin"}, response)
        response = expect.status(await site.request(method, path), status)
        expect.equal("headers without an origin", _cors(response), {}, response)
        expect.header(response, "Vary", None)


@check("SOL-CORS-3", "a preflight is answered with methods and headers, another OPTIONS is not")
async def preflight(target: Target) -> None:
    site = Probe(target, SITE)
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "X-Note"}
    headers = {
        "Access-Control-Allow-Origin": ALLOWED,
        "Access-Control-Allow-Methods": "GET, POST",
        "Access-Control-Allow-Headers": "Content-Type, X-Note",
    }
    for path in ("/deep", "/style.css"):
        response = await site.request("OPTIONS", path, headers={"Origin": ALLOWED, **asks})
        expect.equal("headers of a preflight", _cors(expect.status(response, 204)), _lower(headers), response)
        response = await site.request("OPTIONS", path, headers={"Origin": OTHER, **asks})
        expect.equal("headers for another origin", _cors(expect.status(response, 204)), {}, response)
        response = await site.request("OPTIONS", path, headers=asks)
        expect.equal("headers for an origin of nobody", _cors(expect.status(response, 204)), {}, response)
        response = await site.request("OPTIONS", path, headers={"Origin": ALLOWED})
        names = {"access-control-allow-origin", "access-control-expose-headers"}
        expect.equal("headers that OPTIONS names", {*_cors(expect.status(response, 204))}, names, response)
        response = await site.request("GET", path, headers={"Origin": ALLOWED, **asks})
        expect.equal("headers that GET names", {*_cors(expect.status(response, 200))}, names, response)


@check("SOL-FORM-7", "local functions of modules in a folder of the older form")
async def shared_locals(target: Target) -> None:
    probe = Probe(target, OLDER)
    for _ in range(2):
        found = await probe.ask("GET", "/shared")
        wanted = {"twice": "aa1", "louder": "aa1!", "newest": "a!", "module": "éé1!", "others": "nilnilnil"}
        probe.same("what the route finds", found, wanted)


@check("SOL-CORS-4", "credentials, and what a solution allows that says nothing, or true")
async def defaults(target: Target) -> None:
    for solution, path, origin, allowed in (
        (PROBE, "/routes", "http://localhost:3000", True),
        (PROBE, "/routes", "http://localhost", False),
        (PROBE, "/routes", ALLOWED, False),
        (OLDER, "/greeting", ALLOWED, True),
        (OLDER, "/greeting", "null", True),
    ):
        probe = Probe(target, solution)
        response = expect.status(await probe.request("GET", path, headers={"Origin": origin}), 200)
        given = {"Access-Control-Allow-Origin": origin, "Access-Control-Allow-Credentials": "true"}
        expect.equal(f"headers of {solution}", _cors(response), _lower(given) if allowed else {}, response)
    asks = {"Origin": "http://localhost:1", "Access-Control-Request-Method": "PUT"}
    response = expect.status(await Probe(target).request("OPTIONS", "/routes", headers=asks), 204)
    methods = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
    expect.equal("methods", _listed(response, "Access-Control-Allow-Methods"), methods, response)
    headers = {"Content-Type", "Cookie", "Authorization"}
    expect.equal("headers", _listed(response, "Access-Control-Allow-Headers"), headers, response)


@check("SOL-FORM-1", "a folder of the older form has routes, modules, handlers and assets")
async def older(target: Target) -> None:
    probe = Probe(target, OLDER)
    found = await probe.ask("GET", "/greeting")
    probe.same("what the route finds in a module", found, {"text": "of a module that is named"})
    for path, text in (("/", "home\n"), ("/home.txt", "home\n"), ("/more/home.txt", "more\n")):
        expect.body(expect.status(await probe.request("GET", path), 200), text)
    for path in ("/.hidden", "/more/", "/Solutionfile.json", "/api.lua"):
        expect.status(await probe.request("GET", path), 404)
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "seen"}), 204)
    found = await events_of(target, device.identity, 1, OLDER)
    same("what its handler kept", found, ["seen"])


@check("SOL-FORM-2", "the hook of a folder of the older form ran once")
async def hook(target: Target) -> None:
    probe = Probe(target, OLDER)
    first = await probe.ask("GET", "/set-up")
    second = await probe.ask("GET", "/set-up")
    expect.true("the hook ran before, and each request runs it once", first["count"] >= 2, first, probe.last)
    probe.same("how often it ran", second, {"count": first["count"] + 1})


@check("SOL-FORM-3", "a module is found under its path, where the project file says that modules are")
async def named(target: Target) -> None:
    probe = Probe(target, SITE)
    probe.same("what a module gives", await probe.ask("GET", "/deep"), {"text": "of a module in a folder"})
    device = await target.activated(PRODUCT)
    for value in ("first", "second"):
        expect.status(await device_client.write(device, {"text": value}), 204)
    found = await events_of(target, device.identity, 2, SITE)
    same("what the handler in a folder kept", found, ["first", "second"])


def _cors(response: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name.startswith(PREFIX.lower())}


def _lower(headers: dict[str, Any]) -> dict[str, Any]:
    return {name.lower(): value for name, value in headers.items()}


def _listed(response: httpx.Response, name: str) -> set[str]:
    return {each.strip() for each in response.headers.get(name, "").split(",") if each.strip()}


@model_check(
    "SOL-ASSET-1 SOL-ASSET-2 SOL-ASSET-3 SOL-ASSET-4 SOL-CORS-1 SOL-CORS-2 SOL-CORS-3 SOL-CORS-4 SOL-ROUTE-3 "
    "SOL-ROUTE-4",
    "static files, their methods, and what pages of other origins may do, as a model has them",
)
def model() -> type[Game]:
    """Return the game of static files and CORS."""
    from labkit.conformance.solutions.files.browsing import Browsing

    return Browsing
