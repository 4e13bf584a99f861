"""The client process of websockets: `python -m labkit.bench.websocket_load CORE`."""

from __future__ import annotations

import asyncio
import ssl
import time
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import cast

from labkit.bench.control import Answer, BenchError, run_child, serve_commands
from labkit.bench.load import percentiles

HANDSHAKES = 32  # at once; more would only queue up at the server
KEY = b64encode(b"0123456789abcdef").decode()
MASK = bytes(4)
PING, PONG = 9, 10  # opcodes


def handshake(host: str, path: str) -> str:
    """Return the request that opens a websocket."""
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade"]
    return "\r\n".join([*lines, "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {KEY}", "", ""])


class Socket(asyncio.Protocol):
    """A websocket that sends short texts and waits for a message."""

    def __init__(self) -> None:
        self._buffer = b""
        self._shaken = False
        self._answer: asyncio.Future[bytes]
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's class does not derive from it

    def write(self, data: bytes) -> asyncio.Future[bytes]:
        """Send bytes and return a future of what comes next: the head of the answer, then a message each time."""
        self._transport.write(data)
        return self.expect()

    def send(self, text: bytes) -> asyncio.Future[bytes]:
        """Send a text of fewer than 126 bytes and return a future of the next message."""
        return self.write(bytes([0x81, 0x80 | len(text)]) + MASK + text)

    def expect(self) -> asyncio.Future[bytes]:
        """Return a future of the next message."""
        self._answer = asyncio.get_running_loop().create_future()
        return self._answer

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._shaken:
            head, end, self._buffer = self._buffer.partition(b"\r\n\r\n")
            if not end:
                self._buffer = head
                return
            self._shaken = True
            self._answer.set_result(head)
        while len(self._buffer) >= 2 and len(self._buffer) >= 2 + self._buffer[1]:
            opcode, size = self._buffer[0] & 15, 2 + self._buffer[1]
            message, self._buffer = self._buffer[2:size], self._buffer[size:]
            if opcode == PING:
                self._transport.write(bytes([0x80 | PONG, 0x80]) + MASK)
            elif not self._answer.done():
                self._answer.set_result(message)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._answer.done():
            self._answer.set_exception(BenchError("the server closed a websocket"))

    def close(self) -> None:
        self._transport.abort()


class Sockets:
    """The websockets of this process."""

    def __init__(self) -> None:
        self._sockets: list[Socket] = []
        self._pushed: list[asyncio.Future[bytes]] = []

    async def open(self, port: int, ca: str, host: str, path: str, connections: int) -> Answer:
        """Open further websockets at a path of a host."""
        context = ssl.create_default_context(cadata=ca)
        gate, loop = asyncio.Semaphore(HANDSHAKES), asyncio.get_running_loop()

        async def open_one() -> Socket:
            async with gate:
                _, socket = await loop.create_connection(
                    Socket, "127.0.0.1", port, ssl=context, server_hostname=host, ssl_handshake_timeout=120
                )
                head = await socket.write(handshake(host, path).encode())
            if b" 101 " not in head:
                raise BenchError(f"the handshake was answered {head[:80]!r}")
            return socket

        self._sockets += await asyncio.gather(*[open_one() for _ in range(connections)])
        return {"open": len(self._sockets)}

    async def echo(self, times: int = 1) -> Answer:
        """Send messages on each websocket, one after the other; return percentiles of the seconds until one is back.

        times: number of messages on each; wrong: number of other messages that came instead.
        """
        waits: list[float] = []
        wrong = 0
        for number, socket in enumerate(self._sockets * times):
            text, began = b"message %d" % number, time.perf_counter()
            wrong += await asyncio.wait_for(socket.send(text), 60) != text
            waits.append(time.perf_counter() - began)
        return {"wrong": wrong, **percentiles(waits)}

    async def expect(self) -> Answer:
        """Wait for a message on each websocket from now on."""
        self._pushed = [socket.expect() for socket in self._sockets]
        return {}

    async def push(self, text: str) -> Answer:
        """Have the script send a text to all, by a message on the first websocket."""
        self._sockets[0].send(text.encode())
        self._pushed[0] = self._sockets[0]._answer
        return {"began": time.monotonic()}

    async def pushed(self, text: str) -> Answer:
        """Return the time at which the last websocket has its message, and how many got another one."""
        found = await asyncio.wait_for(asyncio.gather(*self._pushed), 120)
        return {"last": time.monotonic(), "wrong": sum(each != text.encode() for each in found)}

    def close(self) -> None:
        for socket in self._sockets:
            socket.close()


async def serve() -> None:
    """Execute the commands of the benchmark until standard input ends."""
    sockets = Sockets()
    commands: dict[str, Callable[..., Awaitable[Answer]]] = {
        "open": sockets.open,
        "echo": sockets.echo,
        "expect": sockets.expect,
        "push": sockets.push,
        "pushed": sockets.pushed,
    }
    await serve_commands({}, commands)
    sockets.close()


if __name__ == "__main__":
    run_child(serve)
