"""Short answers that are known completely before they are sent."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from aiohttp import hdrs, web

SERVER = "labkit"
REASONS = {status.value: status.phrase for status in HTTPStatus}
WITHOUT_BODY = (204, 304)


class Reply:
    """Answer of a status and a text, or without a body; immutable.

    Over a connection that stays open it is sent as one bytes object, without the work of an aiohttp response. Where
    something else is needed (HEAD, HTTP/1.0, the end of the connection, a fault that changes it), `response` returns
    such a response with the same meaning.

    size: bytes of the body. says_empty: send `Content-Length: 0` with a status that has no length by itself.
    """

    __slots__ = ("body", "content_type", "says_empty", "size", "status")

    def __init__(
        self, status: int, body: bytes = b"", content_type: str = "", *, says_empty: bool = False
    ) -> None:
        self.status = status
        self.body = body
        self.size = len(body)
        self.content_type = content_type
        self.says_empty = says_empty

    def encode(self, date: str) -> bytes:
        """Return head and body, as HTTP/1.1 on a connection that stays open. date: now, as an HTTP-date."""
        status = self.status
        type = f"Content-Type: {self.content_type}\r\n" if self.content_type else ""
        length = "" if status in WITHOUT_BODY else f"Content-Length: {self.size}\r\n"
        empty = "Content-Length: 0\r\n" if self.says_empty else ""
        return (
            f"HTTP/1.1 {status} {REASONS.get(status, '')}\r\n"
            f"{type}{length}Date: {date}\r\nServer: {SERVER}\r\n{empty}\r\n".encode()
            + self.body
        )

    def response(self, headers: Mapping[str, str] | None = None) -> ReplyResponse:
        """Return an aiohttp response, which can be changed and sent in any way. headers: further ones."""
        all_headers = dict(headers or {})
        if self.content_type:
            all_headers = {hdrs.CONTENT_TYPE: self.content_type, **all_headers}
        response = ReplyResponse(
            status=self.status,
            body=None if self.status in WITHOUT_BODY else self.body,
            headers=all_headers,
        )
        response.says_empty = self.says_empty
        return response


class ReplyResponse(web.Response):
    """Response with the head that a `Reply` has."""

    says_empty = False

    async def _prepare_headers(self) -> None:
        has_type = hdrs.CONTENT_TYPE in self.headers
        await super()._prepare_headers()
        if not has_type:  # a fault has removed it: aiohttp sets one of its own
            self.headers.popall(hdrs.CONTENT_TYPE, None)
        if not self._keep_alive:
            self.headers.setdefault(hdrs.CONNECTION, "close")  # aiohttp does not say it in HTTP/1.0
        if self.says_empty:
            self.headers[hdrs.CONTENT_LENGTH] = "0"


Answer = web.StreamResponse | Reply


def as_response(answer: Answer) -> web.StreamResponse:
    """Return an answer in a form that can be changed."""
    return answer.response() if isinstance(answer, Reply) else answer
