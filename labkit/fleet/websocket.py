"""Client's end of a websocket at a host of a lab, for cells, people of a fleet and checks."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import aiohttp
from aiohttp import WSMsgType
from yarl import URL

from labkit.core.errors import LabError
from labkit.fleet.flow import PATIENCE, LabAddress, shared_context
from labkit.labtime.activity import Activity
from labkit.labtime.story_work import CURRENT, StoryWork

ENDED = "the websocket has ended with code {0}"
NOT_HEARD = 10_000  # unread messages, beyond which the oldest are dropped


class WebsocketError(LabError):
    """A websocket that cannot be opened, or has ended. status: of the answer to a refused handshake, else None."""

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


class WebsocketClient:
    """Open websocket of a client. It answers pings, and keeps what it receives until it is read.

    close_code: None while it is open; subprotocol: that the server has chosen. While a story waits for a message, it
    is a participant of the lab's activity, which has settled once everything that the platform sent has arrived.
    """

    def __init__(
        self, session: aiohttp.ClientSession, opened: aiohttp.ClientWebSocketResponse, name: str
    ) -> None:
        self.name = name
        self.close_code: int | None = None
        self.subprotocol = opened.protocol
        self._session = session
        self._socket = opened
        self._inbox: deque[str | bytes] = deque(maxlen=NOT_HEARD)
        self._arrived = 0
        self._waiting: list[tuple[StoryWork | None, asyncio.Future[None]]] = []
        self._pings: dict[bytes, asyncio.Future[None]] = {}
        self._numbers = itertools.count()
        self._activity: Activity | None = None
        self._reading = asyncio.get_running_loop().create_task(self._read())

    def settle_with(self, activity: Activity) -> None:
        """Have the activity of a lab in this process wait for messages on their way, while a story waits for one."""
        self._activity = activity

    async def send(self, message: object) -> None:
        """Send a message, and return once the platform has begun to handle it.

        message: text, bytes, or a value that is sent as JSON. Raises WebsocketError after the end.
        """
        if self.close_code is not None:
            raise WebsocketError(f"{self.name}: {ENDED.format(self.close_code)}")
        try:
            if isinstance(message, bytes | bytearray):
                await self._socket.send_bytes(bytes(message))
            else:
                await self._socket.send_str(message if isinstance(message, str) else json.dumps(message))
        except ConnectionError:
            await self._reading
            raise WebsocketError(f"{self.name}: {ENDED.format(self.close_code)}") from None
        await self.flush()

    async def receive(self) -> str | bytes | None:
        """Wait for the next message and return it; None if the websocket ends before one arrives."""
        while not self._inbox:
            if self.close_code is not None:
                return None
            work = CURRENT.get()
            waits: tuple[StoryWork | None, asyncio.Future[None]]
            waits = work, asyncio.get_running_loop().create_future()
            self._waiting.append(waits)
            if work is not None:
                if self._activity is not None:
                    self._activity.join(self)
                work.end()
            try:
                await waits[1]
            finally:
                if waits in self._waiting:
                    self._waiting.remove(waits)
                if work is not None:
                    work.begin()
                    if self._activity is not None and not self._waiting:
                        self._activity.leave(self)
        return self._inbox.popleft()

    def take(self) -> str | bytes | None:
        """Remove and return the oldest unread message, None if there is none."""
        return self._inbox.popleft() if self._inbox else None

    def unread(self) -> list[str | bytes]:
        """Remove and return the messages that have arrived and were not read."""
        found = list(self._inbox)
        self._inbox.clear()
        return found

    async def flush(self) -> None:
        """Return once the platform has read everything that was sent, and what it had sent until then has arrived."""
        if self.close_code is not None:
            return
        mark = b"%d" % next(self._numbers)
        answered = self._pings[mark] = asyncio.get_running_loop().create_future()
        try:
            await self._socket.ping(mark)
            await answered
        except ConnectionError:
            await self._reading
        finally:
            self._pings.pop(mark, None)

    async def settle(self) -> bool:
        """Return whether nothing has arrived since the last call that was not there then."""
        before = self._arrived
        await self.flush()
        return self._arrived == before

    async def close(self, code: int = 1000) -> None:
        """End the websocket, and return once the platform has seen the end."""
        if self.close_code is None:
            await self._socket.send_frame(code.to_bytes(2, "big"), WSMsgType.CLOSE)
        await self._reading

    async def _read(self) -> None:
        """Take what arrives, until the end."""
        opened, code = self._socket, 1006
        try:
            while True:
                message = await opened.receive()
                match message.type:
                    case WSMsgType.TEXT | WSMsgType.BINARY:
                        self._inbox.append(message.data)
                        self._came()
                    case WSMsgType.PING:
                        await opened.pong(message.data)
                    case WSMsgType.PONG:
                        if (answered := self._pings.get(bytes(message.data))) is not None:
                            self._resolve(answered)
                    case WSMsgType.CLOSE:
                        code = message.data or 1005
                        return
                    case _:
                        return
        except (ConnectionError, aiohttp.ClientError):
            return
        finally:
            self.close_code = code
            self._came()
            for answered in self._pings.values():
                self._resolve(answered)
            await self._session.close()

    def _came(self) -> None:
        """Let a reader go on; it counts as work at once, so that lab time stands still."""
        self._arrived += 1
        waiting, self._waiting = self._waiting, []
        for work, future in waiting:
            if work is not None and not future.done():
                work.begin()
            self._resolve(future)

    @staticmethod
    def _resolve(future: asyncio.Future[None]) -> None:
        if not future.done():
            future.set_result(None)


async def open_websocket(
    address: LabAddress,
    domain: str,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    protocols: Sequence[str] = (),
    patience: float = PATIENCE,
) -> WebsocketClient:
    """Open a websocket at a path of a host of a lab.

    headers: further ones of the handshake; protocols: subprotocols to offer; patience: real seconds to wait for the
    answer. Raises WebsocketError for a refused handshake, and without an answer.
    """
    where = f"[{address.host}]" if ":" in address.host else address.host
    port = "" if address.https_port == 443 else f":{address.https_port}"
    with ExitStack() as story:
        connector = aiohttp.TCPConnector(socket_factory=lambda info: _socket(info, story))
        session = aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(patience))
        try:
            opened = await session.ws_connect(
                URL(f"https://{where}:{address.https_port}{path}", encoded=True),
                headers={"Host": f"{domain}{port}", "User-Agent": "labkit", **(headers or {})},
                ssl=shared_context(address.ca_pem),
                server_hostname=domain,
                protocols=protocols,
                autoping=False,
                autoclose=True,
                max_msg_size=0,
            )
        except aiohttp.WSServerHandshakeError as error:
            await session.close()
            raise WebsocketError(f"WEBSOCKET {path}: answered {error.status}", error.status) from None
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            await session.close()
            raise WebsocketError(f"WEBSOCKET {path}: {str(error) or type(error).__name__}") from None
    return WebsocketClient(session, opened, f"WEBSOCKET {path}")


def _socket(info: Any, story: ExitStack) -> socket.socket:
    """Return the socket of a connection; in a story its request finds the platform by the socket's port."""
    family, kind, protocol, _, target = info
    made = socket.socket(family, kind, protocol)
    made.setblocking(False)
    if (work := CURRENT.get()) is not None:
        made.bind((target[0], 0))
        story.callback(work.sent(made.getsockname()[1]).end)
    return made
