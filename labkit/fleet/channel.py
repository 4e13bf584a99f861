"""One HTTP/1.1 connection over TLS that carries one request at a time: the machine under the connections of a fleet's
devices and under those of httpx.
"""

from __future__ import annotations

import asyncio
import math
import ssl
from typing import Literal

from labkit.core.errors import LabkitError
from labkit.fleet.answer import Answer, AnswerReader, MalformedError
from labkit.fleet.transport import Transport

Kind = Literal["refused", "no answer", "cut", "timeout", "malformed"]


class NoAnswerError(LabkitError):
    """A request got no answer.

    kind: `refused` (no connection, or no TLS), `no answer` (the connection ended before one), `cut` (inside of one),
    `timeout`, `malformed` (what came is no HTTP). detail: the reason, empty where the server ended the connection.
    """

    def __init__(self, kind: Kind, detail: str) -> None:
        self.kind = kind
        self.detail = detail
        super().__init__(f"{kind}: {detail}" if detail else kind)


class Channel:
    """An open connection. For each request: `begin`, `write` all of it, `limit` the wait, await the answer.

    keeps_session: read the TLS session before the connection is closed after an answer, so that `session` has it still.
    ended: the connection carries no further request.
    sending: part of the request is yet to be written. An answer that comes meanwhile is the connection's last.
    """

    def __init__(self, agreed: ssl.SSLSocket, reader: AnswerReader, *, keeps_session: bool = False) -> None:
        self.ended = False
        self.sending = False
        self._lost = False
        self._losing: asyncio.Future[None] | None = None
        self._reader = reader
        self._answer: asyncio.Future[Answer] | None = None  # that is due
        self._until: float | None = None  # the loop's time
        self._gap: float | None = None  # seconds by which each piece of an answer moves `_until`
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf  # the loop's time
        self._stalled: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._transport = Transport(agreed, self)
        self.write = self._transport.write
        self._keeps_session = keeps_session
        self._session: ssl.SSLSession | None = None  # once the connection has ended after an answer

    @property
    def silent(self) -> bool:
        """Has the server sent nothing that the loop has not come to yet, such as the end?"""
        return self._transport.silent

    def session(self) -> ssl.SSLSession | None:
        """Return the TLS session that another connection may resume, None where there is none."""
        return self._session or self._transport.session()

    def begin(self, method: str) -> asyncio.Future[Answer]:
        """Return the future of the answer to a request of this method, which the caller now writes. The future raises
        NoAnswerError.
        """
        self._until = self._gap = None
        self._reader.no_body = method == "HEAD"
        answer = self._answer = self._loop.create_future()
        return answer

    def limit(self, patience: float | None, *, anew: bool = False) -> None:
        """Wait for the answer for `patience` seconds of real time from now, None for ever. anew: wait as long again
        after each piece of it.
        """
        self._gap = patience if anew else None
        if patience is None:
            self._until = None
            return
        until = self._until = self._loop.time() + patience
        if until < self._timer_at:  # there is none, or one of a request that was more patient
            if self._timer is not None:
                self._timer.cancel()
            self._timer, self._timer_at = self._loop.call_at(until, self._late), until

    def stall(self, seconds: float) -> None:
        """Read nothing for `seconds` of real time."""
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
        if self._answer is None:  # nobody asked
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
        if (
            not answer.keep or self.sending or self._reader.begun
        ):  # what comes after an answer, nobody asked for
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
        if self._loop.time() < self._until:  # a later request, or a piece of the answer, has moved it
            self._timer, self._timer_at = self._loop.call_at(self._until, self._late), self._until
            return
        self._fail("timeout", "the server did not answer in time")
        self.abort()
