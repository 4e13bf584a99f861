"""Clients that close their sending side, and clients that do not read."""

import asyncio

import pytest
from aiohttp import web

from labkit.http.connection import Connection
from tests.edge.rig import HOST, PATIENCE, SOON, Client, EdgeRig, get

POST = get("/2", HOST, "Content-Length: 3", method="POST") + "a=1"


async def plain(rig: EdgeRig) -> Client:
    if rig.edge is None:
        await rig.start(http=True)
    return await rig.connect_plainly()


async def ask(client: Client, data: str) -> bytes:
    """Return all bytes of the answer to requests after which the sending side is closed."""
    client.send(data)
    client.writer.write_eof()
    return await client.rest()


async def test_a_request_is_answered_after_a_half_close(rig: EdgeRig, parser: str) -> None:
    answer = await ask(await plain(rig), POST)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"\r\n\r\na.lab.localhost POST /2 a=1")
    assert rig.refused == []


async def test_slow_and_earlier_requests_are_answered_after_a_half_close(rig: EdgeRig, parser: str) -> None:
    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(SOON)
        return web.Response(text=f"[{request.path}]")

    rig.handler = handler
    answer = await ask(await plain(rig), get("/1") + POST + get("/3"))
    assert answer.count(b"HTTP/1.1 200 ") == 3
    assert [answer.find(f"[/{n}]".encode()) for n in (1, 2, 3)] == sorted(
        answer.find(f"[/{n}]".encode()) for n in (1, 2, 3)
    )
    assert b"[/3]" in answer


async def test_more_requests_than_may_be_pending_are_answered_after_a_half_close(
    rig: EdgeRig, parser: str
) -> None:
    answer = await ask(await plain(rig), get("/") * 100)
    assert answer.count(b"HTTP/1.1 200 ") == 100


async def test_a_half_closed_connection_without_pending_requests_ends(rig: EdgeRig) -> None:
    assert await ask(await plain(rig), "") == b""
    client = await plain(rig)
    assert (await client.answer(get()))[0] == 200
    assert await ask(client, "") == b""
    assert await ask(await plain(rig), "GET / HT") == b""
    assert rig.refused == []


async def test_a_body_that_is_cut_is_400(rig: EdgeRig, parser: str) -> None:
    answer = await ask(await plain(rig), POST[:-1])
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert rig.errors == []


async def test_a_head_that_cannot_be_completed_is_answered_at_once(rig: EdgeRig) -> None:
    await rig.start(http=True, header=10 * PATIENCE, shutdown=10 * PATIENCE)
    answer = await ask(await plain(rig), get("/", HOST, "X : y")[:-2])
    assert answer.split()[1] == b"400"
    answer = await ask(await plain(rig), get("/", HOST, "X : y"))
    assert answer.split()[1] == b"400"


@pytest.mark.parametrize("late", [True, False])
async def test_a_half_close_cancels_a_pending_request(rig: EdgeRig, late: bool) -> None:
    """A pending poll ends with the client's input, whichever of them comes first."""
    begun, input_ended = asyncio.Event(), asyncio.Event()
    ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        begun.set()
        try:
            if late:
                await input_ended.wait()
            connection.watch_input()
            await asyncio.sleep(PATIENCE)
        except asyncio.CancelledError:
            ended.set_result("cancelled")
            raise
        return web.Response(text="never")

    rig.handler = handler
    client = await plain(rig)
    client.send(get())
    async with asyncio.timeout(PATIENCE):
        await begun.wait()
        client.writer.write_eof()
        await asyncio.sleep(SOON)
        assert ended.done() != late
        input_ended.set()
        assert await client.rest() == b""
        assert await ended == "cancelled"


async def test_a_connection_continues_after_its_input_was_watched(rig: EdgeRig) -> None:
    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/wait":
            connection.watch_input()
        return web.Response(text=request.path)

    rig.handler = handler
    client = await plain(rig)
    assert (await client.answer(get("/wait")))[0] == 200
    assert (await ask(client, get("/on"))).endswith(b"/on")


@pytest.mark.parametrize("tls", [True, False])
async def test_a_client_that_does_not_read_the_answer_is_disconnected(rig: EdgeRig, tls: bool) -> None:
    size = 40_000_000  # more than all buffers between the ends contain
    left: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        try:
            await response.prepare(request)
            for _ in range(size // 100_000):
                await response.write(bytes(100_000))
        finally:
            left.set_result(None)
        return response

    rig.handler = handler
    await rig.start(http=True, reader=SOON)
    client = await (rig.connect() if tls else rig.connect_plainly())
    client.send(get())
    reason, detail = await rig.refusal()
    assert (reason, detail) == ("answer not taken", "the client did not read for 0.05 s")
    async with asyncio.timeout(PATIENCE):
        await left
    assert rig.errors == []
