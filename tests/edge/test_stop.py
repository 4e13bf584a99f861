"""Start and stop of the edge leave no sockets, tasks or objects behind."""

import asyncio
import gc
import ssl
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from labkit.core.errors import SettingsError
from labkit.http.connection import Connection
from labkit.http.memory import MemoryTransport
from tests.edge.rig import HOST, OTHER, PATIENCE, SOON, EdgeRig, get
from tests.sizes import size


def descriptors() -> set[str]:
    """Return the open sockets."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            target = str(entry.readlink())
            if target.startswith("socket:"):
                found.add(target)
    return found


needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc to look into")


@needs_proc
async def test_stopping_leaves_no_socket_and_no_task(rig: EdgeRig, engine: str) -> None:
    """Idle connections, a pending request, half a request, half a handshake: all end with the edge."""
    held, cancelled = asyncio.Event(), asyncio.Event()

    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        if request.path != "/held":
            return web.Response()
        held.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    rig.handler = handler
    tasks, sockets, threads = asyncio.all_tasks(), descriptors(), threading.active_count()
    edge = await rig.start(http=True, grace=0.01)
    idle = await rig.connect()
    assert (await idle.answer(get()))[0] == 200
    clients = [idle, await rig.connect(), await rig.connect(OTHER), await rig.connect_plainly()]
    clients[1].send(get("/held"))
    clients[2].send("GET / HT")
    clients.append(await rig.connect_plainly(rig.address.https_port))
    clients[4].send(b"\x16\x03\x01")
    async with asyncio.timeout(PATIENCE):
        await held.wait()
        await edge.stop()
    assert cancelled.is_set()
    assert asyncio.all_tasks() == tasks
    for client in clients:
        assert await client.rest() == b""
        await client.close()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert descriptors() <= sockets  # sockets of earlier tests may end meanwhile
    assert threading.active_count() == threads
    assert rig.errors == []


async def test_a_request_in_progress_may_finish_during_a_stop(rig: EdgeRig) -> None:
    held, go_on = asyncio.Event(), asyncio.Event()

    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        held.set()
        await go_on.wait()
        return web.Response(text="done")

    rig.handler = handler
    edge = await rig.start(grace=PATIENCE)
    client = await rig.connect()
    client.send(get())
    async with asyncio.timeout(PATIENCE):
        await held.wait()
        stopping = asyncio.create_task(edge.stop())
        await asyncio.sleep(SOON)
        go_on.set()
        assert (await client.answer())[2] == b"done"
        await stopping


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
async def test_a_cut_at_any_moment_of_a_new_connection_ends_it(rig: EdgeRig, tls: bool) -> None:
    edge = await rig.start(http=True)
    for turns in range(size(30, 200)):
        connecting = asyncio.create_task(rig.connect() if tls else rig.connect_plainly())
        for _ in range(turns):
            await asyncio.sleep(0)
        edge.cut("the test")
        async with asyncio.timeout(PATIENCE):
            await edge.crash()
            await asyncio.wait([connecting])
        assert len(edge) == 0
        connecting.exception()
        edge.listen_in(0)
    assert rig.refused == []


async def test_a_connection_whose_end_is_not_reported_is_dropped(
    rig: EdgeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    edge = await rig.start()
    assert rig.address.connect_in_memory is not None
    await rig.address.connect_in_memory(HOST)
    monkeypatch.setattr(MemoryTransport, "abort", lambda _: None)
    edge.cut("the test")
    await edge.crash()
    assert len(edge) == 0
    assert [reason for reason, _ in rig.refused] == ["end of a connection not reported"]


async def test_it_stops_listening(rig: EdgeRig) -> None:
    edge = await rig.start(http=True)
    ports = rig.address.https_port, rig.address.http_port
    await edge.stop()
    for port in ports:
        with pytest.raises(ConnectionRefusedError):
            await rig.connect_plainly(port)


@pytest.mark.parametrize("setting", ["https_port", "http_port"])
async def test_a_port_in_use_is_an_error_and_leaves_nothing(rig: EdgeRig, setting: str) -> None:
    await rig.start()
    taken = rig.address.https_port
    other = EdgeRig()
    sockets = descriptors()
    expected = (
        f"{setting}: cannot listen on 127.0.0.1:{taken}: Address already in use; end the program that has "
    )
    expected += f"this port, or choose another: {setting}: 0 takes any free one"
    ports = {"https_port": 0, "http_port": 0, setting: taken}
    starting = other.start(http=True, https_port=ports["https_port"], http_port=ports["http_port"])
    with pytest.raises(
        SettingsError, match=f"^{expected}$"
    ) as caught:  # referenced, and with it all that start created
        await starting
    assert descriptors() <= sockets
    assert caught.value is not None


@needs_proc
async def test_repeated_starts_and_stops_leave_nothing(engine: str) -> None:
    """Leaks of one start would add up."""
    tasks, sockets = asyncio.all_tasks(), descriptors()
    for _ in range(size(10, 200)):
        rig = EdgeRig()
        rig.client_certificates = engine == "pyopenssl"
        client = await rig.connect()
        assert (await client.answer(get("/", HOST)))[0] == 200
        await rig.close()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == tasks
    assert descriptors() <= sockets


async def test_ended_connections_are_forgotten(rig: EdgeRig) -> None:
    """A long-running edge does not grow with the number of connections it has had."""
    await rig.start()
    others = [each for each in gc.get_objects() if isinstance(each, Connection)]  # of a lab that tests share
    before = asyncio.all_tasks()
    served: set[asyncio.Task[object]] = set()
    for _ in range(10):
        client = await rig.connect()
        assert (await client.answer(get()))[0] == 200
        served |= asyncio.all_tasks() - before
        client.writer.close()
        await client.writer.wait_closed()
    async with asyncio.timeout(PATIENCE):  # the edge may notice an end later than the client
        await asyncio.wait(served)
    served.clear()
    await asyncio.sleep(0)
    rig.connections.clear()
    gc.collect()
    left = [
        each
        for each in gc.get_objects()
        if isinstance(each, Connection) and not any(each is other for other in others)
    ]
    assert len(left) <= 1


ROUND = 6  # connections, one of each kind


async def one_round(rig: EdgeRig, context: ssl.SSLContext) -> None:
    """Make connections: one that is served, over TLS and plainly, and four that end early or fail."""
    clients = [await rig.connect(context=context), await rig.connect_plainly()]
    assert [(await each.answer(get()))[0] for each in clients] == [200, 200]
    with suppress(OSError):
        await rig.connect("nobody.lab.localhost", context)
    clients += [await rig.connect_plainly(rig.address.https_port)]
    await clients[-1].ask("no greeting of TLS")
    clients += [await rig.connect(context=context), await rig.connect(context=context)]
    await clients[-1].ask(get(host=OTHER))
    clients[-2].send("GET / HT")
    for each in clients:
        await each.close()
    rig.forget()


async def ended(idle: set[asyncio.Task[Any]]) -> None:
    """Wait for all tasks except these: the edge may notice an end later than the client."""
    async with asyncio.timeout(PATIENCE):
        while others := asyncio.all_tasks() - idle:
            await asyncio.wait(others)
    await asyncio.sleep(0)  # transports are closed by callbacks
    await asyncio.sleep(0)


async def settled(rig: EdgeRig) -> None:
    """Have asyncio drop cancelled timers, which it keeps behind one that is due earlier: that of slow calls."""
    rig.context.slow.rest()
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def objects(rig: EdgeRig) -> Counter[type]:
    """Return the number of objects by type, except the ones that are kept on purpose."""
    rig.context.journal.clear()
    gc.collect()
    return Counter(map(type, gc.get_objects()))


@pytest.mark.sampled
@pytest.mark.timeout(300)  # at full size
async def test_many_connections_leave_no_growth(rig: EdgeRig, engine: str) -> None:
    """A long-running edge needs no more memory after each connection."""
    await rig.start(http=True, rate=1)  # a virtual clock removes cancelled timers once there are a hundred
    context = rig.trusting()
    idle = asyncio.all_tasks()
    rounds = size(20, 10_000 // ROUND)
    for _ in range(10):  # objects created at first use are no growth
        await one_round(rig, context)
    await ended(idle)
    await settled(rig)
    objects(rig)
    before = objects(rig)
    for _ in range(rounds):
        await one_round(rig, context)
    await ended(idle)
    await settled(rig)
    grown = objects(rig) - before
    assert {kind.__name__: count for kind, count in grown.items() if count > rounds / 4} == {}
