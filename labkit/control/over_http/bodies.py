"""Reader of request bodies, limited in size, in time, and in the number of values that they hold."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import hdrs, web

from labkit.control.over_http.problem import ControlProblem

MAX_BODY = 64 * 2**20
MAX_VALUES = 150_000  # in the JSON of a body: more would take too long to read
LARGE = 2**20  # bytes of which few bodies are read at once, and whose copy is made in a thread
PATIENCE = 30.0  # seconds without a byte, and for the whole body
SLOWEST = 64 * 1024  # bytes that add a second to that


async def read_body(request: web.BaseRequest, large: Callable[[], Awaitable[object]]) -> bytes:
    """Return the body of a request. Raises ControlProblem: 408 if it does not come, 413 if it is too large.

    large: awaited before more than LARGE bytes are read.
    """
    if (request.content_length or 0) > MAX_BODY:
        raise _too_large()
    if request.headers.get(hdrs.EXPECT, "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # it was no part of the answer
    loop = asyncio.get_running_loop()
    pieces, size, values, waited = [], 0, 0, 0.0
    while True:
        began = loop.time()
        try:
            left = PATIENCE + size / SLOWEST - waited
            piece = await asyncio.wait_for(request.content.readany(), min(PATIENCE, left))
        except TimeoutError:
            raise ControlProblem(
                408,
                f"the body did not continue within {PATIENCE:g} s, or is slower than {SLOWEST // 1024} KiB/s",
            ) from None
        except web.HTTPException:
            raise
        except (ValueError, web.RequestPayloadError) as error:
            raise ControlProblem(400, f"the body cannot be read: {error}") from None
        if not piece:
            break
        waited += loop.time() - began
        if size <= LARGE < size + len(piece):
            await large()
        size += len(piece)
        if size > MAX_BODY:
            raise _too_large()
        values += sum(map(piece.count, (b",", b"[", b"{")))  # of one piece: 64 MiB at once would take 0.1 s
        pieces.append(piece)
    if values > MAX_VALUES:
        raise ControlProblem(413, f"the body has more than {MAX_VALUES:,} values; send several smaller ones")
    return await asyncio.to_thread(b"".join, pieces) if size > LARGE else b"".join(pieces)


def _too_large() -> ControlProblem:
    return ControlProblem(413, f"the body is larger than {MAX_BODY // 2**20} MiB")
