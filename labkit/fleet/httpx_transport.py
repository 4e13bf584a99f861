"""Transport of httpx for the hosts of a lab, without DNS.

httpx's own transport supports any loop and any proxy, which takes most of the time of a short request.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import ssl
from collections.abc import Awaitable, Callable
from typing import cast

import httpx

from labkit.fleet.answer import FIELD, Answer, AnswerReader, MalformedError, raw_fields
from labkit.fleet.channel import Channel, NoAnswerError
from labkit.labtime.story_work import CURRENT, StoryWork

IDLE_LIMIT = 30.0  # real seconds after which an idle connection is not reused
MOST = 1024 * 1024 * 1024  # bytes of an answer's body
FIRST = re.compile(rb"[!-~]+ [!-~]+ HTTP/1\.1")
PIECE = 64 * 1024  # bytes of a body that are written at once, about


class LabTransport(httpx.AsyncBaseTransport):
    """httpx transport that sends every request to one IP address and port: see `LabAddress.connections`.

    connect: opens a TLS connection with a server name. Extensions of a request: `sni_hostname`, the server name of its
    connection, by default the URL's host; `sent`, a function called once it is written; `timeout`, as in httpx.
    """

    def __init__(self, connect: Callable[[str], Awaitable[ssl.SSLSocket]]) -> None:
        self._connect = connect
        self._idle: dict[str, list[tuple[Channel, float]]] = {}  # with the loop's time of the last use
        self._all: dict[Channel, tuple[int, int]] = {}  # number in the order of opening, and local port
        self._opened = itertools.count()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        name = request.extensions.get("sni_hostname", request.url.host)
        timeout = request.extensions.get("timeout", {})
        work = CURRENT.get()
        try:
            channel = self._idle_channel(name, work) or await self._open_channel(name, timeout.get("connect"))
            sent = None if work is None else work.sent(self._all[channel][1])
            try:
                try:
                    # In a story lab time passes before the answer, however long that takes.
                    response = await _exchange(
                        channel, request, timeout.get("read") if sent is None else None
                    )
                finally:
                    if sent is not None:
                        sent.end()
            except BaseException:  # the pending answer makes the connection unusable
                self._discard(channel)
                raise
        except httpx.TransportError as error:
            error.request = request
            raise
        if channel.ended:
            self._all.pop(channel, None)
        else:
            now = asyncio.get_running_loop().time()
            self._idle.setdefault(name, []).append((channel, now))
        return response

    async def aclose(self) -> None:
        """End all connections."""
        ending, self._all = self._all, {}
        self._idle.clear()
        for channel in ending:
            channel.abort()

    def _idle_channel(self, name: str, work: StoryWork | None) -> Channel | None:
        """Return the most recently used open connection of this name, None if there is none.

        In a story, where real time must decide nothing, it is the one that was opened first.
        """
        idle = self._idle.get(name)
        now = asyncio.get_running_loop().time()
        while idle:
            first = min(range(len(idle)), key=lambda place: self._all[idle[place][0]]) if work else -1
            channel, used = idle.pop(first)
            late = work is None and now - used >= IDLE_LIMIT
            if not channel.ended and channel.silent and not late:
                return channel
            self._discard(channel)
        return None

    async def _open_channel(self, name: str, patience: float | None) -> Channel:
        try:
            async with asyncio.timeout(patience):
                agreed = await self._connect(name)
        except TimeoutError as error:
            raise httpx.ConnectTimeout(str(error)) from error
        except OSError as error:  # including those of TLS
            raise httpx.ConnectError(str(error)) from error
        made = Channel(agreed, AnswerReader(MOST))
        self._all[made] = next(self._opened), agreed.getsockname()[1]
        return made

    def _discard(self, channel: Channel) -> None:
        self._all.pop(channel, None)
        channel.abort()


async def _exchange(channel: Channel, request: httpx.Request, patience: float | None) -> httpx.Response:
    """Send a request and read the whole answer. patience: seconds of real time to wait for more of it.

    Raises httpx.TransportError, after which the caller aborts the connection.
    """
    answer = channel.begin(request.method)
    try:
        await _send(channel, request, answer)
        if sent := request.extensions.get("sent"):
            sent()
        channel.limit(patience, anew=True)
        return _response(await answer)
    except NoAnswerError as error:
        raise _as_httpx(error) from None
    except MalformedError as error:
        raise httpx.RemoteProtocolError(str(error)) from None
    finally:
        if not answer.cancel() and not answer.cancelled():
            answer.exception()  # retrieved, so that asyncio does not log it


async def _send(channel: Channel, request: httpx.Request, answer: asyncio.Future[Answer]) -> None:
    """Write the request, and stop if the server answers before it has read all of it."""
    channel.sending = True
    data = _head(request)
    chunked = "Transfer-Encoding" in request.headers
    length = 0
    async for part in cast(httpx.AsyncByteStream, request.stream):
        if answer.done():
            return
        length += len(part)
        data += b"%x\r\n%b\r\n" % (len(part), part) if chunked and part else part
        if len(data) >= PIECE:
            channel.write(data)
            data = b""
    if not chunked and request.headers.get("Content-Length", "0") != str(length):
        raise httpx.LocalProtocolError(f"Content-Length: the body has {length} bytes")
    if not answer.done():
        channel.write(data + b"0\r\n\r\n" if chunked else data)
        channel.sending = False


def _response(answer: Answer) -> httpx.Response:
    """Return the answer as httpx's response. Raises MalformedError for a malformed header field."""
    return httpx.Response(
        answer.status_code,
        headers=raw_fields(answer.lines),
        stream=httpx.ByteStream(answer.content),
        extensions={"http_version": b"HTTP/1.%d" % answer.version, "reason_phrase": answer.reason},
    )


def _as_httpx(error: NoAnswerError) -> httpx.TransportError:
    """Return httpx's exception for a request without an answer."""
    if error.kind == "timeout":
        return httpx.ReadTimeout(error.detail)
    if error.kind == "malformed":
        return httpx.RemoteProtocolError(error.detail)
    if error.detail:
        return httpx.ReadError(error.detail)
    where = "inside of its answer" if error.kind == "cut" else "without an answer"
    return httpx.RemoteProtocolError(f"the server ended the connection {where}")


def _head(request: httpx.Request) -> bytes:
    """Return the head of a request. Raises httpx.LocalProtocolError for an invalid request line or header field."""
    first = b"%b %b HTTP/1.1" % (request.method.encode(), request.url.raw_path)
    if FIRST.fullmatch(first) is None:
        raise httpx.LocalProtocolError(f"no line of a request: {first[:80]!r}")
    lines = [b"%b: %b" % each for each in request.headers.raw]
    for line in lines:
        if FIELD.fullmatch(line) is None:
            raise httpx.LocalProtocolError(f"no header field: {line[:80]!r}")
    return b"\r\n".join([first, *lines, b"\r\n"])
