"""Connections that end without an answer, or inside one."""

from __future__ import annotations

from aiohttp import hdrs, web


class ConnectionCut(ConnectionError):
    """A request gets no answer: the edge ends its connection. Raised by a site; the text says why."""


class CutResponse(web.Response):
    """Says how long it is, sends the first half of its body, and ends the connection."""

    async def write_eof(self, data: bytes = b"") -> None:
        request, body = self._req, self.body
        if request is None or request.transport is None:
            return
        if isinstance(body, bytes | bytearray) and request.method != hdrs.METH_HEAD and len(body) > 1:
            await self.write(bytes(body[: len(body) // 2]))
        request.transport.close()

    @classmethod
    def of(cls, response: web.Response) -> CutResponse:
        """A response that breaks off, instead of one that has not left yet."""
        headers = {name: value for name, value in response.headers.items() if name != hdrs.CONTENT_LENGTH}
        body = response.body if isinstance(response.body, bytes | bytearray) else b""
        return cls(status=response.status, body=bytes(body), headers=headers)
