"""HTTP protocol of one connection: aiohttp's protocol with additional time limits and error answers.

It rests, as `handling` does, on parts of `aiohttp.web_protocol` that are not public (of 3.14): how requests are queued
for their handlers, and what is queued for a request that cannot be read.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Callable
from typing import Any, cast

from aiohttp import hdrs, web
from aiohttp.http_exceptions import BadHttpMessage
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from aiohttp.web_protocol import _ErrInfo

from labkit.context import Context
from labkit.edge import limits
from labkit.edge.framing import Chunked, Framing, Length, holds_whole_body
from labkit.edge.handling import RequestLoop, Serve
from labkit.edge.handshake import explain
from labkit.edge.hosts import wrong_host_in
from labkit.edge.limits import BodyLateError, WrongHostError
from labkit.edge.peer import Peer
from labkit.edge.repeated import RepeatedHead
from labkit.edge.time_limit import CallLimit, call_after
from labkit.http.connection import unwatched
from labkit.http.head import RequestHead

Parsed = tuple[RawRequestMessage | _ErrInfo, StreamReader]  # what aiohttp's parser queues
HEAD_END = b"\r\n\r\n"
EMPTY_LINES = re.compile(rb"[\r\n]*")  # between requests they are no head (RFC 9112 2.2)
PIECES = 4  # heads, and parts of bodies, that are read at once
BARE_END = b"\n\n"  # of a head whose line ends are wrong: no need to wait for more of it


class EdgeProtocol(RequestLoop):
    """HTTP protocol of one connection, from the end of its handshake on."""

    __slots__ = (
        "_body",
        "_body_timer",
        "_fault_seen",
        "_framing",
        "_guard",
        "_head",
        "_head_timer",
        "_held",
        "_input_ended",
        "_keep",
        "_rest",
        "_wants_upgrade",
        "_watched",
        "host_header",
        "repeated",
    )

    def __init__(
        self,
        manager: web.Server,
        context: Context,
        keep: Callable[[asyncio.Task[None]], None],
        serve: Serve,
        *,
        peer: Peer,
        max_body: int,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """keep: called with a task that has to end with the edge; serve: answers a request; max_body: see Edge."""
        super().__init__(
            manager,
            loop=loop,
            keepalive_timeout=context.settings.guard.keep_alive,
            lingering_time=context.settings.guard.body,
            access_log=cast(Any, None),
            max_line_size=limits.LINE,
            max_field_size=limits.LINE,
            max_headers=limits.FIELDS,
            auto_decompress=False,  # nobody here wants compressed bodies, and small ones can grow without end
        )
        self._context = context
        self._guard = context.settings.guard
        self.peer = peer
        self._keep = keep
        self._serve = serve
        self._max_body = max_body
        self.host_header: str | None = None  # the last one that was found right
        self._head = bytearray()  # one that is not whole yet
        self._held = b""  # what cannot be fed to the parser yet
        self._head_timer: CallLimit | None = None
        self._body: StreamReader | None = None  # of a request whose body is not whole yet
        self._framing: Framing  # of that body
        self._body_timer: CallLimit | None = None
        self._reader_timer = None
        self.repeated = RepeatedHead()
        self.link = None
        self._behind = False  # bytes have arrived that are read in a later turn of the loop
        self._wants_upgrade = False  # what follows a request is no request if it is answered by an upgrade
        self._input_ended = False
        self._watched = False  # the end of input ends the request that is handled
        self._fault_seen = False  # something could not be read: nothing after it means anything
        self._rest: StreamReader | None = None  # stands for all that

    # --- the life of the connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if self._task_handler is not None:
            self._keep(self._task_handler)
        self.connection.watch_input = self._watch_input
        self.await_head()

    def connection_lost(self, exc: BaseException | None) -> None:
        self.connection.watch_input = unwatched  # else the two would hold each other
        if exc is None:
            self.client_ended()
        ended, self.connection.ended = self.connection.ended, unwatched
        ended()
        self._forget_head()
        self._forget_body()
        self._forget_reader()
        if isinstance(
            exc, ssl.SSLError
        ):  # an alert: some clients look at the certificate after the handshake
            self._context.journal.record_refusal(*explain(exc, self.peer.ip), self.peer.name)
        super().connection_lost(exc)
        link, self.link = self.link, None
        if link is not None:
            link.connection_lost()

    def end(self, reason: str, detail: str) -> None:
        """End the connection at once, without sending more, and record the reason."""
        self._context.journal.record_refusal(reason, detail, self.peer.name)
        self.cut()

    def cut(self) -> None:
        """End the connection at once, without sending more. If it is already closing, written bytes are still sent."""
        self._force_close = True
        transport, self.transport = self.transport, None
        if transport is not None and not transport.is_closing():
            transport.abort()

    def is_idle(self) -> bool:
        """Return whether the connection waits for its next request."""
        return self._waiter is not None and not self._messages

    def has_ended(self) -> bool:
        return self.transport is None or self.transport.is_closing()

    # --- what comes in

    def data_received(self, data: bytes) -> None:
        """Queue a request that repeats the last one's head; feed all other data to the parser, or to a websocket."""
        if self.link is not None:
            self.link.data_received(data)
            return
        repeated = self.repeated.request(data)
        incomplete = self._messages or self._head or self._held or self._body is not None
        ending = self._fault_seen or self._close or self._force_close or self._wants_upgrade
        if repeated is None or incomplete or ending:
            self._parse(data)
            return
        if self._head_timer is not None:
            self._forget_head()
        self.queue(*repeated)

    def _parse(self, data: bytes) -> None:
        """Feed the parser: a whole head, then the received part of its body, and so on.

        So the bytes of a malformed head are known, and requests before it are still answered. Called without data by
        aiohttp to continue with the bytes that were held back.
        """
        if not data and not self._fault_seen:
            super().data_received(data)
            if self._body is not None and self._body.is_eof():
                self._forget_body()
        data, self._held = self._held + data, b""
        if self._behind:
            self._held = data
            return
        at = pieces = 0
        while at < len(data) and not (self._fault_seen or self._close or self._force_close):
            in_body = self._body is not None and not self._framing.done
            if not in_body and (
                self._body is not None
                or self._wants_upgrade
                or len(self._messages) >= self._max_msg_queue_size
            ):
                # Until the parser has gone on with the body, or requests have been handled.
                self._held = data[at:]
                return
            if pieces == PIECES:
                self._held = data[at:]
                self.fall_behind()
                return
            at = self._feed_body(data, at) if in_body else self._feed_head(data, at)
            pieces += 1

    def eof_received(self) -> bool:  # type: ignore[override]
        """Handle the end of input. Returns true over plain HTTP while an answer is due: the client may read it."""
        self.client_ended()
        if self.connection.tls:
            return False
        self._input_ended = self.peer.input_ended = True
        if self._head:
            self._refused_early()
        if self._rest is not None:
            self._rest.feed_eof()
        if self._body is not None:
            self._body.set_exception(web.RequestPayloadError("the body broke off"))
            self._forget_body()
        if self._watched or self.link is not None:
            return False
        started = self._request_count > 0
        return bool(self._messages) or (started and self._waiter is None)

    def has_input(self) -> bool:
        return bool(self._messages or self._head or self._held)

    def _watch_input(self) -> None:
        """Treat the end of input as a disconnect from now on; called for a request that may wait long."""
        self._watched = True
        if self._input_ended and self.transport is not None:
            self.transport.close()

    def _feed_head(self, data: bytes, at: int) -> int:
        """Process the bytes of `data` that belong to a head, from `at` on; return their end."""
        before = len(self._head)
        if not before:
            if data[at] in b"\r\n":
                at = cast("re.Match[bytes]", EMPTY_LINES.match(data, at)).end()
            end = data.find(HEAD_END, at) + len(HEAD_END)
            if at + len(HEAD_END) <= end <= at + limits.HEAD:  # as nearly always
                head, size = data[at:end], len(data) - end
                if size and holds_whole_body(head, size):
                    self._head_came(head, data[end:])
                    return len(data)
                self._head_came(head)
                return end
        self._head += data[at : at + limits.HEAD + 1 - before]
        start = max(0, before - len(HEAD_END) + 1)
        end = self._head.find(HEAD_END, start) + len(HEAD_END)
        if end < len(HEAD_END):
            end = self._head.find(BARE_END, start) + len(BARE_END)
        if end >= len(BARE_END) and end <= limits.HEAD:
            head = bytes(self._head[:end])
            self._head.clear()
            self._head_came(head)
            return at + end - before
        if len(self._head) > limits.HEAD:
            head = bytes(self._head[: limits.HEAD])
            self._refuse(head, *limits.too_large(head))
        elif self._head:
            self.await_head()
        return len(data)

    def _head_came(self, head: bytes, body: bytes = b"") -> None:
        """Feed the parser a complete head. body: the complete body, if it was received with the head."""
        count = self._request_count
        super().data_received(head + body if body else head)
        if self._upgraded:  # the parser need not wait for the answer: what follows is held until then
            assert self._parser is not None
            self._parser.set_upgraded(False)
            self._upgraded = False
            # A hint that costs little: the handler of the request reads the Upgrade field itself.
            self._wants_upgrade = b"websocket" in head.lower()
            if self._wants_upgrade:
                self._pause_reading_for_buffer()
        if self._request_count == count:
            self._refuse(head, 400, "malformed request")
            return
        message, payload = cast(Parsed, self._messages[-1])
        if isinstance(message, _ErrInfo):
            self._messages.pop()
            self._refuse(head, *limits.explain(message.exc, head))
            return
        self.count_arrival()
        self._forget_head()
        parsed = RequestHead(message)
        self._messages[-1] = (parsed, payload)
        if payload.is_eof():
            self.repeated.keep(head, len(body), parsed)
            return
        if message.method == hdrs.METH_CONNECT:
            payload.feed_eof()  # no tunnel will be dug
            return
        self._body = payload
        if message.chunked:
            self._framing = Chunked()
        else:
            self._framing = Length(int(message.headers[hdrs.CONTENT_LENGTH]) - len(body))
        self._await_body()

    def _feed_body(self, data: bytes, at: int) -> int:
        """Process the bytes of `data` that belong to a body, from `at` on; return their end."""
        count = self._request_count
        end = self._framing.take(data, at)
        super().data_received(data[at:end])
        if self._request_count != count:
            message, _ = self._messages.pop()
            assert isinstance(message, _ErrInfo)
            self._fault(*limits.explain(message.exc, b""))
        elif self._body is not None and self._body.is_eof():
            self._forget_body()
        return end

    def _refuse(self, head: bytes, status: int, reason: str) -> None:
        """Answer a malformed head, if it is for this connection's host."""
        wrong = wrong_host_in(self.connection, self._context.hosts.serves, head)
        self._fault(status, reason, WrongHostError(wrong) if wrong else BadHttpMessage(reason))

    def _fault(self, status: int, reason: str, error: BadHttpMessage | None = None) -> None:
        """Queue an answer to a malformed request; `handle_error` returns it in its turn."""
        rest = self._break_off(reason)
        self._messages.append((_ErrInfo(status, error or BadHttpMessage(reason), reason), rest))
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _break_off(self, reason: str) -> StreamReader:
        """Ignore all further input, and fail the reading of an incomplete body with `reason`.

        Returns a reader for the rest of the input. Where the connection can be closed by half, it never ends: aiohttp
        then lingers, so that the answer reaches a client that still sends. TLS does that itself.
        """
        self._fault_seen = True
        self._lingering_time = self._guard.shutdown
        self._forget_head()
        if self._body is not None and self._body.exception() is None:
            self._body.set_exception(web.RequestPayloadError(reason))
        self._forget_body()
        if self.connection.tls or self._input_ended:
            return EMPTY_PAYLOAD
        self._rest = StreamReader(self, 0, loop=self._loop)
        return self._rest

    # --- time limits

    def _limit(self, seconds: float, call: Callable[[], object]) -> CallLimit:
        return call_after(self._context, seconds, call, own=self.own)

    def await_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self._limit(self._guard.header, self._head_is_late)

    def _forget_head(self) -> None:
        self._head.clear()
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if self._messages or self._waiter is None:
            self.await_head()  # a request before it is still being handled
            return
        if self._refused_early():
            return
        what = "the head of a request was not whole" if self._head else "no request came"
        self.end("request head too late", f"{what} within {self._guard.header:g} s")

    def _refused_early(self) -> bool:
        """Answer an incomplete head that is for this host and already malformed; return whether it is."""
        head = bytes(self._head)
        if wrong_host_in(self.connection, self._context.hosts.serves, head):
            return False
        count = self._request_count
        super().data_received(head)
        if self._request_count == count:
            return False
        message, _ = self._messages.pop()
        assert isinstance(message, _ErrInfo)
        self._fault(*limits.explain(message.exc, head))
        return True

    def _await_body(self) -> None:
        self._body_timer = self._limit(self._guard.body, self._body_is_late)

    def _forget_body(self) -> None:
        self._body = None
        if self._body_timer is not None:
            self._body_timer.cancel()
            self._body_timer = None

    def _body_is_late(self) -> None:
        assert self._body is not None
        if self._reading_paused or self._behind:
            self._await_body()  # the lab does not read: the client cannot help it
            return
        self._body_timer = None
        self._body.set_exception(BodyLateError(f"the body was not whole within {self._guard.body:g} s"))

    # --- what aiohttp asks for and reports

    def answered(self) -> None:
        """Close this side of the connection after the last answer, where no more requests follow."""
        self._watched = False
        if self._wants_upgrade:
            self._wants_upgrade = False
            self._resume_reading_for_buffer()
            if held := self._held:
                self._held = b""
                self.data_received(held)
        if self._input_ended and not self._messages and not self._held:
            self.close()  # once this is done
        transport = self.transport
        if self._fault_seen and not self._messages and transport is not None and transport.can_write_eof():
            transport.write_eof()
