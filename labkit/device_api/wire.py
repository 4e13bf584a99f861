"""Answers of the device API on the wire, with every departure from the HTTP library's own framing.

- A 204 carries `Content-Length: 0` where the profile says so (document 1, record, 4); RFC 9110 8.6 would not.
- A download may carry Content-Length and Transfer-Encoding: chunked together (document 1, download; RFC 9112
  6.1 forbids it, the real platform does it). The body is truly chunked then.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from aiohttp import hdrs, web
from aiohttp.http import HttpVersion11

from labkit.http.error import ConnectionCut
from labkit.http.reply import Answer, Reply, ReplyResponse
from labkit.settings import Wire

TEXT = "text/plain; charset=utf-8"
FORM = "application/x-www-form-urlencoded; charset=utf-8"
CSV = "text/csv; charset=utf-8"
NO_CONTENT, NO_CONTENT_OF_LENGTH_0 = Reply(204), Reply(204, says_empty=True)


def reply(
    status: int, body: str, content_type: str = TEXT, headers: Mapping[str, str] | None = None
) -> Answer:
    """Return a short answer with a text. headers: further ones."""
    answer = Reply(status, body.encode(), content_type)
    return answer.response(headers) if headers else answer


def nothing(wire: Wire, status: int = 204, headers: Mapping[str, str] | None = None) -> Answer:
    """Return an answer without a body: 204, or 304. headers: further ones."""
    no_content = NO_CONTENT_OF_LENGTH_0 if wire.empty_length else NO_CONTENT
    answer = no_content if status == 204 else Reply(status)
    return answer.response(headers) if headers else answer


class Delivered(ReplyResponse):
    """Response with status 200 that calls `delivered` once its body was written completely to an open connection."""

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
    """Response with the body of a content item, framed as `wire.download_framing` says.

    A client of HTTP/1.0 does not understand chunks, so it gets a length (RFC 9112 6.1).
    """

    def __init__(self, status: int, framing: str, size: int, headers: Mapping[str, str]) -> None:
        super().__init__(status=status, headers=headers)
        self._size = size
        self._framing = framing
        self._breaks_off = False

    @property
    def size(self) -> int:
        """Number of bytes of the body in any framing."""
        return self._size

    def break_off(self) -> None:
        """Send only half of the body, then end the connection."""
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
