"""A CONNECT proxy for clients that cannot resolve the lab's names: it reaches the lab alone."""

from __future__ import annotations

import asyncio
import re
from contextlib import closing
from typing import cast

from labkit.context import Context
from labkit.core.component import Component
from labkit.core.errors import SettingsError
from labkit.edge.clients import unread
from labkit.edge.tasks import Tasks

HOST = "127.0.0.1"  # the only address that it listens on
TARGET = re.compile(rb"CONNECT ([\w.-]{1,255}):(\d{1,5}) HTTP/1\.[01]\r\n", re.ASCII)
LONGEST = 8 * 1024  # bytes of a request's head, and of the unread data of a tunnel
MOST = 256  # connections at a time
CHUNK = 64 * 1024
BAD, FORBIDDEN, BUSY, AWAY = "400 Bad Request", "403 Forbidden", "503 Service Unavailable", "502 Bad Gateway"


class TunnelStream:
    """One connection of a tunnel, to a client or to the lab."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._transport = cast(asyncio.Transport, writer.transport)
        self._socket = writer.get_extra_info("socket")

    def fileno(self) -> int:
        """Return the descriptor of the proxy's socket, -1 once it is closed."""
        return int(self._socket.fileno())

    def is_read(self) -> bool:
        """Return whether the proxy reads what arrives: not after the end of input, nor while it passes on the rest."""
        return self._transport.is_reading() and not self._reader.at_eof()


class Proxy(Component):
    """Listener on loopback that opens tunnels (RFC 9110 9.3.6) to the lab's own hosts and refuses all other targets.

    It is no part of the platform: a power cut ends the tunnels, and the proxy stays.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._server: asyncio.Server | None = None
        self.port: int | None = None  # at which it listens or has listened
        self._tasks = Tasks()
        self._open = 0
        self._streams: set[TunnelStream] = set()

    async def start(self) -> None:
        """Listen if the settings have a `proxy_port`. Raises SettingsError if the port is taken."""
        await self._listen(HOST, self._context.settings.proxy_port)

    async def _listen(self, host: str, port: int | None) -> None:
        if port is None:
            return
        try:
            self._server = await asyncio.start_server(self._connected, host, port, limit=LONGEST)
        except OSError as error:
            text = f"proxy_port: cannot listen on {host}:{port}: {error.strerror or error}"
            raise SettingsError(text) from error
        if self.port is None:
            self._context.inputs.add(
                lambda: unread(() if self._server is None else self._server.sockets, self._streams)
            )
        self.port = self._server.sockets[0].getsockname()[1]
        self._context.address.proxy = f"http://{host}:{self.port}"

    async def stop(self) -> None:
        """Stop listening and end all tunnels."""
        if self._server is not None:
            self._server.close()
            self._server = None
        await self._tasks.finish()

    async def suspend(self) -> None:
        await self.stop()

    async def resume(self) -> None:
        await self.start()

    async def resume_at(self, host: str, port: int | None) -> None:
        """Listen again at this IP address and port, 0 for any free one; None for no proxy. Raises SettingsError."""
        await self._listen(host, port)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._streams.add(stream := TunnelStream(reader, writer))
        task = self._tasks.spawn(self._serve(reader, writer))
        task.add_done_callback(lambda _: self._streams.discard(stream))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            with closing(writer):
                refusal = await self._tunnel(reader, writer)
                if refusal:
                    await _refuse(writer, *refusal)
        except* (
            OSError,
            EOFError,
            asyncio.LimitOverrunError,
        ):  # the client has left, was too slow or sent too much
            pass
        finally:
            self._open -= 1

    async def _tunnel(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[str, str] | None:
        """Open the tunnel that a client asks for, until an end closes it; return status and reason of a refusal."""
        if self._open > MOST:
            return BUSY, f"this proxy has {MOST} connections at a time"
        async with asyncio.timeout(self._context.settings.guard.header):
            head = await reader.readuntil(b"\r\n\r\n")
        address = self._context.address
        target = TARGET.match(head)
        if target is None:
            return BAD, "this proxy expects CONNECT name:port"
        host, port = target[1].decode().lower(), int(target[2])
        if port != address.https_port or not self._context.hosts.serves(host):
            self._context.journal.record_refusal(
                "no host of the lab", f"the proxy was asked for {host}:{port}"
            )
            return (
                FORBIDDEN,
                f"this proxy reaches the lab's hosts at port {address.https_port}, not {host}:{port}",
            )
        try:
            with self._context.activity:
                lab_reader, lab_writer = await asyncio.open_connection(
                    address.host, address.https_port, limit=LONGEST
                )
        except OSError as error:
            return AWAY, f"the lab does not listen: {error.strerror or error}"
        self._streams.add(stream := TunnelStream(lab_reader, lab_writer))
        try:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            async with asyncio.TaskGroup() as both:
                both.create_task(_copy(reader, lab_writer))
                both.create_task(_copy(lab_reader, writer))
        finally:
            lab_writer.close()
            self._streams.discard(stream)
        return None


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on all bytes until the sender ends, and then that end. Raises OSError where a connection breaks."""
    while data := await reader.read(CHUNK):
        writer.write(data)
        await writer.drain()
    writer.write_eof()


async def _refuse(writer: asyncio.StreamWriter, status: str, reason: str) -> None:
    body = f"{reason}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
