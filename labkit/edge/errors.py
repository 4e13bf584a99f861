"""What can be wrong with a request that the edge reads."""

from __future__ import annotations

from aiohttp.http_exceptions import BadHttpMessage


class BodyLateError(TimeoutError):
    """The body of a request was not there in time. Raised in whoever reads it."""


class WrongHostError(BadHttpMessage):
    """What cannot be read is not meant for this connection's host either, as far as one can tell."""
