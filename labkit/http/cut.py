"""Connections that end without an answer, or in the middle of one."""

from __future__ import annotations

from aiohttp import hdrs, web


class ConnectionCut(ConnectionError):
    """Raised by a site to end the connection without an answer; the text is the reason."""


class CutResponse(web.Response):
    """A response that declares its full length, sends the first half of its body, and ends the connection."""

    async def write_eof(self, data: bytes = b"") -> None:
        request, body = self._req, self.body
        if request is None or request.transport is None:
            return
        if isinstance(body, bytes | bytearray) and request.method != hdrs.METH_HEAD and len(body) > 1:
            await self.write(bytes(body[: len(body) // 2]))
        request.transport.close()

    @classmethod
    def from_response(cls, response: web.Response) -> CutResponse:
        """Return a response that breaks off, in place of one that has not been sent."""
        headers = {name: value for name, value in response.headers.items() if name != hdrs.CONTENT_LENGTH}
        body = response.body if isinstance(response.body, bytes | bytearray) else b""
        return cls(status=response.status, body=bytes(body), headers=headers)
