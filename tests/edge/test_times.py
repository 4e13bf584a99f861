"""What the edge waits for, and for how long."""

import asyncio

import pytest
from aiohttp import web

from labkit.http.connection import Connection
from tests.edge.stage import HOST, PATIENCE, SOON, Stage, get

HALVES = ["G", "GET / HTTP/1.1\r\n", f"GET / HTTP/1.1\r\nHost: {HOST}\r\nX: y", get()[:-2], get()[:-1]]
HALF_BODIES = [
    get("/", HOST, "Content-Length: 9", method="POST") + "a=1",
    get("/", HOST, "Content-Length: 9", method="POST"),
    get("/", HOST, "Transfer-Encoding: chunked", method="POST") + "3\r\na=1\r\n",
    get("/", HOST, "Transfer-Encoding: chunked", method="POST") + "9\r\na=1",
]


@pytest.mark.parametrize("half", HALVES)
async def test_half_a_head_ends_the_connection(stage: Stage, half: str, engine: str, parser: str) -> None:
    stage.client_certificates = engine == "pyopenssl"
    await stage.start(header=SOON)
    assert await stage.ask(half) == b""
    reason, detail = await stage.refusal()
    assert reason == "request head too late"
    assert "not whole within 0.05 s" in detail


async def test_half_a_head_that_grows_ends_the_connection_too(stage: Stage) -> None:
    """The time is for all of it: a byte now and then does not extend it."""
    await stage.start(header=SOON)
    client = await stage.connect()
    client.send("GET / HTTP/1.1\r\nX: ")

    async def trickle() -> None:
        while True:
            client.send("y")
            await asyncio.sleep(SOON / 10)

    trickling = asyncio.create_task(trickle())
    assert await client.rest() == b""
    trickling.cancel()
    assert (await stage.refusal())[0] == "request head too late"


@pytest.mark.parametrize("http", [False, True])
async def test_silence_after_the_handshake_ends_the_connection(stage: Stage, http: bool) -> None:
    await stage.start(http=http, header=SOON)
    client = await (stage.connect_plainly() if http else stage.connect())
    assert await client.rest() == b""
    reason, detail = await stage.refusal()
    assert (reason, detail) == ("request head too late", "no request came within 0.05 s")


async def test_a_second_half_head_ends_the_connection(stage: Stage, parser: str) -> None:
    await stage.start(header=SOON)
    client = await stage.connect()
    assert (await client.answer(get()))[0] == 200
    assert await client.ask("GET / HTTP/1.1\r\n") == b""
    assert (await stage.refusal())[0] == "request head too late"


async def test_half_a_head_waits_for_the_request_before_it(stage: Stage) -> None:
    """A client that is waiting for an answer is not cut off for what it sent too early."""
    held = asyncio.Event()

    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        await held.wait()
        return web.Response()

    stage.handler = handler
    await stage.start(header=SOON)
    client = await stage.connect()
    client.send(get("/1"))
    client.send("GET /2 HTTP/1.1\r\n")
    await asyncio.sleep(1.2 * SOON)
    assert stage.refused == []
    held.set()
    assert (await client.answer())[0] == 200
    assert await client.rest() == b""
    assert (await stage.refusal())[0] == "request head too late"


@pytest.mark.parametrize("body", [*HALF_BODIES[:1], HALF_BODIES[2]])
async def test_half_a_head_behind_a_body_ends_the_connection(stage: Stage, body: str, parser: str) -> None:
    """Also when both came in one piece: the time for heads ends it, not the one for idle connections."""
    await stage.start(header=SOON)
    client = await stage.connect()
    rest = "xxxxxx" if "Length" in body else "0\r\n\r\n"
    assert (await client.answer(body + rest + "GET / HT"))[0] == 200
    assert await client.rest() == b""
    assert (await stage.refusal())[0] == "request head too late"


async def test_an_empty_line_after_a_request_starts_no_head(stage: Stage, parser: str) -> None:
    await stage.start(header=SOON)
    client = await stage.connect()
    assert (await client.answer(get()))[0] == 200
    client.send("\r\n")
    await asyncio.sleep(1.2 * SOON)
    assert (await client.answer(get()))[0] == 200
    assert stage.refused == []


async def test_an_idle_connection_is_closed(stage: Stage, engine: str) -> None:
    stage.client_certificates = engine == "pyopenssl"
    await stage.start(keep_alive=SOON)
    client = await stage.connect()
    assert (await client.answer(get()))[0] == 200
    assert await client.rest() == b""
    assert stage.refused == []


async def test_a_request_that_takes_long_is_not_idle(stage: Stage) -> None:
    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(1.2 * SOON)
        return web.Response()

    stage.handler = handler
    await stage.start(keep_alive=SOON, header=SOON, body=SOON, handshake=SOON)
    client = await stage.connect()
    assert (await client.answer(get()))[0] == 200
    assert stage.refused == []


@pytest.mark.parametrize("half", HALF_BODIES)
async def test_half_a_body_is_answered_408(stage: Stage, half: str, engine: str, parser: str) -> None:
    stage.client_certificates = engine == "pyopenssl"
    await stage.start(body=SOON)
    answer = await stage.ask(half)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"Content-Type: text/plain" in answer
    assert answer.endswith(b"\r\n\r\nthe body was not whole within 0.05 s")
    assert stage.errors == []


async def test_half_a_body_that_nobody_reads_ends_the_connection_after_its_answer(stage: Stage) -> None:
    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=401)

    stage.handler = handler
    await stage.start(body=SOON)
    answer = await stage.ask(HALF_BODIES[0])
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert answer.count(b"HTTP/1.1") == 1
    assert stage.errors == []


async def test_a_body_that_comes_in_time_may_come_in_pieces(stage: Stage, parser: str) -> None:
    await stage.start(body=PATIENCE)
    client = await stage.connect()
    for data in (get("/", HOST, "Content-Length: 3", method="POST"), "a", "="):
        client.send(data)
        await asyncio.sleep(0)
    assert (await client.answer("1"))[2].endswith(b" a=1")
    assert (await client.answer(get()))[0] == 200


async def test_a_client_is_not_blamed_for_a_handler_that_does_not_read(stage: Stage) -> None:
    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(1.5 * SOON)
        return web.Response(text=str(len(await request.read())))

    stage.handler = handler
    size = 900_000  # more than the edge takes before it is read
    await stage.start(body=SOON)
    client = await stage.connect()
    client.send(get("/", HOST, f"Content-Length: {size}", method="POST") + "x" * size)
    assert (await client.answer())[2].decode() == str(size)
