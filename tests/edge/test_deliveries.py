"""Confirmation that a client has received its answers: by a further request, or its own end of the connection."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

import pytest
from aiohttp import web

from labkit.http.connection import Connection
from tests.edge.rig import PATIENCE, SOON, Client, EdgeRig, get

TURN = 0.001  # seconds
WAYS = pytest.mark.parametrize("way", ["plain", "ssl", "pyopenssl"])


class Counter:
    """Answers that need confirmation, of one connection."""

    def __init__(self) -> None:
        self.confirmed = 0

    def confirm(self) -> None:
        self.confirmed += 1


async def connect(rig: EdgeRig, way: str, **guard: Any) -> tuple[Client, Counter]:
    """Connect a client and answer its first request; answers need confirmation, and `/last` closes the connection."""
    counter = Counter()

    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        response = web.Response(text=request.path)
        if request.path == "/last":
            response.force_close()
        if connection.deliveries is None:
            connection.deliveries = counter
        return response

    rig.handler = handler
    rig.client_certificates = way == "pyopenssl"
    if rig.edge is None:
        await rig.start(http=True, **guard)
    client = await (rig.connect_plainly() if way == "plain" else rig.connect())
    assert (await client.answer(get("/1")))[0] == 200
    assert counter.confirmed == 0
    return client, counter


async def all_ended(rig: EdgeRig) -> None:
    """Return once the edge has no open connection."""
    assert rig.edge is not None
    for _ in range(int(PATIENCE / TURN)):
        if not len(rig.edge):
            return
        await asyncio.sleep(TURN)
    raise AssertionError("connections are open")


def reset(client: Client) -> None:
    """End the connection by a TCP reset."""
    client.writer.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
    )
    client.writer.transport.abort()


@WAYS
async def test_a_further_request_confirms(rig: EdgeRig, way: str) -> None:
    client, counter = await connect(rig, way)
    for count in (1, 2):
        await client.answer(get(f"/{count}"))
        assert counter.confirmed == count


async def test_a_pipelined_request_confirms_nothing(rig: EdgeRig, parser: str) -> None:
    client, counter = await connect(rig, "plain")
    client.send(get("/2") + get("/3") + get("/4")[:-2])
    await client.answer()  # for /2, which came after the first answer
    await client.answer()
    assert counter.confirmed == 1
    client.send("\r\n")
    await client.answer()
    assert counter.confirmed == 1
    await client.answer(get("/5"))
    assert counter.confirmed == 2


@WAYS
@pytest.mark.parametrize("close_notify", [False, True])
async def test_the_clients_own_end_of_the_connection_confirms(
    rig: EdgeRig, way: str, close_notify: bool
) -> None:
    """By FIN, over TLS with a close_notify before it or without one."""
    client, counter = await connect(rig, way)
    if close_notify:
        client.writer.close()
    else:
        client.writer.transport.abort()
    await all_ended(rig)
    assert counter.confirmed >= 1


@WAYS
async def test_a_reset_confirms_nothing(rig: EdgeRig, way: str) -> None:
    client, counter = await connect(rig, way)
    reset(client)
    await all_ended(rig)
    assert counter.confirmed == 0


@WAYS
@pytest.mark.parametrize("how", ["close", "keep-alive", "stop", "crash", "clear"])
async def test_an_end_of_the_connection_by_the_server_confirms_nothing(
    rig: EdgeRig, way: str, how: str
) -> None:
    client, counter = await connect(rig, way, keep_alive=SOON if how == "keep-alive" else PATIENCE)
    expected = 0
    assert rig.edge is not None
    if how == "close":
        assert (await client.answer(get("/last")))[0] == 200
        expected = 1  # it came after the first answer
    elif how == "keep-alive":
        await rig.context.clock.advance(SOON)
    elif how == "stop":
        await rig.edge.stop()
    elif how == "crash":
        rig.edge.cut("the platform lost its power")
        await rig.edge.crash()
    elif how == "clear":
        await rig.edge.clear()
    assert await client.rest() == b""
    client.writer.close()
    if how != "stop":
        await all_ended(rig)
    assert counter.confirmed == expected
