"""Reading the body of a request, bounded in size and in real time."""

from __future__ import annotations

import asyncio

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMessage

from labkit.core.errors import LabkitError


class BodyError(LabkitError):
    """The body cannot be had. status: 400, 408 or 413; the connection cannot be used again."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


async def read_body(request: web.BaseRequest, limit: int, guard: float) -> bytes:
    """The whole body. limit: bytes; guard: seconds that it may take to arrive.

    Raises BodyError: 413 beyond the limit, 408 when it does not arrive in time, 400 when it breaks off.
    """
    if (request.content_length or 0) > limit:
        raise BodyError(413, f"the body is larger than {limit} bytes")
    if not request.can_read_body:
        return b""
    pieces: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(guard):
            while piece := await request.content.readany():
                size += len(piece)
                if size > limit:
                    raise BodyError(413, f"the body is larger than {limit} bytes")
                pieces.append(piece)
    except TimeoutError:
        raise BodyError(408, "the body did not arrive in time") from None
    except (web.RequestPayloadError, BadHttpMessage, ValueError):
        # aiohttp's parser in Python raises the second where the one in C raises the first.
        raise BodyError(400, "the body is malformed") from None
    return b"".join(pieces)
