"""Responses on the wire: this file has every departure from the HTTP library's own framing.

- A 204 carries `Content-Length: 0` where the profile says so (document 1, record, 4); RFC 9110 8.6 would not.
- A download may carry Content-Length and Transfer-Encoding: chunked together (document 1, download; RFC 9112
  6.1 forbids it, the real platform does it). The body is truly chunked then.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from http import HTTPStatus

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import HttpVersion11
from multidict import CIMultiDict

from labkit.http.cut import ConnectionCut
from labkit.settings import Wire

TEXT = "text/plain; charset=utf-8"
FORM = "application/x-www-form-urlencoded; charset=utf-8"
CSV = "text/csv; charset=utf-8"
REASONS = {status.value: status.phrase for status in HTTPStatus}


def reply(
    status: int, body: bytes | str = b"", content_type: str = TEXT, headers: Mapping[str, str] | None = None
) -> web.Response:
    """Return a small reply: head and body are sent in one write, with a Content-Length."""
    data = body.encode() if isinstance(body, str) else body
    return Reply(status=status, body=data, headers={hdrs.CONTENT_TYPE: content_type, **(headers or {})})


def nothing(wire: Wire, status: int = 204, headers: Mapping[str, str] | None = None) -> web.Response:
    """Return a reply without a body: 204, or 304."""
    if status == 204 and wire.empty_length:
        return EmptyWithLength(status=status, headers=headers)
    return Reply(status=status, headers=headers)


class Reply(web.Response):
    """A reply with a text or without a body.

    It skips the steps of aiohttp's header preparation that it does not need: they are half of the cost of a
    small reply.
    """

    says_empty = False  # `Content-Length: 0`, where a reply of its status has no length by itself

    def __init__(
        self, *, status: int = 200, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        # The state after aiohttp's own constructor with such arguments, without its other work.
        self._state = {}
        self._headers = CIMultiDict(headers) if headers else CIMultiDict()
        self._status, self._reason, self._body = status, REASONS[status], body

    @property
    def size(self) -> int | None:
        """Bytes of the body; the same as `content_length`, which takes a dozen times as long."""
        body = self._body
        if self._chunked or hdrs.CONTENT_LENGTH in self._headers or not isinstance(body, bytes | None):
            return self.content_length
        return 0 if body is None else len(body)

    async def _start(self, request: web.BaseRequest) -> AbstractStreamWriter:
        writer = request.writer
        self._req, self._payload_writer = request, writer
        if self._keep_alive is None:
            self._keep_alive = request.keep_alive
        headers, length, version = self._headers, self._length(), request.version
        if length is not None:
            headers[hdrs.CONTENT_LENGTH] = str(length)
        await request._prepare_hook(self)
        if hdrs.CONNECTION not in headers:
            if not self._keep_alive:
                headers[hdrs.CONNECTION] = "close"
            elif version < HttpVersion11:
                headers[hdrs.CONNECTION] = "keep-alive"
        if self.says_empty:
            headers[hdrs.CONTENT_LENGTH] = "0"
        status_line = f"HTTP/{version.major}.{version.minor} {self._status} {self._reason}"
        await writer.write_headers(status_line, headers)
        return writer

    async def write_eof(self, data: bytes = b"") -> None:
        writer, body = self._payload_writer, self._body
        if self._eof_sent or writer is None or not (body is None or isinstance(body, bytes)):
            await super().write_eof(data)
            return
        if body and not self._must_be_empty_body:
            await writer.write_eof(body)
        else:
            writer.send_headers()
            if self._req is not None and self._req.protocol.writing_paused:
                await writer.drain()
        self._eof_sent, self._req, self._payload_writer = True, None, None

    def _length(self) -> int | None:
        """Return the value of Content-Length, None for no header; the answer to HEAD has that of GET, if any."""
        if self._status in (204, 304):
            return None
        body = self._body
        size = len(body) if isinstance(body, bytes) else 0
        return None if self._must_be_empty_body and not size else size


class EmptyWithLength(Reply):
    """A 204 with `Content-Length: 0`."""

    says_empty = True


class Delivered(Reply):
    """A 200 that calls `delivered` once its body was written completely to an open connection."""

    def __init__(
        self,
        body: str,
        content_type: str,
        headers: Mapping[str, str],
        delivered: Callable[[], Awaitable[object]],
    ) -> None:
        super().__init__(body=body.encode(), headers={hdrs.CONTENT_TYPE: content_type, **headers})
        self._delivered = delivered

    async def write_eof(self, data: bytes = b"") -> None:
        request = self._req
        await super().write_eof(data)  # which raises where the connection has ended
        if request is None or request.method == hdrs.METH_HEAD:
            return
        if request.transport is not None and not request.transport.is_closing():
            await self._delivered()


class Download(web.StreamResponse):
    """The body of a content item, framed as `wire.download_framing` says.

    A client of HTTP/1.0 does not understand chunks, so it gets a length (RFC 9112 6.1).
    """

    def __init__(self, status: int, framing: str, size: int, headers: Mapping[str, str]) -> None:
        super().__init__(status=status, headers=headers)
        self._size = size
        self._framing = framing
        self._breaks_off = False

    @property
    def size(self) -> int:
        """Bytes of the body, whatever the framing."""
        return self._size

    def break_off(self) -> None:
        """Send half of the body alone, and cut the connection there."""
        self._breaks_off = True

    async def _prepare_headers(self) -> None:
        await super()._prepare_headers()
        if self._framing == "both":
            self.headers[hdrs.CONTENT_LENGTH] = str(self._size)
        if self.chunked:
            self.headers[hdrs.TRANSFER_ENCODING] = "chunked"  # aiohttp leaves it out for HEAD

    # The head waits for the first piece, and leaves with it in one write; aiohttp offers no public way.
    _send_headers_immediately = False

    async def send(self, request: web.BaseRequest, pieces: AsyncIterator[bytes]) -> Download:
        """Send the head and, unless it is a HEAD request, the pieces of the body; the end with the last one."""
        if self._framing == "length" or request.version < HttpVersion11:
            self.content_length = self._size
        else:
            self.enable_chunked_encoding()
        if request.method == hdrs.METH_HEAD:
            await self.prepare(request)
            await self.write_eof()
            return self
        piece = await anext(pieces, b"")  # an error here can still be answered
        await self.prepare(request)
        if self._breaks_off:
            await self._send_half(piece, pieces)
            if request.transport is not None:
                request.transport.close()  # the written part is still sent
            raise ConnectionCut("a fault, inside the answer")
        left = self._size - len(piece)
        while left:
            await self.write(piece)
            piece = await anext(pieces)
            left -= len(piece)
        await self.write_eof(piece)
        return self

    async def _send_half(self, piece: bytes, pieces: AsyncIterator[bytes]) -> None:
        left = self._size // 2
        while left > len(piece):
            await self.write(piece)
            left -= len(piece)
            piece = await anext(pieces)
        if left:
            await self.write(piece[:left])
