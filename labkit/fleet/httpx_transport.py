"""The connections of clients to the hosts of a lab, for httpx: without DNS, on the running loop alone.

httpx's own go through layers that serve any loop and any proxy, which takes most of the time of a short request.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import cast

import h11
import httpx

KEPT = 30.0  # seconds of real time for which a connection that nobody uses is kept
HEAD = 100 * 1024  # bytes of an answer's head
PIECE = 64 * 1024  # bytes of a body that are written at once, about


class LabTransport(httpx.AsyncBaseTransport):
    """Leads every request to one address, host (an IP address) and port.

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
            if connection.usable and now - connection.used < KEPT:
                return connection
            self._all.discard(connection)
            connection.abort()
        return None

    async def _opened(self, name: str, patience: float | None) -> _Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(patience):
                _, made = await loop.create_connection(
                    _Connection, self._host, self._port, ssl=self._context, server_hostname=name
                )
        except TimeoutError as error:
            raise httpx.ConnectTimeout(str(error)) from error
        except OSError as error:  # those of TLS are such, too
            raise httpx.ConnectError(str(error)) from error
        self._all.add(made)
        return made


class _Connection(asyncio.Protocol):
    """One connection: a request at a time."""

    def __init__(self) -> None:
        self.used = 0.0  # when the last answer came, by the loop's clock
        self._loop = asyncio.get_running_loop()
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD)
        self._open = True
        self._transport: asyncio.Transport
        self._answer: asyncio.Future[httpx.Response] | None = None
        self._head: h11.Response | None = None
        self._body: list[bytes] = []
        self._patience: float | None = None
        self._until = 0.0  # by the loop's clock
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it

    @property
    def usable(self) -> bool:
        """Can it be asked something?"""
        return self._open and self._answer is None

    async def ask(self, request: httpx.Request, patience: float | None) -> httpx.Response:
        """Send a request and read the whole answer. patience: seconds of real time to wait for more of it."""
        answer: asyncio.Future[httpx.Response] = self._loop.create_future()
        self._answer = answer
        self._head, self._body = None, []
        try:
            await self._send(request, answer)
            if sent := request.extensions.get("sent"):
                sent()
            self._patience = patience
            self._wait()
            return await answer
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error
        finally:
            self._answer = None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if answer.done() and not answer.cancelled():
                answer.exception()  # which nobody may have come to wait for

    async def _send(self, request: httpx.Request, answer: asyncio.Future[httpx.Response]) -> None:
        """Write it, as far as the server wants it: it may answer before it has read all."""
        head = h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw)
        data = self._http.send(head) or b""
        async for part in cast(httpx.AsyncByteStream, request.stream):
            if answer.done():
                return
            data += self._http.send(h11.Data(data=part)) or b""
            if len(data) >= PIECE:
                self._transport.write(data)
                data = b""
        if not answer.done():
            self._transport.write(data + (self._http.send(h11.EndOfMessage()) or b""))

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():  # nobody asked
            self.abort()
            return
        if self._patience is not None:
            self._until = self._loop.time() + self._patience
        self._read(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._open = False
        if self._answer is None or self._answer.done():
            return
        if error is not None:
            self._fail(httpx.ReadError(str(error)))
        elif self._http.their_state is h11.SEND_RESPONSE:
            self._fail(httpx.RemoteProtocolError("the server ended the connection without an answer"))
        else:
            self._read(b"")  # the end of what comes

    def abort(self) -> None:
        """End it at once."""
        self._open = False
        self._transport.abort()

    def _read(self, data: bytes) -> None:
        try:
            self._http.receive_data(data)
            while (event := self._http.next_event()) is not h11.NEED_DATA:
                if isinstance(event, h11.Response):
                    self._head = event
                elif isinstance(event, h11.Data):
                    self._body.append(bytes(event.data))
                elif isinstance(event, h11.EndOfMessage):
                    self._end()
                    return
        except h11.RemoteProtocolError as error:
            self._fail(httpx.RemoteProtocolError(str(error)))

    def _end(self) -> None:
        assert self._answer is not None
        assert self._head is not None
        self.used = self._loop.time()
        extensions = {"http_version": b"HTTP/" + self._head.http_version, "reason_phrase": self._head.reason}
        response = httpx.Response(
            self._head.status_code,
            headers=self._head.headers.raw_items(),
            stream=httpx.ByteStream(b"".join(self._body)),
            extensions=extensions,
        )
        self._answer.set_result(response)
        over = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        if over and self._http.trailing_data == (b"", False):
            self._http.start_next_cycle()
        else:
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
