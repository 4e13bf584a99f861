"""Reading the body of a request, bounded in size and in real time."""

from __future__ import annotations

import asyncio

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMessage

from labkit.http.error import HttpError

BODY = web.RequestKey("BODY", bytes)  # under which a request keeps a body that was read before
CLOSE = {"Connection": "close"}  # what is left of the body is not read


async def read_body(request: web.BaseRequest, limit: int, guard: float) -> bytes:
    """The whole body. limit: bytes; guard: seconds that it may take to arrive.

    Raises HttpError: 413 beyond the limit, 408 when it does not arrive in time, 400 when it breaks off.
    """
    kept: bytes | None = request.get(BODY)
    if kept is not None:
        if len(kept) > limit:
            raise HttpError(413, f"the body is larger than {limit} bytes", CLOSE)
        return kept
    if (request.content_length or 0) > limit:
        raise HttpError(413, f"the body is larger than {limit} bytes", CLOSE)
    if not request.can_read_body:
        return b""
    pieces: list[bytes] = []
    size = 0
    try:
        if request.content.is_eof():  # all of it is here, as nearly always: nothing to wait for
            whole = request.content.read_nowait()
            if len(whole) > limit:
                raise HttpError(413, f"the body is larger than {limit} bytes", CLOSE)
            return whole
        async with asyncio.timeout(guard):
            while piece := await request.content.readany():
                size += len(piece)
                if size > limit:
                    raise HttpError(413, f"the body is larger than {limit} bytes", CLOSE)
                pieces.append(piece)
    except TimeoutError:
        raise HttpError(408, "the body did not arrive in time", CLOSE) from None
    except (web.RequestPayloadError, BadHttpMessage, ValueError):
        # aiohttp's parser in Python raises the second where the one in C raises the first.
        raise HttpError(400, "the body is malformed", CLOSE) from None
    return b"".join(pieces)
