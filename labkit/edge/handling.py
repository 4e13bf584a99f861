"""Sequential handling of a connection's requests in one task, in place of aiohttp's own loop.

aiohttp starts a task for each request, which costs two iterations of the loop; here the task of the connection handles
them all. Code of solutions runs in tasks of its own (`solutions.functions`).
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from aiohttp import web
from aiohttp.http import HttpVersion11
from aiohttp.http_exceptions import BadHttpMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import ERROR, _ErrInfo

from labkit.context import Context
from labkit.core.host_time import perf_counter
from labkit.core.slow import HELD
from labkit.edge import limits
from labkit.edge.limits import BodyLateError, WrongHostError
from labkit.edge.peer import Peer
from labkit.edge.time_limit import CallLimit, call_within_work
from labkit.http.connection import Connection, unwatched
from labkit.http.head import RequestHead
from labkit.http.reply import Answer, Reply
from labkit.http.request import SiteRequest
from labkit.http.websocket import LEAVING, Upgrade, WebSocketLink
from labkit.labtime.clock import Timer
from labkit.labtime.story_work import STORY_REQUEST

Serve = Callable[[Any, SiteRequest], Awaitable[Answer]]  # arguments: the connection's protocol, its request
UNREADABLE = ERROR._replace(version=HttpVersion11)  # that of the answer, as to all requests
UNMADE = cast(Any, None)  # where aiohttp wants what most requests do not need


class RequestLoop(web.RequestHandler):
    """Task that answers the requests queued by `data_received`, until the connection ends."""

    __slots__ = (
        "_arrived",
        "_behind",
        "_context",
        "_idle_timer",
        "_max_body",
        "_reader_timer",
        "_serve",
        "by_lab_time",
        "connection",
        "link",
        "next_has_begun",
        "own",
        "peer",
    )

    _arrived: bool  # counted in `Activity.arrived`
    # A complete body is bytes, one that may be incomplete a reader.
    _messages: deque[tuple[RequestHead | _ErrInfo, StreamReader | bytes]]  # type: ignore[assignment]
    _behind: bool  # bytes have arrived that are read in a later turn of the loop
    _context: Context
    _serve: Serve
    _max_body: int
    _reader_timer: CallLimit | None  # while the client does not read
    connection: Connection
    peer: Peer
    own: bool  # the client is the lab itself, or a device or handle of this process
    link: WebSocketLink | None  # once the connection is a websocket
    by_lab_time: bool  # an idle connection ends after a time of the lab's virtual clock
    _idle_timer: Timer | None  # of that clock
    next_has_begun: bool  # the next request had begun to arrive when the last tracked answer was written

    async def start(self) -> None:
        """Answer requests until the connection ends; called by aiohttp once."""
        self._arrived, self._idle_timer = False, None
        try:
            while not self._force_close:
                if not self._messages:
                    await self._wait_for_request()
                else:  # the client has sent several: others have their turn between two answers
                    await self._context.backlog.turn()
                    if self._close or self._force_close:
                        break
                head, body = self._messages.popleft()
                if self._parser is not None:
                    self._parser.message_consumed()
                if self._buffer_paused and len(self._messages) <= self._msg_queue_resume_size:
                    self._resume_reading_if_drained()
                if not await self._exchange(head, body) or self._close or self._force_close:
                    break
                if self.link is not None:  # nobody waits for what arrives from now on
                    self._task_handler = None
                    return
                self._await_next()
        except asyncio.CancelledError:
            self.force_close()
            raise
        except Exception as error:  # noqa: BLE001  nobody else would hear of it
            self.log_exception("not handled", exc_info=error)
            self.force_close()
        finally:
            self._forget_idle_timer()
        if not self._force_close:
            self._task_handler = None
            if self.transport is not None:
                self.transport.close()

    async def _wait_for_request(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
            if self._arrived:
                self._arrived = False
                self._context.activity.arrived -= 1

    def queue(self, head: RequestHead, body: bytes) -> None:
        """Queue a complete request whose head was parsed before."""
        self._request_count += 1
        self._messages.append((head, body))
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
            self._arrived = True  # as `count_arrival` does
            self._context.activity.arrived += 1

    def count_arrival(self) -> None:
        """Count the received request as arrived until the task begins to handle it."""
        if self._waiter is not None and not self._arrived:
            self._arrived = True
            self._context.activity.arrived += 1

    def answered(self) -> None:
        """Complete an exchange; called once the answer to a request is written."""

    def has_input(self) -> bool:
        """Return whether bytes of a further request have arrived."""
        return bool(self._messages)

    def client_ended(self) -> None:
        """Confirm the answers if the client ended the connection; called when it has ended without an error.

        A client that ends its connection in order has received the answers.
        """
        deliveries = self.connection.deliveries
        if deliveries is not None and not (self._force_close or self._close or self._task_handler is None):
            deliveries.confirm()

    def end(self, reason: str, detail: str) -> None:
        """End the connection at once, without sending more, and record the reason."""
        raise NotImplementedError

    def fall_behind(self) -> None:
        """Read no further until the bytes that have arrived are handled, in a later turn of the event loop."""
        if not self._behind:
            self._behind = True
            self._pause_transport_reading()
            self._context.backlog.add(self._catch_up)

    def _catch_up(self) -> None:
        """Read more of what has arrived, and then what arrives."""
        self._behind = False
        if self.link is not None:
            self.link.read_on()
        elif self.transport is not None:
            self.data_received(b"")
        if not (self._reading_paused or self._buffer_paused):
            self._resume_transport_reading()

    def _resume_transport_reading(self) -> None:
        if self.link is not None and self.link.has_unread:
            self.fall_behind()
        if not self._behind:
            super()._resume_transport_reading()

    def _limit(self, seconds: float, call: Callable[[], object]) -> CallLimit:
        """Call a function after a guard time, unless it is cancelled."""
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
        """Record a request that is not passed to a site, and return the answer to it."""
        self._context.journal.record_refusal("request cannot be read", f"{status} {reason}", self.peer.name)
        return limits.plain(status, reason)

    def log_exception(self, *args: Any, **kwargs: Any) -> None:
        """Report an error that aiohttp would log to `on_error`, unless the client caused it."""
        error = kwargs.get("exc_info") or sys.exc_info()[1]
        theirs = (BodyLateError, web.RequestPayloadError, BadHttpMessage)
        if isinstance(error, BaseException) and not isinstance(error, theirs):
            self._context.journal.record_error(error)

    async def _exchange(self, head: RequestHead | _ErrInfo, body: StreamReader | bytes) -> bool:
        """Answer a request, valid or malformed. Returns whether the connection can be used for the next one."""
        request = self._request(head, body)
        self._current_request = request
        (slow := self._context.slow).begin(head)
        try:
            if isinstance(head, _ErrInfo):
                answer: Answer = self.handle_error(request, head.status, head.exc, head.message)
            else:
                answer = await self._serve(self, request)
        except web.HTTPException as raised:
            answer = raised
        except Exception as error:  # noqa: BLE001  whatever it is, the client gets a 500
            answer = self.handle_error(request, 500, error)
        finally:
            if (ended := perf_counter()) - slow.since > HELD:  # as `end` does, without its call
                slow.late(ended, head)
            slow.since, slow.name = ended, None
            self._current_request = None
            request._task = None  # type: ignore[assignment]  # it holds the request
        try:
            if isinstance(answer, Reply):
                if self.transport is None or self.transport.is_closing():  # the client has left
                    return False
                self.transport.write(answer.encode(self.date()))
                if self._paused:
                    await self._drain_helper()
                keep_open = True
            else:
                await answer.prepare(request)
                await answer.write_eof()
                keep_open = bool(answer.keep_alive)
                if isinstance(answer, Upgrade) and answer.status == 101:
                    return self._begin_websocket(answer)
        except ConnectionError:  # the client has left
            return False
        self.answered()
        if self.connection.deliveries is not None:
            self.next_has_begun = self.has_input()
        if not isinstance(body, bytes) and not body.is_eof():
            await self._linger(body)
        return keep_open

    def _begin_websocket(self, answer: Upgrade) -> bool:
        """Hand the connection over to a websocket. Returns whether it is still open."""
        transport = self.transport
        if transport is None or transport.is_closing():
            return False
        self.keep_alive(False)
        self._upgraded = True
        guard = self._context.settings.guard
        clock = self._context.clock
        self.link = WebSocketLink(
            self,
            transport,
            ping=guard.ping,
            late=guard.body,
            limit=self._limit,
            fall_behind=self.fall_behind,
            runs=lambda: bool(clock.rate),
        )
        answer.begin(self.link)
        self.answered()
        return True

    def close(self) -> None:
        """End once the request that is handled is answered; a websocket is told that the lab leaves."""
        if self.link is not None:
            self.link.quiet = True
            self.link.close(LEAVING, "the lab leaves")
        super().close()

    def end_quietly(self) -> None:
        """Let no script run for the end of the connection; called before the lab ends it."""
        self.connection.ended = unwatched
        if self.link is not None:
            self.link.quiet = True

    def _request(self, head: RequestHead | _ErrInfo, body: StreamReader | bytes) -> SiteRequest:
        """Return the request object for a head; one without content for a malformed head."""
        if isinstance(head, _ErrInfo):
            head = RequestHead(UNREADABLE)
        task = self._task_handler or asyncio.current_task()
        assert task is not None
        reader: Any = body
        request = SiteRequest(
            head.message, reader, self, UNMADE, task, self._loop, client_max_size=self._max_body
        )
        del request._payload_writer  # its class makes it when it is read
        if isinstance(body, bytes):
            request.whole = body
            del request._payload  # so it is here
        else:
            request.input_wait = self._input_wait
        request.head, request.date = head, self.date
        return request

    @contextmanager
    def _input_wait(self) -> Iterator[None]:
        """Count the block, a handler's wait for the rest of a body, as no activity: only the client can end it.

        The lab's own clients send whole requests, which count until they are answered.
        """
        if self.peer.counts or STORY_REQUEST.get() is not None:
            yield
            return
        self._context.activity.end()
        try:
            yield
        finally:
            self._context.activity.begin()

    def pause_writing(self) -> None:
        """Limit the time until the client reads again; called by the transport when it does not read."""
        super().pause_writing()
        self._reader_timer = self._limit(self._context.settings.guard.reader, self._reader_is_slow)

    def resume_writing(self) -> None:
        self._forget_reader()
        super().resume_writing()

    def _forget_reader(self) -> None:
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None

    def _reader_is_slow(self) -> None:
        self._reader_timer = None
        self.end("answer not taken", f"the client did not read for {self._context.settings.guard.reader:g} s")

    def date(self) -> str:
        """Return the HTTP-date of an answer that is sent now: the request may be old (RFC 9110 6.6.1)."""
        return self._context.dates.format(int(self._context.clock.now()))

    def no_lingering(self) -> None:
        """Do not wait for the rest of an unread body."""
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

    def _await_next(self) -> None:
        """Keep the connection open for the keep-alive time."""
        self._keepalive = True
        if self.by_lab_time:
            clock = self._context.clock
            self._forget_idle_timer()
            self._idle_timer = clock.call_at(clock.now() + self._keepalive_timeout, self._idle_over)
            return
        self._next_keepalive_close_time = close = self._loop.time() + self._keepalive_timeout
        if self._keepalive_handle is None:
            self._keepalive_handle = self._loop.call_at(close, self._process_keepalive)

    def _forget_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def _idle_over(self) -> None:
        """End an idle connection after the keep-alive time of a virtual clock."""
        self._idle_timer = None
        if self._waiter is None or self._waiter.done() or self._force_close:
            return  # a request is being handled
        if self._context.clock.rate:
            self.by_lab_time = False
            self._await_next()
            return
        call_within_work(self._context.activity, self.force_close)

    def _process_keepalive(self) -> None:
        """End an idle connection after the keep-alive time, unless real time does not count, as on a virtual clock.

        There the lab's own clients keep their connections, as the devices of a fleet do over hours of lab time;
        those of other clients end by lab time.
        """
        self._keepalive_handle = None
        if not self._context.clock.rate:
            self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
            if self.by_lab_time:
                return
            if not self.own and self._keepalive:  # the clock ran when the connection was opened
                self.by_lab_time = True
                self._await_next()
                return
        super()._process_keepalive()
