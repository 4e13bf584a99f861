"""Connections to the HTTPS port that clients in the same process open without the network."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
from typing import Any

import pytest
from aiohttp import web

from labkit.core.certificates import client_certificate
from labkit.edge import listener
from labkit.fleet.transport import secured
from labkit.http.connection import Connection
from labkit.http.memory import MemoryTransport
from tests.edge.rig import HOST, OTHER, SOON, EdgeRig, get

ADDRESSES = ["127.0.0.1", "0.0.0.0", "127.0.0.2", *(["::1", "::"] if socket.has_dualstack_ipv6() else [])]


@pytest.mark.parametrize("host", ADDRESSES)
async def test_a_request_names_the_same_address_as_over_tcp(rig: EdgeRig, host: str) -> None:
    await rig.start(host=host)
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    over_tcp = await rig.connect_at(name)
    in_process = await rig.connect_in_process()
    for client in (over_tcp, in_process):
        assert (await client.answer(get()))[0] == 200
    first, second = rig.connections
    assert first.peer_ip == second.peer_ip != ""


async def test_tls_is_agreed_as_over_tcp(rig: EdgeRig, engine: str) -> None:
    await rig.start()
    client = await rig.connect_in_process()
    assert (await client.answer(get()))[2].startswith(HOST.encode())
    other = await rig.connect_in_process(OTHER)
    assert (await other.answer(get(host=OTHER)))[2].startswith(OTHER.encode())
    assert await other.ask(get()) == b""  # another host than the server name
    assert (await rig.refusal())[0] == "wrong host"


async def test_a_client_certificate_arrives_as_over_tcp(rig: EdgeRig) -> None:
    rig.client_certificates = True
    await rig.start()
    pair = client_certificate("t-001")
    client = await rig.connect_in_process(context=rig.trusting(pair))
    assert (await client.answer(get()))[0] == 200
    assert rig.connections[0].common_name == "t-001"


async def test_an_unknown_name_is_refused_with_the_address_in_the_journal(rig: EdgeRig) -> None:
    await rig.start()
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await rig.connect_in_process("c.lab.localhost")
    reason, detail = await rig.refusal()
    assert reason == "unknown server name"
    assert detail.endswith("from 127.0.0.1")


async def test_connections_are_refused_while_nothing_listens(rig: EdgeRig) -> None:
    edge = await rig.start()
    client = await rig.connect_in_process()
    edge.cut("the platform lost its power")
    await edge.crash()
    assert await client.rest() == b""
    with pytest.raises(ConnectionRefusedError) as over_tcp:
        await rig.connect()
    with pytest.raises(ConnectionRefusedError) as in_process:
        await rig.connect_in_process()
    assert in_process.value.errno == over_tcp.value.errno
    edge.listen_in(60)  # the port is bound, and the clock stands still
    with pytest.raises(ConnectionRefusedError):
        await rig.connect_in_process()
    await rig.context.clock.advance_to(rig.context.clock.now() + 60)
    assert (await (await rig.connect_in_process()).answer(get()))[0] == 200
    await edge.stop()
    with pytest.raises(ConnectionRefusedError):
        await rig.connect_in_process()


async def test_a_connection_waits_while_there_are_no_descriptors(
    rig: EdgeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.start()
    pairs, lacking = socket.socketpair, [errno.EMFILE, errno.ENFILE]

    def socketpair(*args: Any) -> tuple[socket.socket, socket.socket]:
        if lacking:
            code = lacking.pop()
            raise OSError(code, os.strerror(code))
        return pairs(*args)

    monkeypatch.setattr(listener, "RESOURCES_PAUSE", SOON)
    monkeypatch.setattr(socket, "socketpair", socketpair)
    assert (await (await rig.connect_in_process()).answer(get()))[0] == 200
    assert [reason for reason, _ in rig.refused] == ["no resources for connections"] * 2


async def test_an_error_of_the_system_reaches_the_client(
    rig: EdgeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.start()

    def socketpair(*args: Any) -> tuple[socket.socket, socket.socket]:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(socket, "socketpair", socketpair)
    with pytest.raises(PermissionError):
        await rig.connect_in_process()
    assert rig.refused == []


@pytest.mark.parametrize("in_memory", [False, True])
async def test_the_lab_is_not_idle_until_it_has_seen_a_client_leave(rig: EdgeRig, in_memory: bool) -> None:
    """With the request that the client leaves behind: its handler is cancelled before the lab is idle."""
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        begun.set()
        rig.context.holding.begin("test")
        try:
            await asyncio.Event().wait()
        finally:
            rig.context.holding.end("test")
            cancelled.set()
        raise AssertionError

    rig.handler = handler
    edge = await rig.start()
    assert rig.address.connect is not None
    assert rig.address.connect_in_memory is not None
    opened: MemoryTransport | ssl.SSLSocket
    if in_memory:
        opened, leave = await rig.address.connect_in_memory(HOST)
        opened.write(get().encode())
    else:
        plain, leave = await rig.address.connect()
        agreed = await secured(plain, rig.trusting(), HOST)
        agreed.send(get().encode())
        opened = agreed
    await begun.wait()
    leave()
    leave()
    opened.close()
    await rig.context.activity.idle()
    assert cancelled.is_set()
    assert len(edge) == 0


async def test_a_client_that_leaves_during_its_handshake_is_seen_off(rig: EdgeRig) -> None:
    await rig.start()
    assert rig.address.connect is not None
    plain, leave = await rig.address.connect()
    leave()
    plain.close()
    await rig.context.activity.idle()
    assert (await rig.refusal())[0] == "TLS handshake not finished"
