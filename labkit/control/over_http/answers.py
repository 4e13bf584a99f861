"""Answers to control requests: JSON, and streams of server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiohttp import web

from labkit.control.following import Missed, Stream
from labkit.control.over_http.operations import ControlOperation

QUIET = 15.0  # seconds without an event, after which a comment is sent
COMMENT = b":\n\n"
PIECE = 256 * 1024  # bytes of an answer that are sent at once
NO_STORE = {"Cache-Control": "no-store"}  # results have secrets


async def send_json(
    request: web.BaseRequest, body: bytes, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.StreamResponse:
    """Send an answer, a large one in pieces, at the pace of its reader."""
    sent = {**NO_STORE, "Content-Type": "application/json", **(headers or {})}
    if len(body) <= PIECE:
        return web.Response(status=status, body=body, headers=sent)
    response = web.StreamResponse(status=status, headers=sent)
    response.content_length = len(body)
    await response.prepare(request)
    whole = memoryview(body)
    for begin in range(0, len(body), PIECE):
        await response.write(whole[begin : begin + PIECE])
    await response.write_eof()
    return response


async def send_stream(
    request: web.BaseRequest, operation: ControlOperation, items: Stream
) -> web.StreamResponse:
    """Send each item as an event, until the client or the lab ends the stream. The event's id counts from 1."""
    response = web.StreamResponse(headers={**NO_STORE, "Content-Type": "text/event-stream"})
    number = 0
    try:
        await response.prepare(request)
        await response.write(COMMENT)  # the client knows that it misses nothing from here on
        while True:
            try:
                item = await asyncio.wait_for(anext(items), QUIET)
            except StopAsyncIteration:
                break
            except TimeoutError:
                await response.write(COMMENT)  # or it would not be noticed that the client has gone
                continue
            number += 1
            kind = b"event: missed\n" if isinstance(item, Missed) else b""
            data = operation.result.dump_json(item)  # on one line: JSON escapes the ends of lines
            await response.write(b"id: %d\n%bdata: %b\n\n" % (number, kind, data))
        await response.write_eof()
        return response
    finally:
        await items.aclose()
