"""Work of a site when a connection is made, before its first request."""

import asyncio

from aiohttp import web

from labkit.core.certificates import client_certificate
from labkit.http.connection import Connection
from tests.edge.rig import HOST, PATIENCE, EdgeRig, get


async def test_connected_ends_before_the_first_request_is_handled(rig: EdgeRig, engine: str) -> None:
    story: list[str] = []
    go_on = asyncio.Event()

    async def connected(connection: Connection) -> None:
        story.append(f"connected to {connection.host}")
        await go_on.wait()
        story.append("ready")

    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        story.append(request.path)
        return web.Response()

    rig.connected, rig.handler = connected, handler
    client = await rig.connect()
    client.send(get("/1") + get("/2"))
    await client.writer.drain()
    asyncio.get_running_loop().call_soon(go_on.set)
    assert (await client.answer())[0] == 200
    assert (await client.answer())[0] == 200
    assert story == [f"connected to {HOST}", "ready", "/1", "/2"]


async def test_connected_runs_without_any_request(rig: EdgeRig) -> None:
    rig.client_certificates = True
    came: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()

    async def connected(connection: Connection) -> None:
        came.set_result(connection)

    rig.connected = connected
    await rig.connect(HOST, rig.trusting(client_certificate("t-001")))
    async with asyncio.timeout(PATIENCE):
        assert (await came).common_name == "t-001"


async def test_connected_continues_if_the_client_disconnects(rig: EdgeRig) -> None:
    begun, left = asyncio.Event(), asyncio.Event()
    first: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def connected(connection: Connection) -> None:
        if begun.is_set():
            return
        begun.set()
        try:
            await left.wait()
            first.set_result("done")
        except asyncio.CancelledError:
            first.set_result("cancelled")
            raise

    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        raise AssertionError("the client has left")

    rig.connected, rig.handler = connected, handler
    client = await rig.connect()
    client.send(get())
    async with asyncio.timeout(PATIENCE):
        await begun.wait()
        await client.close()
        await rig.connect()  # one handshake later the edge has noticed that the first client has left
        left.set()
        assert await first == "done"
    assert rig.errors == []


async def test_if_connected_fails_requests_are_answered_500(rig: EdgeRig) -> None:
    trouble = ValueError("no room for devices")

    async def connected(connection: Connection) -> None:
        raise trouble

    rig.connected = connected
    answer = await rig.ask(get())
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert answer.endswith(b"\r\n\r\ninternal error")
    assert rig.errors == ["ValueError: no room for devices"]
    assert rig.connections == []
