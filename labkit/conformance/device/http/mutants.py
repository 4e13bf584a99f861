"""Faults of forms, refusals, paths and methods."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote_plus

from aiohttp import web

from labkit.conformance.mutant import mutant
from labkit.device_api.exchange import Exchange
from labkit.device_api.wire import Download, nothing
from labkit.http.error import HttpError

ENDPOINT = "labkit.device_api.api:ProductSite.answer"
EXPECT_TYPE = "labkit.device_api.exchange:Exchange.expect_type"
DECODE = "labkit.device_api.forms:decode"
REFUSAL = "labkit.device_api.exchange:HttpError.__init__"


@mutant("DEV-HTTP-1", EXPECT_TYPE)
def no_charset(original: Any) -> Any:
    """a charset in Content-Type is refused"""

    def broken(exchange: Exchange, expected: str) -> None:
        if "charset" in exchange.request.headers.get("Content-Type", ""):
            raise HttpError(415, "Content-Type with a charset")
        original(exchange, expected)

    return broken


@mutant("DEV-HTTP-1 DEV-HTTP-2", "labkit.device_api.forms:parse_body")
def latin_1(original: Any) -> Any:
    """the bytes of a body are taken as ISO 8859-1"""
    return lambda body: original(body.decode("latin-1").encode())


@mutant("DEV-HTTP-2", EXPECT_TYPE)
def charset_wanted(original: Any) -> Any:
    """Content-Type has to be there, with a charset"""

    def broken(exchange: Exchange, expected: str) -> None:
        if "charset" not in exchange.request.headers.get("Content-Type", ""):
            raise HttpError(415, "Content-Type without a charset")
        original(exchange, expected)

    return broken


@mutant("DEV-HTTP-3", EXPECT_TYPE)
def any_content_type(original: Any) -> Any:
    """whatever comes is taken as a form"""
    return lambda exchange, expected: None


@mutant("DEV-HTTP-4", DECODE)
def lenient(original: Any) -> Any:
    """a wrong percent-escape stands for itself"""
    return unquote_plus


@mutant("DEV-HTTP-4", "labkit.device_api.forms:parse_body")
def replaced(original: Any) -> Any:
    """bytes that are not UTF-8 are replaced by a mark"""
    return lambda body: original(body.decode(errors="replace").encode())


@mutant("DEV-HTTP-5", REFUSAL)
def server_error(original: Any) -> Any:
    """a request without a value that it needs is answered 500"""

    def broken(refusal: HttpError, status: int, *args: Any) -> None:
        original(refusal, 500 if status == 400 else status, *args)

    return broken


@mutant("DEV-HTTP-5", REFUSAL)
def success(original: Any) -> Any:
    """what is not found is answered 200"""

    def broken(refusal: HttpError, status: int, *args: Any) -> None:
        original(refusal, 200 if status == 404 else status, *args)

    return broken


@mutant("DEV-HTTP-6", REFUSAL)
def traceback(original: Any) -> Any:
    """the reason of a refusal is a traceback"""

    def broken(refusal: HttpError, status: int, reason: str, *args: Any) -> None:
        original(refusal, status, f'Traceback: File "{__file__}": {reason}', *args)

    return broken


@mutant("DEV-HTTP-6", REFUSAL)
def no_reason(original: Any) -> Any:
    """a refusal has no reason"""

    def broken(refusal: HttpError, status: int, reason: str, *args: Any) -> None:
        original(refusal, status, "", *args)

    return broken


@mutant("DEV-HTTP-7", ENDPOINT)
def any_version(original: Any) -> Any:
    """the version in a path is not looked at"""

    async def broken(api: Any, exchange: Exchange) -> web.StreamResponse:
        exchange.path = exchange.path.replace("onep:v2", "onep:v1")
        response: web.StreamResponse = await original(api, exchange)
        return response

    return broken


@mutant("DEV-HTTP-8", ENDPOINT)
def not_found(original: Any) -> Any:
    """a wrong method is answered 404"""
    return _instead_of_405(original, lambda refusal: HttpError(404, "not found"))


@mutant("DEV-HTTP-8", ENDPOINT)
def no_allow(original: Any) -> Any:
    """a 405 has no Allow"""
    return _instead_of_405(original, lambda refusal: HttpError(405, refusal.reason))


def _instead_of_405(original: Any, refuse: Any) -> Any:
    async def broken(api: Any, exchange: Exchange) -> web.StreamResponse:
        try:
            response: web.StreamResponse = await original(api, exchange)
        except HttpError as refusal:
            raise (refuse(refusal) if refusal.status == 405 else refusal) from None
        return response

    return broken


@mutant("DEV-HTTP-9", ENDPOINT)
def no_head(original: Any) -> Any:
    """HEAD is no method"""
    return _without_method(original, "HEAD")


@mutant("DEV-HTTP-9", "labkit.device_api.wire:Download.send")
def head_without_framing(original: Any) -> Any:
    """HEAD of a download does not show how its body would be framed"""

    async def broken(self: Download, request: web.BaseRequest, pieces: Any) -> web.StreamResponse:
        download = (
            self if request.method != "HEAD" else Download(self.status, "length", self.size, self.headers)
        )
        response: web.StreamResponse = await original(download, request, pieces)
        return response

    return broken


@mutant("DEV-HTTP-10", ENDPOINT)
def no_options(original: Any) -> Any:
    """OPTIONS is no method"""
    return _without_method(original, "OPTIONS")


def _without_method(original: Any, method: str) -> Any:
    async def broken(api: Any, exchange: Exchange) -> web.StreamResponse:
        if exchange.request.method == method:
            raise HttpError(405, "wrong method for this path", {"Allow": "GET, POST"})
        response: web.StreamResponse = await original(api, exchange)
        return response

    return broken


@mutant("DEV-HTTP-10", ENDPOINT)
def options_without_allow(original: Any) -> Any:
    """OPTIONS does not say what is allowed"""

    async def broken(api: Any, exchange: Exchange) -> web.StreamResponse:
        if exchange.request.method == "OPTIONS":
            return nothing(exchange.context.wire)
        response: web.StreamResponse = await original(api, exchange)
        return response

    return broken


@mutant("DEV-HTTP-11", ENDPOINT)
def not_acceptable(original: Any) -> Any:
    """what Accept does not name is answered 406"""

    async def broken(api: Any, exchange: Exchange) -> web.StreamResponse:
        if exchange.request.headers.get("Accept") == "application/json":
            raise HttpError(406, "not acceptable")
        response: web.StreamResponse = await original(api, exchange)
        return response

    return broken


@mutant("DEV-HTTP-12", "labkit.device_api.long_poll:timestamp")
def unguarded_date(original: Any) -> Any:
    """what If-Modified-Since holds is taken for a number"""
    return int


@mutant("DEV-HTTP-12", "labkit.device_api.wire:Download.send")
def chunks_for_all(original: Any) -> Any:
    """a download of HTTP/1.0 fails"""

    async def broken(response: Any, request: Any, pieces: Any) -> Any:
        if request.version < (1, 1):
            raise RuntimeError("no chunks in HTTP/1.0")
        return await original(response, request, pieces)

    return broken


@mutant("DEV-HTTP-13", ENDPOINT)
def next_version(original: Any) -> Any:
    """the data paths are found below another version"""

    async def broken(api: Any, exchange: Exchange) -> web.StreamResponse:
        exchange.path = exchange.path.replace("onep:v1", "onep:v0")
        response: web.StreamResponse = await original(api, exchange)
        return response

    return broken


@mutant("DEV-HTTP-14", "labkit.edge.limits:explain")
def always_400(original: Any) -> Any:
    """whatever cannot be read is answered 400"""
    return lambda error, head: (400, "malformed request")


@mutant("DEV-HTTP-14", "labkit.edge.limits:refusal")
def any_coding(original: Any) -> Any:
    """bodies are taken in whatever coding"""
    return lambda headers: None


@mutant("DEV-HTTP-15", "labkit.device_api.wire:nothing")
def body_of_nothing(original: Any) -> Any:
    """a 204 is followed by a body"""
    return lambda wire, status=204, headers=None: (
        Talkative(status=status, headers=headers) if status == 204 else original(wire, status, headers)
    )


@mutant("DEV-HTTP-15", "labkit.device_api.wire:nothing")
def body_of_not_modified(original: Any) -> Any:
    """a 304 is followed by a body"""
    return lambda wire, status=204, headers=None: (
        Talkative(status=status, headers=headers) if status == 304 else original(wire, status, headers)
    )


class Talkative(web.Response):
    """Says more than its head allows, which aiohttp would not let through."""

    async def write_eof(self, data: bytes = b"") -> None:
        request = self._req
        await super().write_eof(data)
        assert request is not None
        assert request.transport is not None
        request.transport.write(b"done")
