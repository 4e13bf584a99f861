"""Request class that handlers receive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiohttp import hdrs, web
from aiohttp.http import SERVER_SOFTWARE, HttpVersion10
from aiohttp.streams import StreamReader

from labkit.http.known import KnownHead

SERVER = "labkit"


class EdgeRequest(web.BaseRequest):
    """Sends `100 Continue` when its body is first asked for (RFC 9110 10.1.1).

    expecting: the client holds the body back until then. date: the HTTP-date for its response. known: what was made of
    its head; a clone, whose head may be another, has none.
    """

    ATTRS = web.BaseRequest.ATTRS | frozenset(["date", "expecting", "known"])
    expecting = False
    date: Callable[[], str] | None = None  # of an answer that is sent now
    known: KnownHead | None = None

    def get(self, key: Any, default: Any = None) -> Any:
        """As a mapping's own, which would have what is missing raise KeyError."""
        return self._state.get(key, default)

    @property
    def content(self) -> StreamReader:
        self._go_on()
        return self._payload

    def clone(self, **changed: Any) -> EdgeRequest:
        """Return a copy with changes, as aiohttp's `clone` does."""
        cloned = super().clone(**changed)
        assert isinstance(cloned, EdgeRequest)
        cloned.date, cloned.expecting = self.date, self.expecting
        return cloned

    async def read(self) -> bytes:
        self._go_on()
        return await super().read()

    def is_foreign(self) -> bool:
        """Whether the version is not HTTP/1 (aiohttp's parsers accept 0.9 and 2.0); the answer is then HTTP/1.0."""
        if self._version.major == 1:
            return False
        self._version = HttpVersion10
        return True

    def _go_on(self) -> None:
        if self.expecting:
            self.expecting = False
            if self.transport is not None and not self._payload.is_eof():
                self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    async def _prepare_hook(self, response: web.StreamResponse) -> None:
        """Called by aiohttp once a response's headers are made."""
        headers = response.headers
        if self.date is not None:
            headers[hdrs.DATE] = self.date()
        if headers.get(hdrs.SERVER, SERVER_SOFTWARE) == SERVER_SOFTWARE:  # which names versions
            headers[hdrs.SERVER] = SERVER
