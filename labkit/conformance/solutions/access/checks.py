"""Access to routes: the credentials and the rate of requests that a solution asks for."""

from __future__ import annotations

import base64
from collections.abc import Iterable

from labkit.conformance import expect, raw
from labkit.conformance.check import check
from labkit.conformance.probe import Probe
from labkit.conformance.solutions.websockets.client import HANDSHAKE, message
from labkit.conformance.target import Target
from labkit.fleet.websocket import open_websocket

GATE, LODGE = "gate", "lodge"  # the same folder; the lodge has settings of its own
KEY = "X-API-Key"
Headers = dict[str, str]


def basic(text: str) -> Headers:
    """Return the header of basic credentials (RFC 7617)."""
    return {"Authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}


def bearer(token: str) -> Headers:
    """Return the header of a bearer token (RFC 6750)."""
    return {"Authorization": f"Bearer {token}"}


GIVEN: dict[str, tuple[Iterable[Headers], Iterable[Headers]]] = {  # what suffices, and what does not, by route
    "GET /basic": (
        (basic("ann:secret"), basic(":"), basic("änn:a:b"), {"Authorization": "bASIC YTpi"}),
        (bearer("a"), basic("no colon"), {"Authorization": "Basic"}, {"Authorization": "Basic a:b"}, {KEY: "a"}),
    ),
    "GET /bearer/front%20door": (
        (bearer("a"), bearer("a.b-c_d~e/f+g=="), {"Authorization": "bearer  x "}),
        (basic("a:b"), {"Authorization": "Bearer"}, bearer(""), {"Authorization": "token a"}, {KEY: "a"}),
    ),
    "POST /either": ((basic("a:b"), bearer("a")), ({KEY: "a"}, {"Authorization": "Digest a"})),
}  # fmt: skip


@check("SOL-SEC-1 SOL-SEC-2", "credentials of each form, and what is none of them")
async def forms(target: Target) -> None:
    for solution in (GATE, LODGE):
        probe = Probe(target, solution)
        for where, (good, wrong) in GIVEN.items():
            method, _, path = where.partition(" ")
            for headers in good:
                response = expect.status(await probe.request(method, path, headers=headers), 200)
                given = headers["Authorization"].strip()
                expect.equal("what the script gets", response.json().get("authorization"), given, response)
            for headers in ({}, *wrong):
                response = expect.status(await probe.request(method, path, headers=headers), 401)
                kinds = {each.split()[0] for each in response.headers["WWW-Authenticate"].split(", ")}
                wanted = {"Basic"} if "basic" in path else {"Bearer"}
                expect.equal(
                    "challenges", kinds, {"Basic", "Bearer"} if path == "/either" else wanted, response
                )
                expect.true("a reason", "credentials" in response.json().get("error", ""), response.text)


@check("SOL-SEC-1", "the script judges the credentials")
async def judged(target: Target) -> None:
    for solution in (GATE, LODGE):
        probe = Probe(target, solution)
        own = target.identity()  # a client with a rate of its own
        for headers, status in ((bearer(f"wrong{own}"), 403), (bearer(f"right{own}"), 200), ({}, 401)):
            expect.status(await probe.request("GET", "/own", headers=headers), status)


@check("SOL-SEC-2", "routes that ask for nothing")
async def nothing(target: Target) -> None:
    for solution in (GATE, LODGE):
        probe = Probe(target, solution)
        for path in ("/open", "/half-open"):
            for headers in ({}, bearer("a"), {"Authorization": "odd"}):
                expect.body(expect.status(await probe.request("GET", path, headers=headers), 200), "open")


@check("SOL-SEC-3", "what a solution asks for, with a place of its own for an API key, or with the usual one")
async def of_solution(target: Target) -> None:
    gate, lodge = Probe(target, GATE), Probe(target, LODGE)
    for method in ("GET", "PUT"):  # one asks for a key itself, the other by the solution's settings
        for query in ("our%20key=a", "x=1&our+key=%C3%A9"):
            expect.status(await gate.request(method, f"/keyed?{query}"), 200)
        for query in ("", "our%20key=", "ourKey=a", "Our%20Key=a"):
            expect.status(await gate.request(method, f"/keyed?{query}", headers={KEY: "a"}), 401)
    own = target.identity()
    for headers, status in (
        ({KEY: own}, 200),
        ({KEY.lower(): f"é{own}".encode().decode("latin-1")}, 200),
        ({}, 401),
    ):
        encoded = {name: value.encode("latin-1") for name, value in headers.items()}
        expect.status(await lodge.request("GET", "/keyed?our%20key=a", headers=encoded), status)
    for headers, status in ((bearer(target.identity()), 200), ({KEY: "a"}, 401), ({}, 401)):
        expect.status(await lodge.request("PUT", "/keyed", headers=headers), status)


@check("SOL-SEC-4", "requests that need no credentials")
async def without(target: Target) -> None:
    for solution in (GATE, LODGE):
        probe = Probe(target, solution)
        asks = {"Origin": "http://localhost:1", "Access-Control-Request-Method": "PUT"}
        expect.body(expect.status(await probe.request("OPTIONS", "/keyed", headers=asks), 200), "its own")
        expect.status(await probe.request("OPTIONS", "/keyed"), 401)
        expect.status(await probe.request("OPTIONS", "/basic"), 204)
        expect.body(expect.status(await probe.request("GET", "/open.txt"), 200), "open to all\n")
        expect.status(await probe.request("GET", "/nowhere"), 404)
        expect.status(await probe.request("DELETE", "/keyed"), 405)
        expect.status(await probe.request("HEAD", "/basic"), 401)


async def statuses(probe: Probe, path: str, count: int, headers: Headers) -> list[int]:
    """Return the statuses of requests, one after the other."""
    return [(await probe.request("GET", path, headers=headers)).status_code for _ in range(count)]


@check("SOL-RATE-1", "three requests, further ones, and the next minute", needs={"clock"})
async def minutes(target: Target) -> None:
    probe, headers = Probe(target, GATE), bearer(target.identity())
    for _ in range(2):
        expect.equal("statuses", await statuses(probe, "/rate/three", 2, headers), [200, 200])
        await target.advance(40)
        expect.equal("statuses", await statuses(probe, "/rate/three", 3, headers), [200, 429, 429])
        response = expect.status(await probe.request("GET", "/rate/three", headers=headers), 429)
        expect.header(response, "Retry-After", "20")
        for advanced, left in ((18.5, 2), (0.5, 1), (0.5, 1)):
            await target.advance(advanced)
            response = expect.status(await probe.request("GET", "/rate/three", headers=headers), 429)
            expect.header(response, "Retry-After", str(left))
        expect.true("a reason", "3 requests" in response.json().get("error", ""), response.text, response)
        await target.advance(0.5)


@check("SOL-RATE-1 SOL-RATE-2", "clients by their credentials, in two solutions, on two routes")
async def clients(target: Target) -> None:
    gate, lodge, token = Probe(target, GATE), Probe(target, LODGE), target.identity()
    for probe in (gate, lodge):
        for path in ("/rate/three", "/rate/three/x"):
            for headers in (
                bearer(token),
                bearer(f"{token}é".encode().decode("latin-1")),
                basic(f"{token}:"),
            ):
                encoded = {name: value.encode("latin-1") for name, value in headers.items()}
                found = [(await probe.request("GET", path, headers=encoded)).status_code for _ in range(5)]
                expect.equal(f"statuses of {path}", found, [200, 200, 200, 429, 429], probe.last)
    found = [
        (await gate.request("GET", f"/rate/three/{name}", headers=bearer(token))).status_code for name in "ab"
    ]
    expect.equal("statuses with other names in the path", found, [429, 429])


@check("SOL-RATE-2", "requests refused with 401 between those that are counted")
async def refused_between(target: Target) -> None:
    lodge, headers = Probe(target, LODGE), bearer(target.identity())
    for given, status in ((headers, 403), ({}, 401), ({KEY: "a"}, 401), (headers, 403), (headers, 429)):
        expect.status(await lodge.request("GET", "/own", headers=given), status)


@check("SOL-RATE-2", "clients without credentials, by their address", needs={"clock"})
async def addresses(target: Target) -> None:
    await target.advance(60)
    for solution in (GATE, LODGE):
        for other in (False, True):
            probe = Probe(target, solution)  # a connection of its own, from the same address
            wanted = [429, 429] if other else [200, 200, 200, 429]
            expect.equal("statuses", await statuses(probe, "/rate/three", len(wanted), {}), wanted)
        known = Probe(target, solution)
        found = await statuses(known, "/rate/three", 1, bearer(target.identity()))
        expect.equal("status with credentials", found, [200])


@check("SOL-RATE-3", "the rate of a solution, and routes without a limit")
async def rate_of_solution(target: Target) -> None:
    gate, lodge, headers = Probe(target, GATE), Probe(target, LODGE), bearer(target.identity())
    expect.equal("statuses", await statuses(gate, "/rate/default", 5, headers), [200] * 5)
    expect.equal("statuses", await statuses(lodge, "/rate/default", 4, headers), [200, 200, 429, 429])
    expect.equal("statuses", await statuses(lodge, "/rate/none", 5, headers), [200] * 5)
    expect.equal("statuses of another route", await statuses(lodge, "/own", 3, headers), [403, 403, 429])
    found = [(await lodge.request("PUT", "/keyed", headers={})).status_code for _ in range(3)]
    found += [(await lodge.request("PUT", "/keyed", headers=headers)).status_code for _ in range(3)]
    expect.equal("statuses after refusals", found, [401, 401, 401, 200, 200, 429])


@check(
    "SOL-SEC-1 SOL-RATE-1", "the handshake of a websocket needs credentials and counts, its messages do not"
)
async def websockets(target: Target) -> None:
    for solution in (GATE, LODGE):
        domain, token = target.client(solution).name, bearer(target.identity())
        for _ in range(2):
            expect.equal("status without credentials", await _status(target, domain, {}), 401)
        for _ in range(3):
            socket = await open_websocket(target.address, domain, "/bell", headers=token)
            for text in "abcd":
                await socket.send(text)
            found = [await message(socket) for _ in range(5)]
            expect.equal("what comes back", found, ["open", *["data"] * 4])
            await socket.close()
        expect.equal("status of one more", await _status(target, domain, token), 429)


async def _status(target: Target, domain: str, headers: Headers) -> int:
    """Return the status of the answer to a handshake."""
    async with raw.connect(target, domain) as client:
        client.send(raw.head("GET", "/bell", [("Host", domain), *HANDSHAKE.items(), *headers.items()]))
        came = await client.more()
    return int(came.split(b" ", 2)[1])
