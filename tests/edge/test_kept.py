"""Kept connections on a virtual clock: they end by lab time."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from labkit.http.connection import Connection
from tests.edge.rig import SOON, EdgeRig, get
from tests.edge.wired import STILL, Wired, settled, wired

BOTH = pytest.mark.parametrize("plain", [False, True])


async def asked(rig: EdgeRig, client: Wired) -> None:
    client.send(get())
    await settled(rig)
    assert client.read().startswith(b"HTTP/1.1 200 ")


async def advance(rig: EdgeRig, seconds: float) -> None:
    rig.context.clock.settle_with(rig.context.activity.idle)
    await rig.context.clock.advance(seconds)


def is_closed(client: Wired) -> bool:
    """Return whether the client sees the end of its connection, or of TLS."""
    came = client.take()
    return client.ended if client.tls is None else bool(came)


def is_cut(client: Wired) -> bool:
    """Return whether the client sees the end of its connection."""
    client.take()
    return client.ended


@BOTH
async def test_a_connection_ends_by_lab_time(rig: EdgeRig, plain: bool) -> None:
    await rig.start(http=plain)
    with await wired(rig, plain=plain) as client:
        await asked(rig, client)
        await advance(rig, 74.9)
        await asked(rig, client)  # the time counts from the last answer
        await advance(rig, 74.9)
        assert not is_closed(client)
        await advance(rig, 0.1)
        assert is_closed(client)


@BOTH
async def test_the_client_sees_the_end_before_lab_time_moves(rig: EdgeRig, plain: bool) -> None:
    """Also if nobody takes part in the activity."""
    await rig.start(http=plain)
    with await wired(rig, plain=plain) as client:
        await asked(rig, client)
        rig.context.activity.leave(STILL)
        seen: list[bool] = []
        clock = rig.context.clock
        clock.call_at(clock.now() + 75, lambda: seen.append(is_closed(client)))
        await advance(rig, 75)
        assert seen == [True]


async def test_connections_end_in_the_order_of_their_last_answers(rig: EdgeRig) -> None:
    await rig.start(http=True)
    first, second = await wired(rig, plain=True), await wired(rig, plain=True)
    with first, second:
        await asked(rig, second)
        await advance(rig, 1)
        await asked(rig, first)
        await advance(rig, 74)
        assert (is_closed(first), is_closed(second)) == (False, True)
        await advance(rig, 1)
        assert is_closed(first)


@pytest.mark.parametrize("frozen", [False, True])
async def test_real_time_ends_no_connection(rig: EdgeRig, frozen: bool) -> None:
    """frozen: the clock ran when the connection was opened."""
    await rig.start(keep_alive=SOON, rate=float(frozen))
    client = await rig.connect()
    assert (await client.answer(get()))[0] == 200
    if frozen:
        rig.context.clock.freeze()
    await asyncio.sleep(2 * SOON)
    assert (await client.answer(get()))[0] == 200
    await rig.context.clock.advance(SOON)
    assert await client.rest() == b""


async def test_real_time_ends_a_connection_once_the_clock_runs(rig: EdgeRig) -> None:
    await rig.start(keep_alive=SOON)
    client = await rig.connect()
    assert (await client.answer(get()))[0] == 200
    rig.context.clock.run()
    assert await client.rest() == b""


async def test_the_labs_own_clients_keep_their_connections(rig: EdgeRig) -> None:
    await rig.start(keep_alive=SOON)
    client = await rig.connect_in_process()
    assert (await client.answer(get()))[0] == 200
    await asyncio.sleep(2 * SOON)
    await rig.context.clock.advance(3600)
    assert (await client.answer(get()))[0] == 200


async def test_a_connection_that_ended_leaves_no_timer(rig: EdgeRig) -> None:
    await rig.start()
    client = await wired(rig)
    await asked(rig, client)
    assert rig.context.clock.next_timer() == rig.context.clock.now() + 75
    client.socket.close()
    await settled(rig)
    assert rig.context.clock.next_timer() == float("inf")


@BOTH
async def test_a_connection_without_a_request_ends_by_lab_time(rig: EdgeRig, plain: bool) -> None:
    """Clients on lab time: real time has no limit then."""
    await rig.start(http=plain, header=SOON)
    rig.context.activity.join(STILL)
    with await wired(rig, plain=plain) as client:
        await asyncio.sleep(2 * SOON)
        assert not is_cut(client)
        await advance(rig, SOON)
        assert is_cut(client)
        assert rig.refused[-1][0] == "request head too late"
        assert rig.context.clock.next_timer() == float("inf")


async def test_a_request_that_waits_longer_is_answered(rig: EdgeRig) -> None:
    go = asyncio.Event()

    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/slow":
            rig.context.holding.begin("p/a")
            try:
                await go.wait()
            finally:
                rig.context.holding.end("p/a")
        return web.Response(text="done")

    rig.handler = handler
    with await wired(rig) as client:
        await asked(rig, client)
        client.send(get("/slow"))
        await settled(rig)
        await advance(rig, 300)
        assert client.read() == b""
        go.set()
        await settled(rig)
        assert client.read().endswith(b"done")
        await advance(rig, 75)
        assert is_closed(client)
