"""Answers to control requests: JSON, and streams of server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web

from labkit.control.over_http.operations import ControlOperation

PIECE = 256 * 1024  # bytes of an answer that are sent at once
NO_STORE = {"Cache-Control": "no-store"}  # results have secrets


async def send_json(request: web.BaseRequest, body: bytes, status: int = 200) -> web.StreamResponse:
    """Send an answer, a large one in pieces, at the pace of its reader."""
    if len(body) <= PIECE:
        return web.Response(status=status, body=body, content_type="application/json", headers=NO_STORE)
    response = web.StreamResponse(status=status, headers={**NO_STORE, "Content-Type": "application/json"})
    response.content_length = len(body)
    await response.prepare(request)
    whole = memoryview(body)
    for begin in range(0, len(body), PIECE):
        await response.write(whole[begin : begin + PIECE])
    await response.write_eof()
    return response


async def send_stream(
    request: web.BaseRequest, operation: ControlOperation, items: AsyncIterator[Any]
) -> web.StreamResponse:
    """Send each item as an event, until the client or the lab ends the stream. The event's id counts from 1."""
    response = web.StreamResponse(headers={**NO_STORE, "Content-Type": "text/event-stream"})
    await response.prepare(request)
    number = 0
    async for item in items:
        number += 1
        data = operation.result.dump_json(item)  # on one line: JSON escapes the ends of lines
        await response.write(b"id: %d\ndata: %b\n\n" % (number, data))
    await response.write_eof()
    return response
