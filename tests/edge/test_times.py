"""Time limits of the edge."""

import asyncio

import pytest
from aiohttp import web

from labkit.http.connection import Connection
from tests.cases import cases
from tests.edge.rig import HOST, PATIENCE, SOON, EdgeRig, get

HALVES = ["G", "GET / HTTP/1.1\r\n", f"GET / HTTP/1.1\r\nHost: {HOST}\r\nX: y", get()[:-2], get()[:-1]]
HALF_BODIES = [
    get("/", HOST, "Content-Length: 9", method="POST") + "a=1",
    get("/", HOST, "Content-Length: 9", method="POST"),
    get("/", HOST, "Transfer-Encoding: chunked", method="POST") + "3\r\na=1\r\n",
    get("/", HOST, "Transfer-Encoding: chunked", method="POST") + "9\r\na=1",
]


@cases("half", HALVES)
async def test_half_a_head_ends_the_connection(rig: EdgeRig, half: str, engine: str, parser: str) -> None:
    await rig.begin_case(header=SOON)
    assert await rig.ask(half) == b""
    reason, detail = await rig.refusal()
    assert reason == "request head too late"
    assert "not whole within 0.05 s" in detail


async def test_half_a_head_that_grows_ends_the_connection_too(rig: EdgeRig) -> None:
    """The limit is for the whole head: a byte now and then does not extend it."""
    await rig.start(header=SOON)
    client = await rig.connect()
    client.send("GET / HTTP/1.1\r\nX: ")

    async def trickle() -> None:
        while True:
            client.send("y")
            await asyncio.sleep(SOON / 10)

    trickling = asyncio.create_task(trickle())
    assert await client.rest() == b""
    trickling.cancel()
    assert (await rig.refusal())[0] == "request head too late"


@pytest.mark.parametrize("http", [False, True])
async def test_no_request_after_the_handshake_ends_the_connection(rig: EdgeRig, http: bool) -> None:
    await rig.start(http=http, header=SOON)
    client = await (rig.connect_plainly() if http else rig.connect())
    assert await client.rest() == b""
    reason, detail = await rig.refusal()
    assert (reason, detail) == ("request head too late", "no request came within 0.05 s")


async def test_a_second_half_head_ends_the_connection(rig: EdgeRig, parser: str) -> None:
    await rig.start(header=SOON)
    client = await rig.connect()
    assert (await client.answer(get()))[0] == 200
    assert await client.ask("GET / HTTP/1.1\r\n") == b""
    assert (await rig.refusal())[0] == "request head too late"


async def test_half_a_head_is_not_timed_during_the_request_before_it(rig: EdgeRig) -> None:
    """A client that is waiting for an answer is not disconnected for bytes that it sent too early."""
    held = asyncio.Event()

    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        await held.wait()
        return web.Response()

    rig.handler = handler
    await rig.start(header=SOON)
    client = await rig.connect()
    client.send(get("/1"))
    client.send("GET /2 HTTP/1.1\r\n")
    await asyncio.sleep(1.2 * SOON)
    assert rig.refused == []
    held.set()
    assert (await client.answer())[0] == 200
    assert await client.rest() == b""
    assert (await rig.refusal())[0] == "request head too late"


@pytest.mark.parametrize("body", [*HALF_BODIES[:1], HALF_BODIES[2]])
async def test_half_a_head_behind_a_body_ends_the_connection(rig: EdgeRig, body: str, parser: str) -> None:
    """Also if both came in one piece: the limit for heads ends it, not the one for idle connections."""
    await rig.start(header=SOON)
    client = await rig.connect()
    rest = "xxxxxx" if "Length" in body else "0\r\n\r\n"
    assert (await client.answer(body + rest + "GET / HT"))[0] == 200
    assert await client.rest() == b""
    assert (await rig.refusal())[0] == "request head too late"


async def test_an_empty_line_after_a_request_starts_no_head(rig: EdgeRig, parser: str) -> None:
    await rig.start(header=SOON)
    client = await rig.connect()
    assert (await client.answer(get()))[0] == 200
    client.send("\r\n")
    await asyncio.sleep(1.2 * SOON)
    assert (await client.answer(get()))[0] == 200
    assert rig.refused == []


async def test_an_idle_connection_is_closed(rig: EdgeRig, engine: str) -> None:
    await rig.start(keep_alive=SOON, rate=1)
    client = await rig.connect()
    assert (await client.answer(get()))[0] == 200
    assert await client.rest() == b""
    assert rig.refused == []


@pytest.mark.parametrize(("rate", "limit"), [(0, SOON), (1, 10 * SOON)])  # the client, too, is that quick
async def test_a_connection_with_a_slow_request_is_not_idle(rig: EdgeRig, rate: float, limit: float) -> None:
    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        if rate:
            await asyncio.sleep(1.2 * limit)
        else:
            await rig.context.clock.advance(1.2 * limit)
        return web.Response()

    rig.handler = handler
    await rig.start(rate=rate, keep_alive=limit, header=limit, body=limit)
    client = await rig.connect()
    for _ in range(2):
        assert (await client.answer(get()))[0] == 200
    assert rig.refused == []


@cases("half", HALF_BODIES)
async def test_half_a_body_is_answered_408(rig: EdgeRig, half: str, engine: str, parser: str) -> None:
    await rig.begin_case(body=SOON)
    answer = await rig.ask(half)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"Content-Type: text/plain" in answer
    assert answer.endswith(b"\r\n\r\nthe body was not whole within 0.05 s")
    assert rig.errors == []


async def test_half_a_body_that_no_handler_reads_ends_the_connection_after_its_answer(rig: EdgeRig) -> None:
    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=401)

    rig.handler = handler
    await rig.start(body=SOON)
    answer = await rig.ask(HALF_BODIES[0])
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert answer.count(b"HTTP/1.1") == 1
    assert rig.errors == []


async def test_a_body_within_its_time_limit_may_come_in_pieces(rig: EdgeRig, parser: str) -> None:
    await rig.start(body=PATIENCE)
    client = await rig.connect()
    for data in (get("/", HOST, "Content-Length: 3", method="POST"), "a", "="):
        client.send(data)
        await asyncio.sleep(0)
    assert (await client.answer("1"))[2].endswith(b" a=1")
    assert (await client.answer(get()))[0] == 200


async def test_time_of_a_handler_that_does_not_read_does_not_count_for_the_client(rig: EdgeRig) -> None:
    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(1.5 * SOON)
        return web.Response(text=str(len(await request.read())))

    rig.handler = handler
    size = 900_000  # more than the edge buffers before the body is read
    await rig.start(body=SOON)
    client = await rig.connect()
    client.send(get("/", HOST, f"Content-Length: {size}", method="POST") + "x" * size)
    assert (await client.answer())[2].decode() == str(size)
