"""Faults of what a request may measure and how long it may take."""

from __future__ import annotations

from collections import Counter
from typing import Any

from aiohttp import web

from labkit.conformance.mutant import mutant
from labkit.device_api.exchange import Exchange
from labkit.edge import limits
from labkit.http.error import HttpError

BODY = "labkit.device_api.exchange:Exchange.body"


@mutant("DEV-LIM-1", BODY)
def one_byte_less(original: Any) -> Any:
    """a body of exactly 64 KiB is refused"""

    async def broken(exchange: Exchange) -> bytes:
        body: bytes = await original(exchange)
        if len(body) >= 65536:
            raise HttpError(413, "the body is too large")
        return body

    return broken


@mutant("DEV-LIM-1", BODY)
def no_limit(original: Any) -> Any:
    """a body may have any size"""
    return lambda exchange: exchange.request.read()


@mutant("DEV-LIM-2", "labkit.edge.protocol:EdgeProtocol.__init__")
def heads_of_any_size(original: Any) -> Any:
    """a header may have any size"""

    def broken(protocol: Any, *args: Any, **options: Any) -> None:
        limits.LINE = limits.HEAD = limits.FIELDS = 100_000_000
        original(protocol, *args, **options)

    return broken


@mutant("DEV-LIM-2", "labkit.edge.limits:plain")
def internal_error(original: Any) -> Any:
    """a header that is too long is answered 500"""
    return lambda status, text: original(500 if status == 431 else status, text)


@mutant("DEV-LIM-3", "labkit.edge.protocol:EdgeProtocol.await_head")
def waits_for_ever(original: Any) -> Any:
    """a connection that stops in its header is kept"""
    return lambda protocol: None


@mutant("DEV-LIM-4", "labkit.device_api.api:ProductSite.answer")
def hundred_requests(original: Any) -> Any:
    """after a hundred requests of a connection there is a 429"""
    served: Counter[int] = Counter()

    async def broken(api: Any, exchange: Exchange) -> web.StreamResponse:
        served[id(exchange.connection)] += 1
        if served[id(exchange.connection)] > 100:
            raise HttpError(429, "too many requests")
        response: web.StreamResponse = await original(api, exchange)
        return response

    return broken
