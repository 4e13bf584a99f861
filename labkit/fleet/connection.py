"""One keep-alive HTTPS connection of a virtual device, which costs little: for fleets.

It tells apart how a request can get no answer, and never sends one again: a connection that ended while it was idle
is opened anew before anything is sent.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from labkit.core.certificates import KeyPair
from labkit.core.errors import LabError
from labkit.fleet.answer import Answer, AnswerReader, RepeatedAnswer
from labkit.fleet.channel import Channel, NoAnswerError
from labkit.fleet.flow import PATIENCE, LabAddress
from labkit.fleet.transport import connected

HANDSHAKES = 32  # at once; more would only wait at the server
REFUSALS = 3  # of a shared TLS session in a row, after which none is kept


class Server:
    """Where the devices of a fleet connect: one address, one name, one TLS context for all of them.

    shares_session: its devices share one TLS session, so that only the first connection needs a whole handshake; else
    each device resumes its own.
    """

    def __init__(self, address: LabAddress, domain: str, *, shares_session: bool = False) -> None:
        self.address = address
        self.domain = domain
        self.shares_session = shares_session
        self._session: ssl.SSLSession | None = None  # the shared one
        self._refusals = 0  # of the shared session, in a row
        self._context: ssl.SSLContext | None = None
        self._gate = asyncio.Semaphore(HANDSHAKES)
        self._repeated = RepeatedAnswer()

    async def connect(
        self, certificate: KeyPair | None, patience: float, session: ssl.SSLSession | None = None
    ) -> Wire:
        """Open a connection. Raises NoAnswerError.

        session: the device's own, of the last one; who shows a certificate resumes none (RFC 8446 4.6.1: it would stand
        for the certificate of then).
        """
        if certificate is not None:
            context, session = self.address.context(certificate), None
        else:
            session = self._session if self.shares_session else session
            context = self._context = self._context or self.address.context()
        try:
            async with self._gate, asyncio.timeout(patience):
                agreed = await connected(
                    self.address.host, self.address.https_port, context, self.domain, session
                )
        except TimeoutError:
            raise NoAnswerError("timeout", f"no TLS within {patience:g} s") from None
        except OSError as error:
            raise NoAnswerError("refused", str(error)) from None
        return Wire(agreed, self._repeated, offered=session, resumable=certificate is None)

    def session_after(self, wire: Wire) -> ssl.SSLSession | None:
        """Return the TLS session for the device's next connection, after the first answer on a new one: by then the
        server has sent it. A session that was resumed is kept, since reading another costs time and memory.
        """
        if not wire.resumable:
            return None
        if wire.resumed:
            self._refusals = 0
            return wire.offered
        if not self.shares_session:
            return wire.session()
        self._refusals += wire.offered is not None
        if self._refusals > REFUSALS:  # a server that resumes none, as where client certificates count
            self._session = None
        elif wire.offered is self._session:  # no other connection has replaced it meanwhile
            self._session = wire.session()
        return None


class Wire(Channel):
    """An open connection to a fleet's server.

    offered: the TLS session that it was to resume; resumed: whether it did. resumable: whether another connection may
    resume its session.
    """

    def __init__(
        self,
        agreed: ssl.SSLSocket,
        repeated: RepeatedAnswer,
        *,
        offered: ssl.SSLSession | None,
        resumable: bool,
    ) -> None:
        resumed = bool(agreed.session_reused)
        super().__init__(agreed, AnswerReader(repeated=repeated), keeps_session=resumable and not resumed)
        self.resumed = resumed
        self.offered = offered
        self.resumable = resumable


class DeviceConnection:
    """What a device of a fleet asks by: one request at a time, over one connection that is kept."""

    def __init__(self, server: Server, certificate: KeyPair | None = None) -> None:
        self.server = server
        self.certificate = certificate
        self.opened = 0  # connections so far
        self.answered = 0  # requests so far
        self.last: Answer | None = None  # that came
        self.stuck = 0.0  # seconds of real time for which the next answer is not read
        self.took = 0.0  # seconds of real time, for the last answer since its request was written
        self.on_sent: Callable[[], object] | None = None  # called once the next request was written
        self._sent: tuple[bytes, str, float | None] | None = (
            None  # the last request, with its method and patience
        )
        self._wire: Wire | None = None
        self._session: ssl.SSLSession | None = None  # for the next connection
        self._asking = False
        self._asked: tuple[str, str, Mapping[str, str] | None, int] | None = None  # last
        self._head = b""  # of that
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
        """Send a request and read the whole answer. Raises NoAnswerError; LabError while another is under way,
        and for an option that there is not.

        patience: seconds of real time to wait for an answer; None waits for ever.
        """
        if others:
            raise LabError(
                f"request: no option {next(iter(others))!r}, there are: headers, content, patience"
            )
        body = content.encode() if isinstance(content, str) else content
        asked = (method, path, headers, len(body))
        if asked != self._asked:  # devices ask for the same again and again
            self._head = self._made(*asked)
            self._asked = (method, path, dict(headers or {}), len(body))
        return self._send(self._head + body, method, patience)

    def _made(self, method: str, path: str, headers: Mapping[str, str] | None, length: int) -> bytes:
        """The head of a request with a body of so many bytes. Raises LabError for what would be more lines."""
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
        """Send the last request once more, on the connection that there is. Raises as `request` does."""
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
                if self.stuck:
                    seconds, self.stuck = self.stuck, 0.0
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
                self.abort()  # an answer that nobody waits for would come before the next one
                raise
        finally:
            self._asking = False
            self.on_sent = None

    def wait_for_ever(self) -> None:
        """The answer that is due may take as long as it will: the server holds the request."""
        if self._wire is not None:
            self._wire.limit(None)

    async def lost(self) -> None:
        """Return once no connection is open."""
        if self._wire is not None:
            await self._wire.lost()

    def abort(self, *, reset: bool = False) -> None:
        """End the connection at once, in order or by a TCP reset; the next request opens another."""
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.abort(reset=reset)

    async def close(self) -> None:
        """As `abort`."""
        self.abort()
