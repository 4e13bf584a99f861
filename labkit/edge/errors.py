"""Errors of requests that the edge reads."""

from __future__ import annotations

from aiohttp.http_exceptions import BadHttpMessage


class BodyLateError(TimeoutError):
    """Timeout of a request's body. Raised in the reader of the body."""


class WrongHostError(BadHttpMessage):
    """Malformed request that, as far as it can be read, is not for this connection's host either."""
