"""Request class that handlers receive."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

from aiohttp import hdrs, web
from aiohttp.http import SERVER_SOFTWARE, HttpVersion10
from aiohttp.http_writer import StreamWriter
from aiohttp.streams import EMPTY_PAYLOAD, EmptyStreamReader, StreamReader

from labkit.http.head import RequestHead
from labkit.http.reply import SERVER


class WholeBody(EmptyStreamReader):
    """Body that has arrived completely: no flow to control, nothing to wait for."""

    __slots__ = ("_body",)

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self._body = body

    def at_eof(self) -> bool:
        return not self._body

    def read_nowait(self, n: int = -1) -> bytes:
        body = self._body
        taken, self._body = (body, b"") if n < 0 else (body[:n], body[n:])
        return taken

    async def read(self, n: int = -1) -> bytes:
        return self.read_nowait(n)

    async def readany(self) -> bytes:
        return self.read_nowait()


class SiteRequest(web.BaseRequest):
    """Request that sends `100 Continue` when its body is first asked for (RFC 9110 10.1.1).

    head: its parsed head. whole: its body, where all of it is known. expecting: whether the client waits for
    `100 Continue` before it sends the body. date: returns the HTTP-date for its response. input_wait: context manager
    for the time in which a handler waits for the rest of the body.

    The listener deletes the attributes that it has no value for; a cached property makes the value when it is read.
    """

    ATTRS = web.BaseRequest.ATTRS | frozenset(["date", "expecting", "head", "input_wait", "whole"])
    whole: bytes | None = None
    expecting = False
    date: Callable[[], str] | None = None
    input_wait: Callable[[], AbstractContextManager[None]] = nullcontext

    @cached_property
    def head(self) -> RequestHead:
        return RequestHead(self._message)

    @cached_property
    def _payload_writer(self) -> StreamWriter:  # type: ignore[override]  # most answers need none
        return StreamWriter(self._protocol, self._loop)

    @cached_property
    def _payload(self) -> StreamReader:  # type: ignore[override]  # of a whole body
        return WholeBody(self.whole) if self.whole else EMPTY_PAYLOAD

    @property
    def content(self) -> StreamReader:
        self._request_body()
        return self._payload

    def clone(self, **changed: Any) -> SiteRequest:
        """Return a copy with changes, as aiohttp's `clone` does."""
        cloned = super().clone(**changed)
        assert isinstance(cloned, SiteRequest)
        cloned.date, cloned.expecting, cloned.whole = self.date, self.expecting, self.whole
        cloned.input_wait = self.input_wait
        return cloned

    async def read(self) -> bytes:
        self._request_body()
        if self.whole is not None or self._payload.is_eof():
            return await super().read()
        with self.input_wait():
            return await super().read()

    def is_foreign(self) -> bool:
        """Return whether the version is not HTTP/1 (aiohttp's parsers accept 0.9 and 2.0).

        The answer is HTTP/1.0 then.
        """
        if self._version.major == 1:
            return False
        self._version = HttpVersion10
        return True

    def _request_body(self) -> None:
        """Send `100 Continue` if the client waits for it."""
        if self.expecting:
            self.expecting = False
            if self.transport is not None and not self._payload.is_eof():
                self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    async def _prepare_hook(self, response: web.StreamResponse) -> None:
        """Set the date and the server's name; called by aiohttp once a response's headers are made."""
        headers = response.headers
        if self.date is not None:
            headers[hdrs.DATE] = self.date()
        if headers.get(hdrs.SERVER, SERVER_SOFTWARE) == SERVER_SOFTWARE:  # which names versions
            headers[hdrs.SERVER] = SERVER
