"""The platform's work once its activity is idle: all that it can without new bytes of a client."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from aiohttp import web

from labkit.http.connection import Connection
from tests.edge.rig import HOST, EdgeRig, get
from tests.edge.wired import settled, wired

BOTH = pytest.mark.parametrize("plain", [False, True])
POST = get("/2", HOST, "Content-Length: 3", method="POST")


async def test_a_handshake_and_an_answer_are_over_once_the_lab_has_settled(rig: EdgeRig, engine: str) -> None:
    for _ in range(20):
        with await wired(rig) as client:
            client.send(get("/a"))
            assert rig.context.inputs.unread()
            await settled(rig)
            assert client.read().endswith(b"a.lab.localhost GET /a ")


async def test_what_was_sent_at_once_is_unread(rig: EdgeRig) -> None:
    await rig.start()
    with await wired(rig, agree=False) as client:
        assert rig.context.inputs.unread()  # the connection
        await settled(rig)
        client.socket.sendall(client.shake())
        assert rig.context.inputs.unread()
        await settled(rig)
        client.socket.sendall(client.shake())
        assert client.agreed
        client.send(get("/a"))
        assert rig.context.inputs.unread()
        await settled(rig)
        assert client.read().endswith(b"GET /a ")


async def test_a_handshake_in_pieces(rig: EdgeRig, engine: str) -> None:
    with await wired(rig, agree=False) as client:
        for _ in range(2):
            step = client.shake()
            for at in range(0, len(step), 100):
                client.socket.sendall(step[at : at + 100])
                await settled(rig)
        assert client.agreed
        client.send(get("/a"))
        await settled(rig)
        assert client.read().endswith(b"GET /a ")


@BOTH
async def test_a_client_that_says_nothing_does_not_count(rig: EdgeRig, plain: bool) -> None:
    with await wired(rig, plain=plain, agree=False):
        await settled(rig)
        assert rig.context.activity.running == 0


@pytest.mark.parametrize("end", ["close", "reset"])
@pytest.mark.parametrize("steps", [0, 1])
async def test_an_aborted_handshake_is_recorded_once_the_lab_has_settled(
    rig: EdgeRig, end: str, steps: int
) -> None:
    await rig.start()
    for number in range(10):
        client = await wired(rig, agree=False)
        if steps:
            client.socket.sendall(client.shake())
        await settled(rig)
        client.reset() if end == "reset" else client.socket.close()
        await settled(rig)
        assert len(rig.refused) == number + 1
        assert rig.refused[-1][0].startswith("TLS handshake")


async def test_a_handshake_that_fails_is_recorded_once_the_lab_has_settled(rig: EdgeRig, engine: str) -> None:
    with await wired(rig, agree=False) as client:
        client.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
        await settled(rig)
        assert len(rig.refused) == 1
        client.take()
        assert client.ended


@BOTH
async def test_many_requests_at_once_are_answered(rig: EdgeRig, plain: bool) -> None:
    with await wired(rig, plain=plain) as client:
        client.send("".join(get(f"/{number}") for number in range(60)))
        await settled(rig)
        assert client.read().count(b"HTTP/1.1 200") == 60


@BOTH
async def test_requests_of_several_clients_are_answered(rig: EdgeRig, plain: bool) -> None:
    clients = [await wired(rig, plain=plain) for _ in range(20)]
    for number, client in enumerate(clients):
        client.send(get(f"/{number}"))
    await settled(rig)
    for number, client in enumerate(clients):
        assert client.read().endswith(f"GET /{number} ".encode())
        client.socket.close()


@BOTH
async def test_a_body_in_pieces_does_not_count_while_the_client_waits(rig: EdgeRig, plain: bool) -> None:
    with await wired(rig, plain=plain) as client:
        for piece in (POST[:20], POST[20:], "a", "="):
            client.send(piece)
            await settled(rig)
            assert client.read() == b""
            assert rig.context.activity.running == 0
        client.send("1")
        await settled(rig)
        assert client.read().endswith(b"POST /2 a=1")


@BOTH
async def test_a_client_that_leaves_within_a_body(rig: EdgeRig, plain: bool) -> None:
    with await wired(rig, plain=plain) as client:
        client.send(POST + "a")
        await settled(rig)
        client.reset()
        await settled(rig)
    assert (len(rig.edge or ()), rig.context.activity.running) == (0, 0)


class Held:
    """A handler that waits as a long poll does, and notes when it ends."""

    def __init__(self, rig: EdgeRig) -> None:
        self._holding = rig.context.holding
        self.go = asyncio.Event()
        self.ends: list[str] = []

    async def __call__(self, connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        self._holding.begin("p/a")
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.ends.append("cancelled")
            raise
        finally:
            self._holding.end("p/a")
        self.ends.append("answered")
        return web.Response(text="done")


@BOTH
@pytest.mark.parametrize("end", ["close", "reset"])
async def test_the_request_of_a_client_that_left_is_over_once_the_lab_has_settled(
    rig: EdgeRig, plain: bool, end: str
) -> None:
    await rig.start(http=plain)
    for _ in range(10):
        rig.handler = held = Held(rig)
        client = await wired(rig, plain=plain)
        client.send(get("/a"))
        await settled(rig)
        client.reset() if end == "reset" else client.socket.close()
        await settled(rig)
        if plain and end == "close":  # it may wait for its answer
            assert held.ends == []
            held.go.set()
            await settled(rig)
        assert len(held.ends) == 1
        assert len(rig.edge or ()) == 0


async def test_a_client_that_closed_its_sending_side_does_not_count(rig: EdgeRig) -> None:
    await rig.start(http=True)
    rig.handler = held = Held(rig)
    with await wired(rig, plain=True) as client:
        client.send(get("/a"))
        client.socket.shutdown(1)
        await settled(rig)
        assert held.ends == []
        held.go.set()
        await settled(rig)
        assert client.read().endswith(b"done")
        assert client.ended


@BOTH
async def test_a_body_that_nobody_reads_does_not_count(rig: EdgeRig, plain: bool) -> None:
    """Flow control has paused the connection: the rest stays in the client's and the system's buffers."""
    await rig.start(http=plain)
    rig.handler = held = Held(rig)
    size = 4_000_000
    with await wired(rig, plain=plain) as client:
        client.send(get("/a", HOST, f"Content-Length: {size}", method="POST"))
        with suppress(BlockingIOError):
            while True:
                client.socket.send(bytes(100_000))
        await settled(rig)
        assert held.ends == []


@BOTH
async def test_a_large_answer_goes_on_whenever_the_client_reads(rig: EdgeRig, plain: bool) -> None:
    size = 20_000_000

    async def large(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=bytes(size))

    await rig.start(http=plain)
    rig.handler = large
    with await wired(rig, plain=plain) as client:
        client.send(get("/a"))
        came = 0
        while came < size:
            await settled(rig)
            data = client.read()
            assert data, f"{came} bytes have arrived, and no more although the lab has settled"
            came += len(data)


async def test_each_end_of_a_connection_is_over_once_the_lab_has_settled(rig: EdgeRig, engine: str) -> None:
    for number in range(10):
        client = await wired(rig)
        client.send(get("/a"))
        await settled(rig)
        assert len(rig.edge or ()) == 1
        if number % 2:
            client.reset()
        else:
            client.socket.close()
        await settled(rig)
        assert len(rig.edge or ()) == 0


async def test_nothing_counts_while_no_connection_is_accepted(rig: EdgeRig) -> None:
    edge = await rig.start()
    edge.cut("a test", refuse=False)
    with await wired(rig, agree=False):
        assert not rig.context.inputs.unread()
        await edge.crash()
        edge.listen_in(0)
        assert rig.context.inputs.unread()
        await settled(rig)
