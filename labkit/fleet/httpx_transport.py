"""The connections of clients to the hosts of a lab, for httpx: without DNS, on the running loop alone.

httpx's own go through layers that serve any loop and any proxy, which takes most of the time of a short request.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from typing import cast

import httpx

from labkit.fleet.answer import FIELD, Answer, AnswerReader, MalformedError, raw_fields
from labkit.fleet.transport import Transport, connected

KEPT = 30.0  # seconds of real time for which a connection that nobody uses is kept
MOST = 1024 * 1024 * 1024  # bytes of an answer's body
FIRST = re.compile(rb"[!-~]+ [!-~]+ HTTP/1\.1")
PIECE = 64 * 1024  # bytes of a body that are written at once, about


class LabTransport(httpx.AsyncBaseTransport):
    """Leads every request to one address, host (an IP address) and port: see `Address.connections`.

    A request's extensions: `sni_hostname`, the name that a connection is opened for and belongs to, else that of its
    URL; `sent`, a function that is called once all of the request is written; `timeout`, as httpx has it.
    """

    def __init__(self, host: str, port: int, context: ssl.SSLContext) -> None:
        self._host = host
        self._port = port
        self._context = context
        self._idle: dict[str, list[_Connection]] = {}
        self._all: set[_Connection] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        name = request.extensions.get("sni_hostname", request.url.host)
        timeout = request.extensions.get("timeout", {})
        try:
            connection = self._kept(name) or await self._opened(name, timeout.get("connect"))
            try:
                response = await connection.ask(request, timeout.get("read"))
            except BaseException:  # whatever comes now on this connection, nobody waits for
                self._all.discard(connection)
                connection.abort()
                raise
        except httpx.TransportError as error:
            error.request = request
            raise
        if connection.usable:
            self._idle.setdefault(name, []).append(connection)
        else:
            self._all.discard(connection)
        return response

    async def aclose(self) -> None:
        """End all connections."""
        ending, self._all = self._all, set()
        self._idle.clear()
        for connection in ending:
            connection.abort()

    def _kept(self, name: str) -> _Connection | None:
        """The connection that was used last, if it is still open."""
        idle = self._idle.get(name)
        now = asyncio.get_running_loop().time()
        while idle:
            connection = idle.pop()
            if connection.usable and connection.silent and now - connection.used < KEPT:
                return connection
            self._all.discard(connection)
            connection.abort()
        return None

    async def _opened(self, name: str, patience: float | None) -> _Connection:
        try:
            async with asyncio.timeout(patience):
                agreed = await connected(self._host, self._port, self._context, name)
        except TimeoutError as error:
            raise httpx.ConnectTimeout(str(error)) from error
        except OSError as error:  # those of TLS are such, too
            raise httpx.ConnectError(str(error)) from error
        made = _Connection(agreed)
        self._all.add(made)
        return made


class _Connection:
    """One connection: a request at a time."""

    def __init__(self, agreed: ssl.SSLSocket) -> None:
        self.used = 0.0  # when the last answer came, by the loop's clock
        self._loop = asyncio.get_running_loop()
        self._reader = AnswerReader(MOST)
        self._open = True
        self._answer: asyncio.Future[httpx.Response] | None = None
        self._written = False  # all of the request
        self._patience: float | None = None
        self._until = 0.0  # by the loop's clock
        self._timer: asyncio.TimerHandle | None = None
        self._transport = Transport(agreed, self)

    @property
    def usable(self) -> bool:
        """Can it be asked something?"""
        return self._open and self._answer is None

    @property
    def silent(self) -> bool:
        """Has the server sent nothing that the loop has not come to yet, such as the end?"""
        return self._transport.silent

    async def ask(self, request: httpx.Request, patience: float | None) -> httpx.Response:
        """Send a request and read the whole answer. patience: seconds of real time to wait for more of it."""
        answer: asyncio.Future[httpx.Response] = self._loop.create_future()
        self._answer = answer
        self._written = False
        self._reader.expect(request.method)
        try:
            await self._send(request, answer)
            if sent := request.extensions.get("sent"):
                sent()
            self._patience = patience
            self._wait()
            return await answer
        finally:
            self._answer = None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if answer.done() and not answer.cancelled():
                answer.exception()  # which nobody may have come to wait for

    async def _send(self, request: httpx.Request, answer: asyncio.Future[httpx.Response]) -> None:
        """Write it, as far as the server wants it: it may answer before it has read all."""
        data = _head(request)
        chunked = "Transfer-Encoding" in request.headers
        length = 0
        async for part in cast(httpx.AsyncByteStream, request.stream):
            if answer.done():
                return
            length += len(part)
            data += b"%x\r\n%b\r\n" % (len(part), part) if chunked and part else part
            if len(data) >= PIECE:
                self._transport.write(data)
                data = b""
        if not chunked and request.headers.get("Content-Length", "0") != str(length):
            raise httpx.LocalProtocolError(f"Content-Length: the body has {length} bytes")
        if not answer.done():
            self._transport.write(data + b"0\r\n\r\n" if chunked else data)
            self._written = True

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():  # nobody asked
            self.abort()
            return
        if self._patience is not None:
            self._until = self._loop.time() + self._patience
        try:
            answer = self._reader.feed(data)
            if answer is not None:
                self._end(answer)
        except MalformedError as error:
            self._fail(httpx.RemoteProtocolError(str(error)))

    def connection_lost(self, error: Exception | None) -> None:
        self._open = False
        if self._answer is None or self._answer.done():
            return
        if error is not None:
            self._fail(httpx.ReadError(str(error)))
        elif not self._reader.begun:
            self._fail(httpx.RemoteProtocolError("the server ended the connection without an answer"))
        elif (answer := self._reader.end()) is None:
            self._fail(httpx.RemoteProtocolError("the server ended the connection inside of its answer"))
        else:
            self._end(answer)

    def abort(self) -> None:
        """End it at once."""
        self._open = False
        self._transport.abort()

    def _end(self, answer: Answer) -> None:
        assert self._answer is not None
        self.used = self._loop.time()
        response = httpx.Response(
            answer.status_code,
            headers=raw_fields(answer.lines),
            stream=httpx.ByteStream(answer.content),
            extensions={"http_version": b"HTTP/1.%d" % answer.version, "reason_phrase": answer.reason},
        )
        self._answer.set_result(response)
        if not (answer.keep and self._written) or self._reader.begun:
            self.abort()

    def _fail(self, error: httpx.TransportError) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)

    def _wait(self) -> None:
        if self._patience is not None:
            self._until = self._loop.time() + self._patience
            self._timer = self._loop.call_at(self._until, self._late)

    def _late(self) -> None:
        if self._loop.time() < self._until:  # something has come since
            self._timer = self._loop.call_at(self._until, self._late)
        else:
            self._fail(httpx.ReadTimeout("the server did not answer in time"))


def _head(request: httpx.Request) -> bytes:
    """The head of a request. Raises httpx.LocalProtocolError for what would be no line, or more than one."""
    first = b"%b %b HTTP/1.1" % (request.method.encode(), request.url.raw_path)
    if FIRST.fullmatch(first) is None:
        raise httpx.LocalProtocolError(f"no line of a request: {first[:80]!r}")
    lines = [b"%b: %b" % each for each in request.headers.raw]
    for line in lines:
        if FIELD.fullmatch(line) is None:
            raise httpx.LocalProtocolError(f"no header field: {line[:80]!r}")
    return b"\r\n".join([first, *lines, b"\r\n"])
