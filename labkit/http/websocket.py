"""Server's end of a websocket (RFC 6455), on the connection of an HTTP request that asked for it.

aiohttp's reader and writer parse and write the frames. No task waits for messages: a function is called for each, so
that an idle websocket costs little more than its connection.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from collections.abc import Callable
from typing import Any

from aiohttp import hdrs, web
from aiohttp._websocket.reader import WebSocketDataQueue
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http import (
    WS_KEY,
    HttpVersion11,
    WebSocketError,
    WebSocketReader,
    WebSocketWriter,
    WSCloseCode,
    WSMsgType,
)

from labkit.http.connection import Cancellable
from labkit.http.error import HttpError
from labkit.http.frame_bounds import FrameBounds, UnmaskedError, first_half
from labkit.http.request import SiteRequest

MESSAGE_LIMIT = 1024 * 1024  # bytes of a message, in either direction
UNREAD_LIMIT = 64 * 1024  # bytes of unread messages from which the client is read no further, doubled
FRAMES = 16  # that are read at once
VERSION = "13"  # of the protocol
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
ABNORMAL = int(WSCloseCode.ABNORMAL_CLOSURE)  # of a connection that ended without a close frame
UNSENDABLE = (1004, 1005, ABNORMAL, 1015)  # close codes that no frame may have (RFC 6455 7.4.1)
MOST_CODE = 4999
LEAVING = int(WSCloseCode.GOING_AWAY)
DATA = (WSMsgType.TEXT, WSMsgType.BINARY)


class Upgrade(web.StreamResponse):
    """Answer 101 to a handshake. begin: called with the open websocket once the answer is written."""

    def __init__(self, headers: dict[str, str], begin: Callable[[WebSocketLink], None]) -> None:
        super().__init__(status=101, headers=headers)
        self.begin = begin


def asks_for_websocket(request: SiteRequest) -> bool:
    """Return whether a request asks to become a websocket; HTTP/1.0 cannot (RFC 9110 7.8)."""
    return (
        request.method == hdrs.METH_GET
        and request.version == HttpVersion11
        and request.head.message.upgrade
        and "websocket" in _words(request.headers.getall(hdrs.UPGRADE, []))
    )


def upgrade(request: SiteRequest, begin: Callable[[WebSocketLink], None]) -> Upgrade:
    """Return the answer to a handshake. The first subprotocol that the client offers is agreed on.

    Raises HttpError 400 or 426 for a handshake that RFC 6455 (4.2.1) does not allow.
    """
    headers = request.headers
    if headers.getall(hdrs.SEC_WEBSOCKET_VERSION, []) != [VERSION]:
        raise HttpError(426, f"expected Sec-WebSocket-Version: {VERSION}", refused_upgrade())
    keys = headers.getall(hdrs.SEC_WEBSOCKET_KEY, [])
    if len(keys) != 1 or not re.fullmatch(r"[A-Za-z0-9+/]{21}[AQgw]==", keys[0].strip()):
        raise HttpError(400, "Sec-WebSocket-Key: expected 16 bytes in base64")
    if hdrs.TRANSFER_ENCODING in headers or headers.get(hdrs.CONTENT_LENGTH, "0") != "0":
        raise HttpError(400, "a websocket's handshake has no body", {"Connection": "close"})
    accepted = base64.b64encode(hashlib.sha1(keys[0].strip().encode() + WS_KEY).digest()).decode()
    answer: dict[str, str] = {
        hdrs.UPGRADE: "websocket",
        hdrs.CONNECTION: "Upgrade",
        hdrs.SEC_WEBSOCKET_ACCEPT: accepted,
    }
    offered = ",".join(headers.getall(hdrs.SEC_WEBSOCKET_PROTOCOL, []))
    if offered:
        first = offered.split(",", 1)[0].strip()
        if not TOKEN.fullmatch(first):
            raise HttpError(400, "Sec-WebSocket-Protocol: expected names of subprotocols")
        answer[hdrs.SEC_WEBSOCKET_PROTOCOL] = first
    return Upgrade(answer, begin)


def refused_upgrade() -> dict[str, str]:
    """Return the headers of an answer 426 at a path that has only a websocket (RFC 9110 15.5.22)."""
    return {hdrs.CONNECTION: "Upgrade", hdrs.UPGRADE: "websocket", hdrs.SEC_WEBSOCKET_VERSION: VERSION}


def _words(values: list[str]) -> list[str]:
    return [each.strip().lower() for value in values for each in value.split(",")]


class _Messages(WebSocketDataQueue):
    """Queue of received messages that reports each, and hands control frames on at once."""

    def __init__(self, link: WebSocketLink, protocol: BaseProtocol, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(protocol, UNREAD_LIMIT, loop=loop)
        self._link: WebSocketLink | None = link

    def feed_data(self, data: Any, size: int) -> None:
        if (link := self._link) is None:
            return
        if data.type in DATA:
            super().feed_data(data, size)
            link.message_came()
        else:
            link.control_came(data)

    def set_exception(self, exc: BaseException, exc_cause: BaseException | None = None) -> None:
        if self._link is not None and isinstance(exc, WebSocketError):
            self._link.close(exc.code, str(exc))

    def shut(self) -> None:
        """Drop what comes from now on."""
        self._link = None


class WebSocketLink:
    """An open websocket of a client.

    on_message: called for each message that can be read by `next`. on_end: called once with the close code, the reason
    and `quiet`: when a close frame is sent or received, or the connection has ended. quiet: no script is to run for it.
    ping: seconds of silence after which the client is pinged, of real time; late: seconds until a message is whole, and
    until the client answers a close frame; limit: calls a function after a guard time. fall_behind: called when more
    frames have arrived than are read at once; `read_on` has to follow. runs: returns whether the lab's clock follows
    real time, since otherwise no client is pinged.
    """

    __slots__ = (
        "_asked",
        "_bounds",
        "_close_sent",
        "_ended",
        "_fall_behind",
        "_heard",
        "_late",
        "_late_timer",
        "_limit",
        "_loop",
        "_messages",
        "_ping",
        "_ping_timer",
        "_pinged",
        "_protocol",
        "_reader",
        "_runs",
        "_transport",
        "_unread",
        "_writer",
        "on_end",
        "on_message",
        "quiet",
    )

    def __init__(
        self,
        protocol: BaseProtocol,
        transport: asyncio.Transport,
        *,
        ping: float,
        late: float,
        limit: Callable[[float, Callable[[], object]], Cancellable],
        fall_behind: Callable[[], object],
        runs: Callable[[], bool],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._protocol = protocol
        self._transport: asyncio.Transport | None = transport
        self._bounds = FrameBounds()
        self._messages = _Messages(self, protocol, self._loop)
        self._reader = WebSocketReader(self._messages, MESSAGE_LIMIT + 1, compress=False, decode_text=True)
        self._writer = WebSocketWriter(protocol, transport)
        self._ping, self._late, self._limit, self._runs = ping, late, limit, runs
        self._fall_behind = fall_behind
        self._unread = (b"", 0)  # bytes that have arrived, and how many of them are read
        self._pinged: bytes | None = None  # by the last ping without an answer
        self._heard, self._asked = True, False
        self._late_timer: Cancellable | None = None
        self._ping_timer: asyncio.TimerHandle | None = self._loop.call_later(ping, self._ask)
        self._close_sent = False
        self._ended = False
        self.quiet = False
        self.on_message: Callable[[], object] = _ignore
        self.on_end: Callable[[int, str, bool], object] = _ignore

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent."""
        return self._transport is not None and not self._ended and not self._transport.is_closing()

    @property
    def has_unread(self) -> bool:
        """Whether frames have arrived that are still to be read."""
        data, at = self._unread
        return at < len(data)

    @property
    def has_messages(self) -> bool:
        """Whether `next` returns at once."""
        return bool(self._messages._buffer)

    @property
    def is_paused(self) -> bool:
        """Whether the client does not read what was sent."""
        return self._protocol.writing_paused

    async def next(self) -> str | bytes:
        """Remove and return the first unread message. There must be one."""
        message = await self._messages.read()
        self._answer_ping()  # one that came behind more than the queue holds is read only now
        data: str | bytes = message.data
        return data

    async def send(self, message: str | bytes) -> None:
        """Send text or bytes; waits while the client does not read. Raises ConnectionError after the end."""
        if self.is_paused:
            await self._protocol._drain_helper()
        if not self.is_open:
            raise ConnectionResetError("the websocket has ended")
        if isinstance(message, str):
            await self._writer.send_frame(message.encode(), WSMsgType.TEXT)
        else:
            await self._writer.send_frame(message, WSMsgType.BINARY)

    def close(self, code: int = 1000, reason: str = "") -> None:
        """Send a close frame, and end the connection once the client has answered it."""
        if self.is_open:
            self._send_close(code, reason)
            self._stop_timers()
            if self._bounds.closes and self._transport is not None:  # its close frame has come before
                self._transport.close()
            else:
                self._late_timer = self._limit(self._late, self._abort)
        self._end(code, reason)

    def cut(self, reason: str, message: str | bytes | None = None) -> None:
        """End the connection without a close frame, after the first half of a message's frame if one is given."""
        if self._transport is not None and not self._ended:
            if message is None:
                self._transport.abort()
            else:
                self._transport.write(first_half(message))
                self._transport.close()
        self._end(ABNORMAL, reason)

    # --- called by the connection

    def data_received(self, data: bytes) -> None:
        """Read what has arrived."""
        self._heard = True
        if self.has_unread:
            unread, at = self._unread
            self._unread = unread[at:] + data, 0
        else:
            self._unread = data, 0
            self.read_on()

    def read_on(self) -> None:
        """Read some of the frames that have arrived. Of the pings among them, the last is answered (RFC 6455 5.5.3)."""
        transport = self._transport
        if transport is None or transport.is_closing():
            self._unread = b"", 0
            return
        if not self.has_unread or self._protocol._reading_paused:
            return
        data, at = self._unread
        try:
            end = self._bounds.follow(data, at, FRAMES)
        except UnmaskedError as error:
            self._unread = b"", 0
            if self._close_sent:
                transport.close()
            else:
                self.close(WSCloseCode.PROTOCOL_ERROR, str(error))
            return
        self._unread = (data, end) if end < len(data) else (b"", 0)
        if not self._close_sent:
            self._reader.feed_data(data[at:end])
            self._answer_ping()
            self._watch_rest()
        elif self._bounds.closes:
            transport.close()
        if self.has_unread:
            self._fall_behind()

    def connection_lost(self) -> None:
        """End, after the connection has."""
        self._transport = None
        self._stop_timers()
        self._end(ABNORMAL, "the connection ended without a close frame")

    # --- called by the queue

    def message_came(self) -> None:
        self.on_message()

    def control_came(self, message: Any) -> None:
        """Answer a ping and a close frame; anything shows that the client is alive."""
        if message.type is WSMsgType.PING:
            self._pinged = message.data
        elif message.type is WSMsgType.CLOSE and self.is_open:
            code = int(message.data) or int(WSCloseCode.OK)
            if code in UNSENDABLE or code > MOST_CODE:  # which aiohttp's reader lets pass
                self.close(WSCloseCode.PROTOCOL_ERROR, f"{code} is no close code of a client")
                return
            self._send_close(code, "")
            if self._transport is not None:
                self._transport.close()
            self._end(code, f"closed by the client{f': {message.extra}' if message.extra else ''}")

    # --- the rest

    def _end(self, code: int, reason: str) -> None:
        """Report the end, once; nothing is read from now on."""
        if not self._ended:
            self._ended = True
            self._messages.shut()
            on_end, self.on_end, self.on_message = self.on_end, _ignore, _ignore
            on_end(code, reason, self.quiet)

    def _answer_ping(self) -> None:
        pinged, self._pinged = self._pinged, None
        # A client that does not read gets none: the answer to a later ping answers this one.
        if pinged is not None and self.is_open and not self.is_paused:
            self._write(pinged, WSMsgType.PONG)

    def _send_close(self, code: int, reason: str) -> None:
        self._answer_ping()
        self._close_sent = True
        # 123 bytes are left for the reason (RFC 6455 5.5), which has to stay UTF-8.
        text = reason.encode()[:123].decode(errors="ignore").encode()
        self._write(code.to_bytes(2, "big") + text, WSMsgType.CLOSE)

    def _write(self, data: bytes, kind: WSMsgType) -> None:
        """Write a control frame, which never waits."""
        if self._transport is not None and not self._transport.is_closing():
            sending = self._writer.send_frame(data, kind)
            try:
                sending.send(None)
            except StopIteration:
                pass
            except ConnectionError:
                pass
            else:
                sending.close()

    def _watch_rest(self) -> None:
        """Limit the time until an incomplete message is whole, as that of a request's body."""
        if not self._bounds.is_within:
            if self._late_timer is not None and not self._close_sent:
                self._late_timer.cancel()
                self._late_timer = None
        elif self._late_timer is None:
            self._late_timer = self._limit(self._late, self._too_late)

    def _too_late(self) -> None:
        self._late_timer = None
        if self._transport is not None and not self._transport.is_reading():
            self._watch_rest()  # the lab does not read: the client cannot help it
            return
        self.close(WSCloseCode.POLICY_VIOLATION, f"a message was not whole within {self._late:g} s")

    def _ask(self) -> None:
        """Ping a silent client; end the websocket of one that has not answered the last ping."""
        self._ping_timer = None
        if not self.is_open:
            return
        if self._heard or not self._runs():
            self._heard = self._asked = False
        elif self._asked:
            self._end(ABNORMAL, f"no answer to a ping within {self._ping:g} s")
            self._abort()
            return
        else:
            self._asked = True
            self._write(b"", WSMsgType.PING)
        self._ping_timer = self._loop.call_later(self._ping, self._ask)

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _stop_timers(self) -> None:
        for timer in (self._late_timer, self._ping_timer):
            if timer is not None:
                timer.cancel()
        self._late_timer = self._ping_timer = None


def _ignore(*_: object) -> None:
    """Do nothing."""
