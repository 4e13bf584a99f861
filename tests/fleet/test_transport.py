"""TLS over a non-blocking socket: all sequences of events between two ends, on both event loops."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from labkit.edge.certificates import Authority
from labkit.fleet.transport import Transport, connected
from tests.guard import PATIENCE

HOST = "device.m2.lab.localhost"
LARGE = bytes(range(256)) * 32 * 1024  # 8 MiB: more than any socket accepts at once
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[object]]


class Received:
    """Protocol that records the transport's callbacks."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.something = asyncio.Event()
        self.ends: list[Exception | None] = []

    def data_received(self, data: bytes) -> None:
        self.data += data
        self.something.set()

    def connection_lost(self, error: Exception | None) -> None:
        self.ends.append(error)
        self.something.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self.something.clear()
                await self.something.wait()


class Far:
    """A server whose end of the connection a test controls."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        self.port = port
        self.context = context  # context of a client that trusts it
        self.accepted: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()

    async def connect(self) -> tuple[Transport, Received, asyncio.StreamReader, asyncio.StreamWriter]:
        async with asyncio.timeout(PATIENCE):
            received = Received()
            transport = Transport(await connected("127.0.0.1", self.port, self.context, HOST), received)
            return transport, received, *await self.accepted.get()


@asynccontextmanager
async def listening(
    folder: Path, host: str = "127.0.0.1", newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
) -> AsyncIterator[Far]:
    authority = Authority.create()
    certificate, key = authority.leaf([HOST])
    file = folder / "leaf.pem"
    file.write_bytes(key + certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = newest
    context.load_cert_chain(file)
    writers: list[asyncio.StreamWriter] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        far.accepted.put_nowait((reader, writer))

    server = await asyncio.start_server(accept, host, 0, ssl=context)
    far = Far(
        server.sockets[0].getsockname()[1], ssl.create_default_context(cadata=authority.ca_pem.decode())
    )
    try:
        yield far
    finally:
        for writer in writers:
            writer.transport.abort()
        server.close()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_large_bodies_in_both_directions_to_slow_readers(
    tmp_path: Path, version: ssl.TLSVersion
) -> None:
    async with listening(tmp_path, newest=version) as far:
        near, received, reader, writer = await far.connect()
        near.write(LARGE)  # nobody reads yet
        near.write(b"and")
        near.write(b"more")
        await asyncio.sleep(0)
        async with asyncio.timeout(PATIENCE):
            assert await reader.readexactly(len(LARGE) + 7) == LARGE + b"andmore"
        near.pause_reading()
        near.pause_reading()
        writer.write(LARGE)
        near.write(b"x")
        async with asyncio.timeout(PATIENCE):
            assert await reader.readexactly(1) == b"x"
        assert received.data == b""
        near.resume_reading()
        near.resume_reading()
        await received.until(lambda: len(received.data) == len(LARGE))
        assert received.data == LARGE
        near.abort()
        await received.until(lambda: bool(received.ends))


async def test_several_records_at_once_are_all_received(tmp_path: Path) -> None:
    async with listening(tmp_path) as far:
        near, received, _, writer = await far.connect()
        for number in range(100):
            writer.write(b"%d," % number)
        await received.until(lambda: received.data.endswith(b"99,"))
        assert received.data == b"".join(b"%d," % number for number in range(100))
        near.abort()


async def test_the_other_end_sends_close_notify_in_the_middle(tmp_path: Path) -> None:
    async with listening(tmp_path) as far:
        near, received, _, writer = await far.connect()
        writer.write(b"half of")
        writer.close()
        await received.until(lambda: bool(received.ends))
        assert received.data == b"half of"
        assert received.ends == [None]
        near.write(b"too late")
        near.resume_reading()
        near.abort()
        await asyncio.sleep(0.01)
        assert received.ends == [None]  # called once


async def test_the_other_end_disconnects_while_much_is_sent(tmp_path: Path) -> None:
    async with listening(tmp_path) as far:
        near, received, _, writer = await far.connect()
        near.write(LARGE)
        near.write(b"more")
        writer.transport.abort()  # with much unread: a reset
        await received.until(lambda: bool(received.ends))
        assert len(received.ends) == 1
        assert near.ended


async def test_a_write_to_a_connection_that_was_reset_is_reported_later(tmp_path: Path) -> None:
    async with listening(tmp_path) as far:
        near, received, _, writer = await far.connect()
        near.pause_reading()  # so that nobody notices the end
        near.write(b"unread")
        await asyncio.sleep(0.05)
        writer.transport.abort()
        async with asyncio.timeout(PATIENCE):
            while not near.ended:
                near.write(b"more")
                assert received.ends == []
                await asyncio.sleep(0.01)
        await received.until(lambda: bool(received.ends))
        assert len(received.ends) == 1
        assert isinstance(received.ends[0], OSError)


async def test_abort_calls_back_once_and_notifies_the_other_end(tmp_path: Path) -> None:
    async with listening(tmp_path) as far:
        near, received, reader, _ = await far.connect()
        near.write(b"all")
        near.abort()
        near.abort()
        assert received.ends == []  # not from inside the call
        await received.until(lambda: bool(received.ends))
        assert received.ends == [None]
        async with asyncio.timeout(PATIENCE):
            assert await reader.read() == b"all"


# --- connecting


async def test_another_name_and_another_authority_are_refused(
    tmp_path: Path,
) -> None:
    async with listening(tmp_path) as far:
        with pytest.raises(ssl.SSLCertVerificationError, match="ostname mismatch"):
            await connected("127.0.0.1", far.port, far.context, "other.m2.lab.localhost")
        stranger = ssl.create_default_context(cadata=Authority.create().ca_pem.decode())
        with pytest.raises(ssl.SSLCertVerificationError, match="certificate verify failed"):
            await connected("127.0.0.1", far.port, stranger, HOST)


@pytest.mark.parametrize("greeting", [b"SSH-2.0-OpenSSH\r\n", b""])
async def test_a_server_that_speaks_no_tls(greeting: bytes) -> None:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    with pytest.raises(OSError):  # noqa: PT011  of OpenSSL, or the connection's
        await connected("127.0.0.1", server.sockets[0].getsockname()[1], ssl.create_default_context(), HOST)
    server.close()


@pytest.mark.parametrize("agreeing", [False, True])
async def test_a_connection_cancelled_during_the_handshake_leaves_nothing(agreeing: bool) -> None:
    accepted, ended = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.set()
        with suppress(ConnectionError):
            await reader.read()  # no answer to the client's hello
        ended.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connecting = asyncio.ensure_future(connected("127.0.0.1", port, ssl.create_default_context(), HOST))
    async with asyncio.timeout(PATIENCE):
        await (accepted.wait() if agreeing else asyncio.sleep(0))
        connecting.cancel()
        await asyncio.wait({connecting})
        assert connecting.cancelled()
        await ended.wait()
    server.close()


async def test_no_listener_and_an_unknown_host_are_errors() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as held:
        port = held.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        await connected("127.0.0.1", port, ssl.create_default_context(), HOST)
    with pytest.raises(socket.gaierror):
        await connected("no such host", port, ssl.create_default_context(), HOST)


async def test_each_address_of_a_host_is_tried_until_one_connects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with listening(tmp_path) as far:
        loop = asyncio.get_running_loop()

        async def found(*_: object, **__: object) -> list[Any]:
            kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
            return [(*kind, ("127.0.0.2", far.port)), (*kind, ("127.0.0.1", far.port))]

        proxy = Looked(loop, found)
        monkeypatch.setattr("labkit.fleet.transport.asyncio.get_running_loop", lambda: proxy)
        agreed = await connected("device.example", far.port, far.context, HOST)
        monkeypatch.undo()
        assert agreed.getpeername() == ("127.0.0.1", far.port)
        agreed.close()


class Looked:
    """A loop whose name look-ups a test sets."""

    def __init__(self, loop: asyncio.AbstractEventLoop, getaddrinfo: Callable[..., Awaitable[Any]]) -> None:
        self.getaddrinfo = getaddrinfo
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)


async def test_ipv6(tmp_path: Path) -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    async with listening(tmp_path, "::1") as far:
        agreed = await connected("::1", far.port, far.context, HOST)
        assert agreed.getpeername()[0] == "::1"
        agreed.close()


# --- rare requests of TLS


class Script:
    """A TLS socket with scripted results, over a real one whose readiness a loop can watch."""

    def __init__(
        self, over: socket.socket, recv: list[bytes | Exception], send: list[int | Exception]
    ) -> None:
        self.fileno, self.close = over.fileno, over.close
        self._recv, self._send = recv, send
        self.sent: list[bytes] = []
        self.session = None

    def recv(self, _: int) -> bytes:
        done = self._recv.pop(0)
        if isinstance(done, Exception):
            raise done
        return done

    def send(self, data: bytes) -> int:
        self.sent.append(data)
        done = self._send.pop(0) if self._send else len(data)
        if isinstance(done, Exception):
            raise done
        return done


async def test_a_read_that_has_to_write_first_continues_when_it_can() -> None:
    ours, theirs = socket.socketpair()
    with closing(theirs):
        theirs.send(b"x")
        script = Script(ours, [ssl.SSLWantWriteError(), b"data", b""], [])
        received = Received()
        Transport(script, received)  # type: ignore[arg-type]
        await received.until(lambda: bool(received.ends))
        assert received.data == b"data"
        assert received.ends == [None]


async def test_unsent_data_is_passed_again_unchanged_and_in_order() -> None:
    ours, theirs = socket.socketpair()
    with closing(theirs):
        script = Script(ours, [ssl.SSLWantReadError()], [ssl.SSLWantWriteError(), ssl.SSLWantReadError(), 2])
        transport = Transport(script, Received())  # type: ignore[arg-type]
        transport.write(b"first")
        transport.write(b"second")
        async with asyncio.timeout(PATIENCE):
            while script.sent[-1:] != [b"second"]:  # noqa: ASYNC110  nothing tells
                await asyncio.sleep(0)
        assert script.sent == [b"first", b"first", b"first", b"rst", b"second"]
        transport.abort()


async def test_an_alert_ends_the_connection_with_an_error() -> None:
    ours, theirs = socket.socketpair()
    with closing(theirs):
        theirs.send(b"x")
        alert, received = ssl.SSLError(1, "alert"), Received()
        Transport(Script(ours, [alert], []), received)  # type: ignore[arg-type]
        await received.until(lambda: bool(received.ends))
        assert received.ends == [alert]
