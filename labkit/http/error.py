"""Errors that answer a request: with an error status, or by the end of its connection."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import hdrs, web


class ConnectionCut(ConnectionError):
    """Exception by which a site ends the connection without an answer. Its text is the reason."""


class CutResponse(web.Response):
    """Response that declares its full length, sends only half of its body, and ends the connection."""

    async def write_eof(self, data: bytes = b"") -> None:
        request, body = self._req, self.body
        if request is None or request.transport is None:
            return
        if isinstance(body, bytes | bytearray) and request.method != hdrs.METH_HEAD and len(body) > 1:
            await self.write(bytes(body[: len(body) // 2]))
        request.transport.close()

    @classmethod
    def from_response(cls, response: web.Response) -> CutResponse:
        """Return a truncated response, to send instead of `response`."""
        headers = {name: value for name, value in response.headers.items() if name != hdrs.CONTENT_LENGTH}
        body = response.body if isinstance(response.body, bytes | bytearray) else b""
        return cls(status=response.status, body=bytes(body), headers=headers)


class HttpError(Exception):
    """Exception by which a request is refused with a status, a short reason and further headers.

    The header `Connection: close` ends the connection after the answer.
    """

    def __init__(self, status: int, reason: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.headers = dict(headers or {})

    @property
    def closes(self) -> bool:
        """Whether the connection ends after the answer."""
        return self.headers.get("Connection") == "close"
