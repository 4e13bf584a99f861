"""Websockets: handshakes, events of the script, what goes back, and the service Websocket."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from labkit.conformance import expect, raw
from labkit.conformance.check import check, model_check
from labkit.conformance.probe import PROBE, WITNESS, Probe, Service, same
from labkit.conformance.solutions.websockets.client import (
    HANDSHAKE,
    answer,
    end,
    message,
    opened,
    socket_id,
    steps,
)
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch
from labkit.fleet.websocket import WebsocketError

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


ODD = "é e\u0301 \0 😀 \u2028 \ufeff"
LIMIT = 1024 * 1024
CLIENTS = 4


async def ids_of(calls: Service) -> list[str]:
    """Return the ids that Websocket.list gives. Raises Mismatch if it gives no list."""
    kind, found = await calls.call("Websocket", "list", {})
    expect.equal("type of what list gives", kind, "table", calls.last)
    return [str(each) for each in found]


@check("SOL-WS-1", "a handshake is answered 101, with the first subprotocol of those that it offers")
async def handshake(target: Target) -> None:
    for protocols in ((), ("json",), ("v2.json", "v1.json")):
        async with opened(target, target.identity(), protocols=protocols) as socket:
            expect.equal("subprotocol", socket.subprotocol, protocols[0] if protocols else None)
            expect.equal("what comes back", await answer(socket, "hello"), "hello")


@check("SOL-WS-1", "a wrong handshake is refused, and other methods do not see the route")
async def no_handshake(target: Target) -> None:
    probe, path = Probe(target), f"/socket/{target.identity()}"
    for changed, status in (
        ({"Sec-WebSocket-Key": "short"}, 400),
        ({"Sec-WebSocket-Version": "8"}, 426),
        ({"Upgrade": "h2c"}, 426),
        ({"Connection": "keep-alive"}, 426),
    ):
        response = await probe.request("GET", path, headers={**HANDSHAKE, **changed})
        expect.status(response, status)
    response = expect.status(await probe.request("GET", path), 426)
    expect.header(response, "Upgrade", "websocket")
    expect.body(expect.status(await probe.request("PUT", path), 200), "beside it")
    for method, status in (("OPTIONS", 204), ("POST", 405), ("DELETE", 405), ("PATCH", 405)):
        response = expect.status(await probe.request(method, path), status)
        allow = {each.strip() for each in response.headers.get("Allow", "").split(",")}
        expect.equal("Allow", allow, {"PUT", "OPTIONS"}, response)
    expect.status(await probe.request("GET", "/nowhere", headers=HANDSHAKE), 404)


@check("SOL-WS-2", "the script learns the event, also by the other name")
async def event(target: Target) -> None:
    key = target.identity()
    headers = {"X-Odd": "a  b"}
    async with opened(target, key, query="?q=%C3%A9", headers=headers) as socket:
        found = json.loads(await answer(socket, "info"))
        server = found.pop("server_ip", None)
        expect.true("server_ip is a text", isinstance(server, str) and server, server)
        uri = found.pop("uri", "")
        scheme, _, expected = target.url(PROBE, f"/socket/{key}?q=%C3%A9").partition("://")
        expect.equal("uri", uri, f"{scheme.replace('http', 'ws')}://{expected}")
        wanted = {"same": True, "type": "data", "message": "info", "header": "a  b", "query": "é"}
        same("websocketInfo", found, {**wanted, "socket_id": await socket_id(target, key)})
    expect.equal("events", await steps(target, key, 3), ["open", "data", "close"])


@check("SOL-WS-2", "messages are handled in order, those of several websockets side by side")
async def order(target: Target) -> None:
    async def converse(number: int) -> None:
        key = target.identity()
        solution = WITNESS if number % 2 else PROBE
        async with opened(target, key, solution) as socket:
            sent = ["wait", *(f"{number} {text}" for text in "abc")]
            for each in sent:
                await socket.send(each)
            expect.equal("what comes back", [await message(socket) for _ in sent], sent)
        expect.equal(
            "events",
            await steps(target, key, len(sent) + 2, solution),
            ["open", *["data"] * len(sent), "close"],
        )

    await asyncio.gather(*map(converse, range(CLIENTS)))


@check("SOL-WS-2", "the script runs once for the end, also if it has ended the websocket itself")
async def ends(target: Target) -> None:
    key = target.identity()
    async with opened(target, key) as socket:
        await socket.send("close")
        expect.equal("close code", await end(socket), 1000)
    expect.equal("events", await steps(target, key, 3), ["open", "data", "close"])
    key = target.identity()
    async with opened(target, key) as socket:
        await socket.send("wait")
        await socket.send("a")
        await socket.close(4000)
        expect.equal("close code that comes back", socket.close_code, 4000)
    expect.equal("events", await steps(target, key, 4), ["open", "data", "data", "close"])
    key = target.identity()
    name = target.client(PROBE).name
    async with raw.connect(target, name) as client:
        client.send(raw.head("GET", f"/socket/{key}", [("Host", name), *HANDSHAKE.items()]))
        await client.more()
    expect.equal(
        "events of a connection without a close frame", await steps(target, key, 2), ["open", "close"]
    )


@check("SOL-WS-3", "what the script returns goes back, else response.message")
async def back(target: Target) -> None:
    async with opened(target, target.identity()) as socket:
        expect.equal("response.message", await answer(socket, "response"), "by response")
        expect.equal("what is returned beside it", await answer(socket, "both"), "returned")
        same("a table", json.loads(await answer(socket, "table")), {"a": [1, 2], "b": "é"})
        await socket.send("nothing")
        expect.equal("what comes after nothing", await answer(socket, "next"), "next")
        expect.equal("what send sends", await answer(socket, "send"), "first")
        same("a table that send sends", json.loads(await message(socket)), {"n": 2})
        expect.equal("what is returned after it", await message(socket), "third")


@check("SOL-WS-3", "text and bytes come back unchanged")
async def unchanged(target: Target) -> None:
    async with opened(target, target.identity()) as socket:
        for text in ("", "a", ODD, "x" * 126, "x" * 65_536, "x" * LIMIT):
            expect.equal(f"text of {len(text)} characters", await answer(socket, text), text)
        expect.equal("a text that is not UTF-8", await answer(socket, "bytes"), b"\xffa")


@check("SOL-WS-12", "bytes are base64 for scripts, and arrive unchanged in both directions")
async def binary(target: Target) -> None:
    calls, key = Service(target, "Websocket"), target.identity()
    async with opened(target, key) as socket:
        for data in (b"", b"\xff", bytes(range(256)), b"\xff" * LIMIT):
            expect.equal(f"{len(data)} bytes", await answer(socket, data), data)
        id = await socket_id(target, key)
        for wrong in ("w7", "w7!=", "é", 5, {"a": 1}):
            await calls.refused("send", 400, socket_id=id, message=wrong, type="data-binary")
        await calls.done("send", socket_id=id, message="w6k=", type="data-binary")
        expect.equal("the message", await message(socket), "é".encode())


@check("SOL-WS-13", "info tells of an open websocket", needs={"clock"})
async def told(target: Target) -> None:
    calls, others = Service(target, "Websocket"), Service(target, "Websocket", WITNESS)
    key = target.identity()
    async with opened(target, key, query="?q=1") as socket:
        id, at = await socket_id(target, key), json.loads(await answer(socket, "typed"))["timestamp"]
        await target.advance(5)
        found = await calls.table("info", socket_id=id)
        wanted = {"socket_id": id, "route": "/socket/{key}", "type": "open", "timestamp": at}
        same("info", {name: found.get(name) for name in wanted}, wanted)
        same("its parameters", found.get("parameters"), {"key": key, "q": "1"})
        expect.true("its headers", "upgrade" in found.get("headers", {}), found)
        await others.refused("info", 404, socket_id=id)
    await steps(target, key, 3)
    expect.equal("status of an ended one", (await calls.table("info", socket_id=id)).get("status"), 500)


@check("SOL-WS-13", "closeAll ends the websockets of one solution", needs={"settings"})
async def closed(target: Target) -> None:
    await target.in_lab(_closed, target)


def _closed(target: Target) -> None:
    one, other = (target.lab.solution(target.identity()) for _ in range(2))
    for each in (one, other):
        each.route("WEBSOCKET", "/live", lua="return websocketInfo.message")
    with one.websocket("/live") as first, one.websocket("/live") as second, other.websocket("/live") as third:
        target.lab.settle()
        expect.equal("how many are closed", one.Websocket.closeAll(), 2)
        for socket in (first, second):
            try:
                seen = str(socket.receive())
            except WebsocketError as error:
                seen = str(error)
            expect.true("it ends with code 1000", "code 1000" in seen, seen)
        third.send("still here")
        expect.equal("what another answers", third.receive(), "still here")
        target.lab.settle()
        expect.equal("how many are left", one.Websocket.closeAll(), 0)


@check("SOL-WS-14", "the script learns when a message came, and its type", needs={"clock"})
async def typed(target: Target) -> None:
    async with opened(target, target.identity()) as socket:
        before = json.loads(await answer(socket, "typed"))
        expect.equal("its type", before.get("message_type"), "data-text")
        await target.advance(2)
        after = json.loads(await answer(socket, "typed"))
        expect.equal("microseconds between two", after["timestamp"] - before["timestamp"], 2_000_000)
        expect.equal("bytes of a script that knows their type", await answer(socket, b"\xff"), b"\xff")


@check("SOL-WS-4", "Websocket.send, list and close, from another script")
async def service(target: Target) -> None:
    calls = Service(target, "Websocket")
    key, other = target.identity(), target.identity()
    async with opened(target, key) as socket, opened(target, other) as second:
        ids = [await socket_id(target, each) for each in (key, other)]
        listed = await ids_of(calls)
        expect.true("list has both ids", {*ids} <= {*listed}, listed)
        for given, expected in (("é", "é"), (5, "5"), ({"a": [1]}, {"a": [1]})):
            await calls.done("send", socket_id=ids[0], message=given)
            found = await message(socket)
            expect.equal("the message", found if isinstance(expected, str) else json.loads(found), expected)
        await calls.done("send", socket_id=ids[0], server_ip="127.0.0.1", message="w6k=", type="data-binary")
        expect.equal("the message", await message(socket), "é".encode())
        await calls.done("close", socket_id=ids[0])
        expect.equal("close code", await end(socket), 1000)
        listed = await ids_of(calls)
        expect.true("list has the open one alone", ids[0] not in listed and ids[1] in listed, listed)
        await calls.done("send", socket_id=ids[1], message="still here")
        expect.equal("the message of the other", await message(second), "still here")


@check("SOL-WS-4", "what is no message is refused")
async def no_message(target: Target) -> None:
    calls, key = Service(target, "Websocket"), target.identity()
    async with opened(target, key) as socket:
        id = await socket_id(target, key)
        await calls.refused("send", 400, socket_id=id)
        await calls.refused("send", 400, socket_id=id, message="a", type="text")
        await calls.refused("send", 400, message="a")
        expect.equal("size of the largest message", len(await answer(socket, f"size{LIMIT}")), LIMIT)
        expect.equal("what send returns", await message(socket), "{}")
        refused = json.loads(await answer(socket, f"size{LIMIT + 1}"))
        expect.equal("status of a larger one", refused.get("status"), 400)


@check("SOL-WS-5", "an unknown id is 404, also that of another solution; an ended one 500")
async def unknown(target: Target) -> None:
    calls, others = Service(target, "Websocket"), Service(target, "Websocket", WITNESS)
    key = target.identity()
    async with opened(target, key) as socket:
        id = await socket_id(target, key)
        for asked, wrong in ((calls, "nobody"), (calls, id.upper() + "0"), (others, id)):
            await asked.refused("send", 404, socket_id=wrong, message="a")
            await asked.refused("close", 404, socket_id=wrong)
        listed = await ids_of(others)
        expect.true("another solution does not list it", id not in listed, listed)
        expect.equal("it is open", await answer(socket, "still here"), "still here")
    await steps(target, key, 3)
    for operation, more in (("send", {"message": "a"}), ("close", {})):
        found = await calls.table(operation, socket_id=id, **more)
        wanted = {"type": "ServerError", "status": 500}
        same("the error of an ended one", {name: found.get(name) for name in wanted}, wanted)
    await others.refused("send", 404, socket_id=id, message="a")


@check("SOL-WS-6", "a script that fails ends no websocket")
async def fails(target: Target) -> None:
    key = target.identity()
    async with opened(target, key) as socket:
        await socket.send("error")
        expect.equal("what comes next", await answer(socket, "next"), "next")
    expect.equal("events", await steps(target, key, 4), ["open", "data", "data", "close"])


@check("SOL-WS-7", "origins are judged by the CORS settings")
async def origins(target: Target) -> None:
    probe, own = Probe(target), target.url(PROBE, "").rstrip("/")
    for origin in ("https://elsewhere.example", "null", f"{own}.example"):
        response = await probe.request(
            "GET", f"/socket/{target.identity()}", headers={**HANDSHAKE, "Origin": origin}
        )
        expect.status(response, 403)
    for origin in (own, "http://localhost:3000"):
        async with opened(target, target.identity(), headers={"Origin": origin}) as socket:
            expect.equal("what comes back", await answer(socket, "a"), "a")


@check("SOL-WS-8", "a message that is too long or malformed ends its websocket alone")
async def bounds(target: Target) -> None:
    mask = bytes(4)
    async with opened(target, target.identity()) as other:
        for what, sent, code in (
            ("a message of more than 1 MiB", b"\x82\xff" + (LIMIT + 1).to_bytes(8, "big") + mask, 1009),
            ("text that is not UTF-8", b"\x81\x82" + mask + b"a\xff", 1007),
            ("a frame without a mask", b"\x81\x01a", 1002),
            ("an unknown kind of frame", b"\x83\x80" + mask, 1002),
        ):
            key = target.identity()
            expect.equal(f"close code after {what}", await code_after(target, key, sent), code)
            expect.equal("events", await steps(target, key, 2), ["open", "close"])
        expect.equal("what comes back at another", await answer(other, "still here"), "still here")


@check("SOL-WS-10", "one websocket more than a solution may have is refused until another has ended")
async def most(target: Target) -> None:
    path = f"/socket/{target.identity()}"
    async with (
        opened(target, target.identity(), "gate") as other,
        opened(target, target.identity(), "lodge") as first,
    ):
        async with opened(target, target.identity(), "lodge"):
            response = await Probe(target, "lodge").request("GET", path, headers=HANDSHAKE)
            expect.status(response, 503)
            expect.true("a reason", "websockets" in response.json().get("error", ""), response.text)
            for socket in (first, other):
                expect.equal("what comes back", await answer(socket, "still here"), "still here")
        async with opened(target, target.identity(), "lodge") as another:
            expect.equal("what comes back after an end", await answer(another, "a"), "a")


@check("SOL-WS-11", "a module sees the websocket of its own run, also after a call that waits")
async def in_modules(target: Target) -> None:
    keys = [target.identity() for _ in range(CLIENTS)]

    async def converse(key: str) -> None:
        async with opened(target, key) as socket:
            for count in range(3):
                found = json.loads(await answer(socket, "module"))
                same("what the module sees", found, {"before": key, "after": key, "same": True})
                expect.equal("the next answer", await answer(socket, f"{key} {count}"), f"{key} {count}")

    await asyncio.gather(*map(converse, keys))
    found = await Probe(target).ask("GET", f"/sockets/{keys[0]}")
    expect.equal("what a module sees without a websocket", found.get("seen"), "nil")


async def code_after(target: Target, key: str, sent: bytes) -> int:
    """Return the code of the close frame that answers these bytes, on a websocket of its own."""
    name = target.client(PROBE).name
    async with raw.connect(target, name) as client:
        client.send(raw.head("GET", f"/socket/{key}", [("Host", name), *HANDSHAKE.items()]))
        came = b""
        while b"\r\n\r\n" not in came:
            came += await client.more()
        client.send(sent)
        frames = came.partition(b"\r\n\r\n")[2]
        while len(frames) < 4:
            if not (more := await client.more()):
                raise Mismatch("a close frame", "that one comes", "the connection ended")
            frames += more
    return int.from_bytes(frames[2:4], "big") if frames[0] == 0x88 else -1


@check(
    "SOL-WS-9",
    "the journal has the handshake, messages and the end; a waiting websocket is no activity",
    needs={"journal"},
)
async def journal(target: Target) -> None:
    key = target.identity()
    async with opened(target, key) as socket:
        await answer(socket, "a")
        await target.settle()
    await steps(target, key, 3)
    await target.settle()
    records = await target.in_lab(lambda: list(target.lab.journal))
    begun = [each for each in records if each.kind == "request" and each.summary.endswith(f"/socket/{key}")]
    found = [(each.summary, each.status) for each in begun]
    expect.equal("handshakes", found, [(f"WEBSOCKET /socket/{key}", 101)])
    caused = [each for each in records if each.cause == begun[0].sequence and each.kind == "message"]
    route = "WEBSOCKET /socket/{key}"
    ended = [f"{route} {what}" for what in ("received text", "sent text", "ended")]
    expect.equal("messages", [each.summary for each in caused], ended)
    received = caused[0].sequence
    runs = [each.cause for each in records if each.kind == "script" and each.summary == route]
    expect.true("the message causes a run of the script", received in runs, runs)


@model_check(
    "SOL-WS-2 SOL-WS-3 SOL-WS-4 SOL-WS-5",
    "websockets of two solutions that are opened, used and ended, as a model has them",
)
def model() -> type[Game]:
    """Return the game of websockets."""
    from labkit.conformance.solutions.websockets.websockets import Websockets

    return Websockets
