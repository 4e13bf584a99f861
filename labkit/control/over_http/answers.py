"""Answers to control requests: JSON, and streams of server-sent events."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from aiohttp import web

from labkit.control.following import Followed, Missed, Stream
from labkit.fleet.transport import RESET
from labkit.labtime.inputs import Backlog

UNREAD = 30.0  # seconds for a piece of an answer to be read
QUIET = 15.0  # seconds without an event, after which a comment is sent
COMMENT = b":\n\n"
EVENTS = 100  # of a stream that are sent at once
PIECE = 256 * 1024  # bytes of an answer that are sent at once
NO_STORE = {"Cache-Control": "no-store"}  # results have secrets


async def send_json(
    request: web.BaseRequest, body: bytes, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.StreamResponse:
    """Send an answer, a large one in pieces, at the pace of its reader.

    Raises ConnectionAbortedError if the reader stops reading.
    """
    sent = {**NO_STORE, "Content-Type": "application/json", **(headers or {})}
    if len(body) <= PIECE:
        return web.Response(status=status, body=body, headers=sent)
    response = web.StreamResponse(status=status, headers=sent)
    response.content_length = len(body)
    await response.prepare(request)
    whole = memoryview(body)
    for begin in range(0, len(body), PIECE):
        try:
            async with asyncio.timeout(UNREAD):
                await response.write(whole[begin : begin + PIECE])
        except TimeoutError:
            if request.transport is not None:
                # without a reset the system would keep the unread bytes until the client ends
                connection = request.transport.get_extra_info("socket")
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                request.transport.abort()
            raise ConnectionAbortedError("the client does not read its answer") from None
    await response.write_eof()
    return response


async def send_stream(
    request: web.BaseRequest, items: Stream, encode: Callable[[Any], bytes], backlog: Backlog
) -> web.StreamResponse:
    """Send each item as an event, until the client or the lab ends the stream. The event's id counts from 1.

    encode: returns the JSON of an item; backlog: of all streams, which have their turns.
    """
    response = web.StreamResponse(headers={**NO_STORE, "Content-Type": "text/event-stream"})
    number = 0
    try:
        await response.prepare(request)
        await response.write(COMMENT)  # the client knows that it misses nothing from here on
        while True:
            try:
                async with asyncio.timeout(QUIET):
                    some = [await anext(items)]
            except StopAsyncIteration:
                break
            except TimeoutError:
                await response.write(COMMENT)  # or it would not be noticed that the client has gone
                continue
            await backlog.turn()
            if isinstance(items, Followed):
                some += islice(items.waiting(), EVENTS)
            events = b""
            for item in some:
                number += 1
                kind = b"event: missed\n" if isinstance(item, Missed) else b""
                # on one line: JSON escapes the ends of lines
                events += b"id: %d\n%bdata: %b\n\n" % (number, kind, encode(item))
            await response.write(events)
        await response.write_eof()
        return response
    finally:
        await items.aclose()
