"""Parsed heads of requests, with results that are kept while the same head arrives again."""

from __future__ import annotations

from typing import Any
from wsgiref.handlers import format_date_time

from aiohttp import hdrs
from aiohttp.http import HttpVersion11
from aiohttp.http_parser import RawRequestMessage


class HttpDate:
    """Formatter of HTTP-dates. The last date is cached, since most requests of a second need the same."""

    def __init__(self) -> None:
        self._second = -1
        self._text = ""

    def format(self, second: int) -> str:
        """Return `second` (Unix) as an HTTP-date in GMT (RFC 9110 5.6.7)."""
        if second != self._second:
            self._second, self._text = second, format_date_time(second)
        return self._text


class RequestHead:
    """Parsed head of a request, and what was derived from it.

    A head that arrives again over its connection is the same object. So the results depend on the head alone, or are
    stored with what else they depend on; all but `message` and `keeps_open` are None or False until they are known.

    message: the head as aiohttp parsed it. keeps_open: whether the answer is sent in HTTP/1.1, with a body, and the
    connection stays open after it. host: its Host header, once the listener found that it is the connection's host
    and that the head needs no other handling by the listener.

    Of the device API: target: the decoded path, and the query as it was sent; aliases: those in the query;
    credential: settings of the product that looked for one, and the credential that it found; is_form: whether the
    body may be a form.
    """

    __slots__ = ("aliases", "credential", "host", "is_form", "keeps_open", "message", "target")

    def __init__(self, message: RawRequestMessage) -> None:
        self.message = message
        self.keeps_open = (
            message.version == HttpVersion11 and not message.should_close and message.method != hdrs.METH_HEAD
        )
        self.host: str | None = None
        self.target: tuple[str, str] | None = None
        self.aliases: tuple[str, ...] | None = None
        self.credential: tuple[object, Any] | None = None
        self.is_form = False

    def __str__(self) -> str:
        return f"{self.message.method} {self.message.path.partition('?')[0]}"
