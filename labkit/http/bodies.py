"""Reader of request bodies, with limits on size and real time."""

from __future__ import annotations

import asyncio

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMessage

from labkit.http.error import HttpError
from labkit.http.request import SiteRequest

CLOSE = {"Connection": "close"}  # for an answer before the whole body is read


async def read_body(request: SiteRequest, limit: int, guard: float) -> bytes:
    """Return the whole body of a request. limit: bytes; guard: real seconds in which it has to arrive.

    Raises HttpError: 413 beyond the limit, 408 if it does not arrive in time, 400 if it is malformed or incomplete.
    """
    whole = request.whole
    if whole is not None:
        if len(whole) > limit:
            raise HttpError(413, f"the body is larger than {limit} bytes", CLOSE)
        return whole
    if (request.content_length or 0) > limit:
        raise HttpError(413, f"the body is larger than {limit} bytes", CLOSE)
    if not request.can_read_body:
        return b""
    pieces: list[bytes] = []
    size = 0
    try:
        if request.content.is_eof():  # the usual case: the whole body has arrived
            whole = request.whole = request.content.read_nowait()
            if len(whole) > limit:
                raise HttpError(413, f"the body is larger than {limit} bytes", CLOSE)
            return whole
        with request.input_wait():
            async with asyncio.timeout(guard):
                while piece := await request.content.readany():
                    size += len(piece)
                    if size > limit:
                        raise HttpError(413, f"the body is larger than {limit} bytes", CLOSE)
                    pieces.append(piece)
    except TimeoutError:
        raise HttpError(408, "the body did not arrive in time", CLOSE) from None
    except (web.RequestPayloadError, BadHttpMessage, ValueError):
        # aiohttp's Python parser raises BadHttpMessage where its C parser raises RequestPayloadError.
        raise HttpError(400, "the body is malformed", CLOSE) from None
    request.whole = b"".join(pieces)
    return request.whole
