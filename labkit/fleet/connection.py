"""Keep-alive HTTPS connection of a fleet's device, made for low cost.

Its errors distinguish the ways in which a request gets no answer. It never repeats a request: a connection that ended
while idle is reopened before anything is sent.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from labkit.core.certificates import KeyPair
from labkit.core.errors import LabError
from labkit.fleet.answer import Answer, AnswerReader, RepeatedAnswer
from labkit.fleet.channel import Channel, NoAnswerError
from labkit.fleet.flow import PATIENCE, LabAddress
from labkit.fleet.transport import open_tcp, secured
from labkit.http.memory import MemoryTransport

HANDSHAKES = 32  # concurrent ones; more would only wait at the server
Leave = Callable[[], None]  # called when the client closes a connection
REFUSALS = 3  # of a shared TLS session in a row, until no session is kept


class DeviceServer:
    """Server of a fleet's devices: one address, one name and one TLS context for all of them.

    connect: opens a connection for TLS, and returns the socket and a function to call when the client closes it; by
    default over TCP to the address. shares_session: share one TLS session, so that only the first connection needs a
    full handshake; else each device resumes its own.
    """

    def __init__(
        self,
        address: LabAddress,
        domain: str,
        *,
        connect: Callable[[], Awaitable[tuple[socket.socket, Leave]]] | None = None,
        shares_session: bool = False,
    ) -> None:
        self.address = address
        self._open = connect or self._open_tcp
        self.domain = domain
        self.shares_session = shares_session
        self._session: ssl.SSLSession | None = None  # the shared one
        self._refusals = 0  # of the shared session, in a row
        self._context: ssl.SSLContext | None = None
        self._gate = asyncio.Semaphore(HANDSHAKES)
        self._repeated = RepeatedAnswer()

    async def connect(
        self, certificate: KeyPair | None, patience: float, session: ssl.SSLSession | None = None
    ) -> DeviceChannel:
        """Open a connection. Raises NoAnswerError.

        session: of the device's last connection; not resumed with a client certificate, since it would imply the
        certificate of its first handshake (RFC 8446 4.6.1).
        """
        if certificate is not None:
            context, session = self.address.context(certificate), None
        else:
            session = self._session if self.shares_session else session
            context = self._context = self._context or self.address.context()
        try:
            async with self._gate, asyncio.timeout(patience):
                opened, leave = await self._open()
                try:
                    agreed = await secured(opened, context, self.domain, session)
                except BaseException:
                    leave()
                    raise
        except TimeoutError:
            raise NoAnswerError("timeout", f"no TLS within {patience:g} s") from None
        except OSError as error:
            raise NoAnswerError("refused", str(error)) from None
        return DeviceChannel(agreed, leave, self._repeated, offered=session, resumable=certificate is None)

    async def _open_tcp(self) -> tuple[socket.socket, Leave]:
        return await open_tcp(self.address.host, self.address.https_port), lambda: None

    def session_after(self, wire: DeviceChannel) -> ssl.SSLSession | None:
        """Return the TLS session for the device's next connection.

        Called after the first answer on a new connection, when the server has sent the session. A resumed session is
        kept, since reading another costs time and memory.
        """
        if not wire.resumable:
            return None
        if wire.resumed:
            self._refusals = 0
            return wire.offered
        if not self.shares_session:
            return wire.session()
        self._refusals += wire.offered is not None
        if self._refusals > REFUSALS:  # the server resumes none, as with client certificates
            self._session = None
        elif wire.offered is self._session:  # no other connection has replaced it meanwhile
            self._session = wire.session()
        return None


class MemoryServer:
    """Server of a simulated fleet's devices whose connections are in memory, without TLS.

    connect: opens a connection to the host `domain`, and returns the client's end and a function to call when the
    client closes it; raises OSError.
    """

    def __init__(
        self,
        address: LabAddress,
        domain: str,
        connect: Callable[[str], Awaitable[tuple[MemoryTransport, Leave]]],
    ) -> None:
        self.address = address
        self.domain = domain
        self._connect = connect
        self._repeated = RepeatedAnswer()

    async def connect(
        self, certificate: KeyPair | None, patience: float, session: ssl.SSLSession | None = None
    ) -> DeviceChannel:
        """Open a connection. Raises NoAnswerError; LabError for a device with a certificate, which takes TLS."""
        if certificate is not None:
            raise LabError("a device with a certificate takes TLS: run without transport='memory'")
        try:
            opened, leave = await self._connect(self.domain)
        except OSError as error:
            raise NoAnswerError("refused", str(error)) from None
        return DeviceChannel(opened, leave, self._repeated, offered=None, resumable=False)

    def session_after(self, wire: DeviceChannel) -> None:
        """Return None: there is no TLS session."""


class DeviceChannel(Channel):
    """An open connection to a fleet's server.

    offered: the TLS session offered to the server; resumed: whether the server resumed it; resumable: whether another
    connection may resume this one's session. leave: called when the client closes the connection.
    """

    def __init__(
        self,
        opened: ssl.SSLSocket | MemoryTransport,
        leave: Leave,
        repeated: RepeatedAnswer,
        *,
        offered: ssl.SSLSession | None,
        resumable: bool,
    ) -> None:
        resumed = isinstance(opened, ssl.SSLSocket) and bool(opened.session_reused)
        super().__init__(opened, AnswerReader(repeated=repeated), keeps_session=resumable and not resumed)
        self._leave = leave
        self.resumed = resumed
        self.offered = offered
        self.resumable = resumable

    def abort(self, *, reset: bool = False) -> None:
        self._leave()
        super().abort(reset=reset)


class DeviceConnection:
    """HTTP client of a fleet's device: one request at a time over one persistent connection."""

    def __init__(self, server: DeviceServer | MemoryServer, certificate: KeyPair | None = None) -> None:
        self.server = server
        self.certificate = certificate
        self.opened = 0  # number of connections so far
        self.answered = 0  # number of requests so far
        self.last: Answer | None = None  # the last answer, repeated requests aside
        self.stall_seconds = 0.0  # real seconds for which the next answer is not read
        self.took = 0.0  # real seconds from writing the last request to its answer
        self.on_sent: Callable[[], object] | None = None  # called once the next request is written
        self._sent: tuple[bytes, str, float | None] | None = (
            None  # the last request, with its method and patience
        )
        self._wire: DeviceChannel | None = None
        self._session: ssl.SSLSession | None = None  # for the next connection
        self._asking = False
        self._head_of: tuple[str, str, Mapping[str, str] | None, int] | None = None  # the request of `_head`
        self._head = b""  # encoded head of the last request
        self._host = f"Host: {server.domain}\r\n"

    @property
    def open(self) -> bool:
        return self._wire is not None and not self._wire.ended

    def request(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | str = b"",
        patience: float | None = PATIENCE,
        **others: object,
    ) -> Coroutine[Any, Any, Answer]:
        """Send a request and read the whole answer. Raises NoAnswerError; LabError for an unknown option and
        while another request is pending.

        patience: seconds of real time to wait for an answer; None waits for ever.
        """
        if others:
            raise LabError(
                f"request: no option {next(iter(others))!r}, there are: headers, content, patience"
            )
        body = content.encode() if isinstance(content, str) else content
        asked = (method, path, headers, len(body))
        if asked != self._head_of:  # devices repeat the same request
            self._head = self._encode_head(*asked)
            self._head_of = (method, path, dict(headers or {}), len(body))
        return self._send(self._head + body, method, patience)

    def _encode_head(self, method: str, path: str, headers: Mapping[str, str] | None, length: int) -> bytes:
        """Return the head of a request with a body of `length` bytes. Raises LabError for a line end in a field."""
        lines = [f"{method} {path} HTTP/1.1\r\n{self._host}"]
        for name, value in (headers or {}).items():
            lines.append(f"{name}: {value}\r\n")
        if length or method == "POST":
            lines.append(f"Content-Length: {length}\r\n")
        lines.append("\r\n")
        head = "".join(lines)
        if head.count("\n") != len(headers or ()) + 3 + bool(length or method == "POST") or "\0" in head:
            raise LabError(f"{method} {path!r}: a line end in the path or a header")
        return head.encode("utf-8", "surrogateescape")

    async def again(self) -> Answer:
        """Repeat the last request on the open connection. Raises as `request` does."""
        if self._sent is None:
            raise LabError("nothing was sent yet")
        return await self._send(*self._sent, again=True)

    async def _send(self, request: bytes, method: str, patience: float | None, again: bool = False) -> Answer:
        if self._asking:
            raise LabError("a device asks for one thing at a time: await the answer first")
        self._asking = True
        self._sent = (request, method, patience)
        try:
            wire = self._wire
            is_new = wire is None or wire.ended
            if wire is None or wire.ended:
                self.abort()
                self._wire = wire = await self.server.connect(
                    self.certificate, patience or PATIENCE, self._session
                )
                self.opened += 1
            try:
                answer = wire.begin(method)
                wire.write(request)
                wire.limit(patience)
                if self.on_sent is not None:
                    self.on_sent()
                if self.stall_seconds:
                    seconds, self.stall_seconds = self.stall_seconds, 0.0
                    wire.stall(seconds)
                began = time.perf_counter()
                came = await answer
                self.took = time.perf_counter() - began
                self.answered += 1
                if is_new:
                    self._session = self.server.session_after(wire)
                if not again:
                    self.last = came
                return came
            except asyncio.CancelledError:
                self.abort()  # else the pending answer would be taken for the next one
                raise
        finally:
            self._asking = False
            self.on_sent = None

    def disable_timeout(self) -> None:
        """Wait for the pending answer without a timeout, because the server is delaying it."""
        if self._wire is not None:
            self._wire.limit(None)

    async def lost(self) -> None:
        """Return once the connection has ended."""
        if self._wire is not None:
            await self._wire.lost()

    def abort(self, *, reset: bool = False) -> None:
        """End the connection at once, in order or by a TCP reset; the next request opens another."""
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.abort(reset=reset)

    async def close(self) -> None:
        """End the connection at once: see `abort`."""
        self.abort()
