"""Sequential handling of a connection's requests in one task, in place of aiohttp's own loop.

aiohttp starts a task for each request, which costs two iterations of the loop; here the task of the connection handles
them all. What runs code of others in it (`solutions.functions`) gives that a task of its own.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMessage
from aiohttp.http_parser import RawRequestMessage
from aiohttp.http_writer import StreamWriter
from aiohttp.streams import EMPTY_PAYLOAD, EmptyStreamReader, StreamReader
from aiohttp.web_protocol import ERROR, _ErrInfo

from labkit.context import Context
from labkit.edge import limits
from labkit.edge.errors import BodyLateError, WrongHostError
from labkit.http.connection import Connection


class WholeBody(EmptyStreamReader):
    """Body that has arrived completely: no flow to control, nothing to wait for."""

    __slots__ = ("_body",)

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self._body = body

    def at_eof(self) -> bool:
        return not self._body

    def read_nowait(self, n: int = -1) -> bytes:
        body = self._body
        taken, self._body = (body, b"") if n < 0 else (body[:n], body[n:])
        return taken

    async def read(self, n: int = -1) -> bytes:
        return self.read_nowait(n)

    async def readany(self) -> bytes:
        return self.read_nowait()


class RequestLoop(web.RequestHandler):
    """Task that answers the requests queued by `data_received`, until the connection ends."""

    __slots__ = ("_context", "connection", "next_has_begun")

    _context: Context
    connection: Connection
    next_has_begun: (
        bool  # when the last answer that matters was written, some of the next request was there already
    )

    async def start(self) -> None:
        """Called by aiohttp once for the connection."""
        try:
            while not self._force_close:
                if not self._messages:
                    self._waiter = self._loop.create_future()
                    try:
                        await self._waiter
                    finally:
                        self._waiter = None
                message, payload = self._messages.popleft()
                self._make_room()
                if not await self._exchange(message, payload) or self._close or self._force_close:
                    break
                self._await_next()
        except asyncio.CancelledError:
            self.force_close()
            raise
        except Exception as error:  # noqa: BLE001  nobody else would hear of it
            self.log_exception("not handled", exc_info=error)
            self.force_close()
        if not self._force_close:
            self._task_handler = None
            if self.transport is not None:
                self.transport.close()

    def queue(self, message: RawRequestMessage, body: bytes) -> None:
        """Queue a complete request whose head was parsed before."""
        self._request_count += 1
        self._messages.append((message, WholeBody(body) if body else EMPTY_PAYLOAD))
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def answered(self) -> None:
        """Called once the answer to a request is written."""

    def has_input(self) -> bool:
        """Return whether something of a further request has arrived."""
        return bool(self._messages)

    def client_ended(self) -> None:
        """Called when the connection has ended without an error. Unless the server ended it, its client did, in order,
        and so has received the answers.
        """
        deliveries = self.connection.deliveries
        if deliveries is not None and not (self._force_close or self._close or self._task_handler is None):
            deliveries.confirm()

    def end(self, reason: str, detail: str) -> None:
        """End the connection at once, without a byte more, and say why."""
        raise NotImplementedError

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return the answer to a malformed request; nothing is logged."""
        if isinstance(exc, WrongHostError):
            self.end("wrong host", exc.message)
            return web.Response()
        if status >= 500 and exc is not None and not isinstance(exc, BadHttpMessage):
            self._context.journal.record_error(exc)
            return limits.plain(500, "internal error")
        return self.unreadable(status, message or "malformed request")

    def unreadable(self, status: int, reason: str) -> web.Response:
        """The answer to a request that no handler gets to see."""
        self._context.journal.record_refusal("request cannot be read", f"{status} {reason}")
        return limits.plain(status, reason)

    def log_exception(self, *args: Any, **kwargs: Any) -> None:
        """Report an error that aiohttp would log to `on_error`, unless the client caused it."""
        error = kwargs.get("exc_info") or sys.exc_info()[1]
        theirs = (BodyLateError, web.RequestPayloadError, BadHttpMessage)
        if isinstance(error, BaseException) and not isinstance(error, theirs):
            self._context.journal.record_error(error)

    async def _exchange(self, message: RawRequestMessage | _ErrInfo, payload: StreamReader) -> bool:
        """Answer a request, valid or malformed. Returns whether the connection can be used for the next one."""
        assert self._request_factory is not None
        assert self._request_handler is not None
        fault = message if isinstance(message, _ErrInfo) else None
        head = ERROR if isinstance(message, _ErrInfo) else message
        task = self._task_handler or asyncio.current_task()
        assert task is not None
        request = self._request_factory(head, payload, self, StreamWriter(self, self._loop), task)
        self._current_request = request
        try:
            if fault is not None:
                response = self.handle_error(request, fault.status, fault.exc, fault.message)
            else:
                response = await self._request_handler(request)
        except web.HTTPException as raised:
            response = raised
        except Exception as error:  # noqa: BLE001  whatever it is, the client gets a 500
            response = self.handle_error(request, 500, error)
        finally:
            self._current_request = None
            request._task = None  # type: ignore[assignment]  # it holds the request
        try:
            await response.prepare(request)
            await response.write_eof()
        except ConnectionError:  # the client has left
            return False
        self.answered()
        if self.connection.deliveries is not None:
            self.next_has_begun = self.has_input()
        if not payload.is_eof():
            await self._linger(payload)
        return bool(response.keep_alive)

    def no_lingering(self) -> None:
        """Do not wait for the rest of a body that nobody reads."""
        self._lingering_time = 0.0

    async def _linger(self, payload: StreamReader) -> None:
        """Read and drop the rest of an unread body for a limited time; then the connection ends."""
        if self._lingering_time and not self._force_close:
            try:
                async with asyncio.timeout(self._lingering_time):
                    while not payload.is_eof():
                        await payload.readany()
            except TimeoutError:
                pass
        if not payload.is_eof() and not self._force_close:
            self.close()

    def _make_room(self) -> None:
        """Resume a paused parser after a request was removed from the queue."""
        if self._parser is not None:
            self._parser.message_consumed()
        if self._buffer_paused and len(self._messages) <= self._msg_queue_resume_size:
            self._resume_reading_if_drained()

    def _await_next(self) -> None:
        """The connection is kept for a while."""
        self._keepalive = True
        self._next_keepalive_close_time = close = self._loop.time() + self._keepalive_timeout
        if self._keepalive_handle is None:
            self._keepalive_handle = self._loop.call_at(close, self._process_keepalive)
