"""HTTP/1.1 connection over TLS for one request at a time, used by a fleet's devices and by the httpx transport."""

from __future__ import annotations

import asyncio
import math
import ssl
from typing import Literal

from labkit.core.errors import LabkitError
from labkit.fleet.answer import Answer, AnswerReader, MalformedError
from labkit.fleet.transport import Transport
from labkit.http.memory import MemoryTransport

Kind = Literal["refused", "no answer", "cut", "timeout", "malformed"]


class NoAnswerError(LabkitError):
    """A request got no answer.

    kind: `refused` (no connection, or no TLS), `no answer` (the connection ended before one), `cut` (inside of one),
    `timeout`, `malformed` (the answer is no HTTP). detail: the reason, empty if the server ended the connection.
    """

    def __init__(self, kind: Kind, detail: str) -> None:
        self.kind = kind
        self.detail = detail
        super().__init__(f"{kind}: {detail}" if detail else kind)


class Channel:
    """An open connection, over TLS or in memory.

    For each request: `begin`, `write` all of it, `limit` the wait, await the answer.

    keeps_session: store the TLS session when an answer closes the connection, so that `session` still returns it.
    ended: the connection accepts no further request.
    sending: part of the request is not written yet; an answer at this time is the connection's last.
    """

    def __init__(
        self, opened: ssl.SSLSocket | MemoryTransport, reader: AnswerReader, *, keeps_session: bool = False
    ) -> None:
        self.ended = False
        self.sending = False
        self._lost = False
        self._losing: asyncio.Future[None] | None = None
        self._reader = reader
        self._answer: asyncio.Future[Answer] | None = None  # the pending one
        self._until: float | None = None  # the loop's time
        self._gap: float | None = None  # seconds by which each part of an answer extends `_until`
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf  # the loop's time
        self._stalled: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._transport: Transport | MemoryTransport
        if isinstance(opened, MemoryTransport):
            self._transport, opened.receiver = opened, self
        else:
            self._transport = Transport(opened, self)
        self.write = self._transport.write
        self._keeps_session = keeps_session
        self._session: ssl.SSLSession | None = None  # stored when an answer closed the connection

    @property
    def silent(self) -> bool:
        """Whether the server has sent nothing that is unread, not even the end of the connection."""
        return self._transport.silent

    def session(self) -> ssl.SSLSession | None:
        """Return the TLS session that another connection may resume, None if there is none."""
        return self._session or self._transport.session()

    def begin(self, method: str) -> asyncio.Future[Answer]:
        """Return a future of the answer to the request that the caller writes next. The future raises NoAnswerError."""
        self._until = self._gap = None
        self._reader.no_body = method == "HEAD"
        answer = self._answer = self._loop.create_future()
        return answer

    def limit(self, patience: float | None, *, anew: bool = False) -> None:
        """Limit the wait for the answer to `patience` real seconds from now, None for ever.

        anew: restart the limit with each part of the answer.
        """
        self._gap = patience if anew else None
        if patience is None:
            self._until = None
            return
        until = self._until = self._loop.time() + patience
        if until < self._timer_at:  # no timer, or a later one of an earlier request
            if self._timer is not None:
                self._timer.cancel()
            self._timer, self._timer_at = self._loop.call_at(until, self._late), until

    def stall(self, seconds: float) -> None:
        """Stop reading for `seconds` of real time."""
        self._transport.pause_reading()
        self._stalled = self._loop.call_later(seconds, self._transport.resume_reading)

    async def lost(self) -> None:
        """Return once the connection has ended, at the other end or here."""
        if not self._lost:
            self._losing = self._losing or self._loop.create_future()
            await asyncio.shield(self._losing)

    def abort(self, *, reset: bool = False) -> None:
        """End the connection at once, in order or by a TCP reset."""
        self.ended = True
        self._transport.abort(reset=reset)

    def data_received(self, data: bytes) -> None:
        if self._answer is None:  # no request is pending
            self.abort()
            return
        if self._gap is not None:
            self._until = self._loop.time() + self._gap
        try:
            answer = self._reader.feed(data)
        except MalformedError as error:
            self._fail("malformed", str(error))
            self.abort()
            return
        if answer is None:
            return
        waiting, self._answer = self._answer, None
        if not answer.keep or self.sending or self._reader.begun:  # bytes after an answer are unexpected
            if self._keeps_session:
                self._session = self._transport.session()
            self.abort()
        if not waiting.done():
            waiting.set_result(answer)

    def connection_lost(self, error: Exception | None) -> None:
        self.ended = self._lost = True
        if self._losing is not None:
            self._losing.set_result(None)
        for timer in (self._timer, self._stalled):
            if timer is not None:
                timer.cancel()
        self._timer = self._stalled = None
        if self._answer is None:
            return
        last = self._reader.end() if error is None else None
        if last is not None:
            if not self._answer.done():
                self._answer.set_result(last)
            self._answer = None
            return
        self._fail("cut" if self._reader.begun else "no answer", "" if error is None else str(error))

    def _fail(self, kind: Kind, detail: str) -> None:
        waiting, self._answer = self._answer, None
        if waiting is not None and not waiting.done():
            waiting.set_exception(NoAnswerError(kind, detail))

    def _late(self) -> None:
        self._timer, self._timer_at = None, math.inf
        if self._answer is None or self._until is None:
            return
        if self._loop.time() < self._until:  # a later request, or part of the answer, extended it
            self._timer, self._timer_at = self._loop.call_at(self._until, self._late), self._until
            return
        self._fail("timeout", "the server did not answer in time")
        self.abort()
