"""HTTP on one connection: aiohttp's protocol, with the time limits and the manners that it lacks.

It rests on parts of `aiohttp.web_protocol` that are not public (of 3.14): how requests are queued for their
handlers, and what is queued for a request that cannot be read.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any, cast

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMessage
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from aiohttp.web_protocol import _ErrInfo

from labkit.edge import limits
from labkit.edge.face import Face
from labkit.edge.hosts import described
from labkit.http.connection import Connection

HEAD_END = b"\r\n\r\n"
NO_HOST = "Missing 'Host' header"  # how aiohttp's parsers begin to say so


class BodyLateError(TimeoutError):
    """The body of a request was not there in time. Raised in whoever reads it."""


class EdgeProtocol(web.RequestHandler):
    """One connection, from the end of its handshake on."""

    __slots__ = (
        "_body",
        "_body_timer",
        "_face",
        "_fault_seen",
        "_head_end",
        "_head_size",
        "_head_timer",
        "_keep",
        "_line_seen",
        "connection",
        "host_header",
    )

    connection: Connection

    def __init__(
        self,
        manager: web.Server,
        face: Face,
        keep: Callable[[asyncio.Task[None]], None],
        *,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__(
            manager,
            loop=loop,
            keepalive_timeout=face.guard.keep_alive,
            lingering_time=face.guard.body,
            access_log=cast(Any, None),
            max_line_size=limits.LINE,
            max_field_size=limits.LINE,
            max_headers=limits.FIELDS,
            auto_decompress=False,  # nobody here wants compressed bodies, and small ones can grow without end
        )
        self._face = face
        self._keep = keep  # sees to it that a task ends with the edge
        self.host_header: str | None = None  # the last one that was found right
        self._head_size = 0  # bytes of a head that is not whole yet
        self._head_end = b""  # its last three bytes: the end of the head may be cut in two
        self._line_seen = False  # its first line is whole
        self._head_timer: asyncio.TimerHandle | None = None
        self._body: StreamReader | None = None  # of a request whose body is not whole yet
        self._body_timer: asyncio.TimerHandle | None = None
        self._fault_seen = False  # something could not be read: nothing after it means anything

    # --- the life of the connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if self._task_handler is not None:
            self._keep(self._task_handler)
        self._await_head()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._forget_head()
        self._forget_body()
        super().connection_lost(exc)

    def no_lingering(self) -> None:
        """Do not wait for the rest of a body that nobody reads."""
        self._lingering_time = 0.0

    def end(self, reason: str, detail: str) -> None:
        """End the connection at once, without a byte more, and say why."""
        self._face.refused(reason, detail)
        self._force_close = True
        transport, self.transport = self.transport, None
        if transport is not None:
            transport.abort()

    def has_ended(self) -> bool:
        return self.transport is None or self.transport.is_closing()

    # --- what comes in

    def data_received(self, data: bytes) -> None:
        if self._fault_seen:
            return
        if self._body is None and self._head_size + len(data) > limits.HEAD and self._head_overflows(data):
            self._fault(431, f"the head of the request is larger than {limits.HEAD} bytes")
            return
        count = self._request_count
        super().data_received(data)
        if self._request_count != count:
            self._request_came(data)
        elif self._body is not None:
            if self._body.is_eof():
                self._forget_body()
        else:
            self._head_goes_on(data)

    def _head_goes_on(self, data: bytes) -> None:
        if not data or data.isspace():
            return  # an empty line between requests is no head (RFC 9112 2.2)
        self._head_size += len(data)
        self._head_end = (self._head_end + data)[-3:]
        self._line_seen = self._line_seen or b"\n" in data
        self._await_head()

    def _head_overflows(self, data: bytes) -> bool:
        end = (self._head_end + data).find(HEAD_END)
        return end < 0 or self._head_size + end > limits.HEAD

    def _request_came(self, data: bytes) -> None:
        """One request or more have been queued; the last may be one that could not be read."""
        message, payload = self._messages[-1]
        if isinstance(message, _ErrInfo):
            first_line = not self._line_seen and b"\n" not in data[: limits.LINE]
            status, reason = limits.explain(message.exc, in_first_line=first_line)
            self._messages[-1] = (_ErrInfo(status, message.exc, reason), self._break_off(reason))
            return
        self._forget_head()
        self._forget_body()
        if not payload.is_eof():
            self._body = payload
            self._await_body()
        elif payload is EMPTY_PAYLOAD and not data.endswith(HEAD_END):
            # What begins behind a body in the same piece goes unseen; the keep-alive time ends that one.
            self._head_goes_on(data[data.rfind(HEAD_END) + len(HEAD_END) :])

    def _fault(self, status: int, reason: str) -> None:
        """Queue an answer to what cannot be read; `handle_error` gives it in its turn."""
        self._messages.append((_ErrInfo(status, BadHttpMessage(reason), reason), self._break_off(reason)))
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _break_off(self, reason: str) -> StreamReader:
        """Nothing more is understood; whoever waits for the rest of a body learns why.

        Gives what stands for the rest of the input. It never ends where the connection can be closed by half:
        aiohttp then lingers, so that the answer reaches a client that still sends. TLS sees to that itself.
        """
        self._fault_seen = True
        self._lingering_time = self._face.guard.shutdown
        self._forget_head()
        if self._body is not None and self._body.exception() is None:
            self._body.set_exception(web.RequestPayloadError(reason))
        self._forget_body()
        return EMPTY_PAYLOAD if self.connection.tls else StreamReader(self, 0, loop=self._loop)

    # --- time limits

    def _await_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self._loop.call_later(self._face.guard.header, self._head_is_late)

    def _forget_head(self) -> None:
        self._head_size, self._head_end, self._line_seen = 0, b"", False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if self._messages or self._waiter is None:
            self._await_head()  # a request before it is still being handled
            return
        what = "the head of a request was not whole" if self._head_size else "no request came"
        self.end("request head too late", f"{what} within {self._face.guard.header:g} s")

    def _await_body(self) -> None:
        self._body_timer = self._loop.call_later(self._face.guard.body, self._body_is_late)

    def _forget_body(self) -> None:
        self._body = None
        if self._body_timer is not None:
            self._body_timer.cancel()
            self._body_timer = None

    def _body_is_late(self) -> None:
        assert self._body is not None
        if self._reading_paused:
            self._await_body()  # the handler does not read: the client cannot help it
            return
        self._body_timer = None
        self._body.set_exception(BodyLateError(f"the body was not whole within {self._face.guard.body:g} s"))

    # --- what aiohttp asks for and reports

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send a response; the last one after a fault closes our half of the connection."""
        done = await super().finish_response(request, resp, start_time)
        transport = self.transport
        if self._fault_seen and not self._messages and transport is not None and transport.can_write_eof():
            transport.write_eof()
        return done

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to what could not be read; nothing is logged."""
        if isinstance(exc, BadHttpMessage) and exc.message.startswith(NO_HOST):
            self.end("wrong host", described(self.connection, None))
            return web.Response()
        if status >= 500 and exc is not None:
            self._face.on_error(exc)
            return limits.plain(500, "internal error")
        # Behind an upgrade that was declined it is aiohttp's own words, which quote what came over several lines.
        return self.unreadable(status, (message or "malformed request").partition("\n")[0].rstrip(":"))

    def unreadable(self, status: int, reason: str) -> web.Response:
        """The answer to a request that no handler gets to see."""
        self._face.refused("request cannot be read", f"{status} {reason}")
        return limits.plain(status, reason)

    def log_exception(self, *args: Any, **kwargs: Any) -> None:
        """What aiohttp would log goes to `on_error`, unless it is the client's doing."""
        error = kwargs.get("exc_info") or sys.exc_info()[1]
        theirs = (BodyLateError, web.RequestPayloadError, BadHttpMessage)
        if isinstance(error, BaseException) and not isinstance(error, theirs):
            self._face.on_error(error)
