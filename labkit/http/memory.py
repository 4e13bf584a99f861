"""Connection between a client and the edge in one process, as a pair of transports in memory: no socket, no TLS."""

from __future__ import annotations

import asyncio
import errno
import os
from typing import Any, Protocol

HIGH_WATER = 64 * 1024  # bytes that the other end has not received, from which a writer is paused


class MemoryReceiver(Protocol):
    """Callbacks of one end. The other callbacks of asyncio.Protocol are optional."""

    def data_received(self, data: bytes) -> None: ...
    def connection_lost(self, error: Exception | None) -> None: ...


class MemoryTransport(asyncio.Transport):
    """One end of a connection; `connect_in_memory` makes both.

    Data and the end of the connection arrive in a later turn of the loop, as over a socket. An end that is closed with
    unread data resets the connection, as TCP does (RFC 9293 3.6.1).
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, host: str) -> None:
        super().__init__({"memory_host": host})
        self.receiver: MemoryReceiver | None = None  # until the end, to break the reference cycle
        self._loop = loop
        self._other: MemoryTransport | None = None
        self._arrived: list[bytes] = []
        self._size = 0  # bytes of `_arrived`
        self._ended = False  # the other end has closed, and nothing follows
        self._error: Exception | None = None  # with which it has ended
        self._scheduled = False
        self._reading = True
        self._closing = False
        self._paused_writer = False  # the receiver of the other end is asked not to write

    # --- as asyncio.Transport

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Send data; after the end of the connection it is discarded."""
        other = self._other
        if other is not None and not self._closing and data:
            other._arrive(bytes(data))

    def close(self) -> None:
        """End the connection in order. Data written before arrives."""
        self._close(reset=False)

    def abort(self, *, reset: bool = False) -> None:
        """End the connection. Data written before arrives, unless `reset` is true or received data is unread."""
        self._close(reset=reset or bool(self._arrived))

    def _close(self, *, reset: bool) -> None:
        if self._closing:
            return
        self._closing = True
        other, self._other = self._other, None
        if other is not None:
            error = ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
            other._end(error if reset else None)
        self._arrived.clear()
        self._loop.call_soon(self._lose, None)

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        self._schedule()

    def is_reading(self) -> bool:
        return self._reading

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        raise NotImplementedError

    def get_write_buffer_size(self) -> int:
        return 0 if self._other is None else self._other._size

    # --- as the transport of a fleet's connection

    @property
    def silent(self) -> bool:
        """Whether nothing waits to be read, not even the end of the connection."""
        return not (self._arrived or self._ended or self._closing)

    def session(self) -> None:
        """Return None: there is no TLS session."""

    # --- what the other end does

    def _arrive(self, data: bytes) -> None:
        self._arrived.append(data)
        self._size += len(data)
        self._schedule()
        if self._size > HIGH_WATER and not self._paused_writer:
            self._paused_writer = True
            self._ask_writer("pause_writing")

    def _end(self, error: Exception | None) -> None:
        """Take note that the other end has closed; with an error, what has not been read is lost."""
        self._ended, self._error, self._other = True, error, None
        if error is not None:
            self._arrived.clear()
            self._size = 0
        self._schedule()

    def _schedule(self) -> None:
        """Deliver in the loop's next turn what has arrived, if it is read."""
        if self._reading and not self._scheduled and not self._closing and (self._arrived or self._ended):
            self._scheduled = True
            self._loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        self._scheduled = False
        if self._closing or not self._reading or self.receiver is None:
            return
        if self._arrived:
            data = self._arrived[0] if len(self._arrived) == 1 else b"".join(self._arrived)
            self._arrived.clear()
            self._size = 0
            if self._paused_writer:
                self._paused_writer = False
                self._ask_writer("resume_writing")
            self.receiver.data_received(data)
            self._schedule()
        elif self._ended:
            self._closing = True
            self._lose(self._error)

    def _ask_writer(self, what: str) -> None:
        """Pause or resume the receiver of the other end, where it has flow control."""
        writer = None if self._other is None else self._other.receiver
        if (ask := getattr(writer, what, None)) is not None:
            ask()

    def _lose(self, error: Exception | None) -> None:
        receiver, self.receiver = self.receiver, None
        if receiver is not None:
            receiver.connection_lost(error)


def connect_in_memory(host: str) -> tuple[MemoryTransport, MemoryTransport]:
    """Return both ends of a new connection to `host`, each without a receiver yet."""
    loop = asyncio.get_running_loop()
    client, server = MemoryTransport(loop, host), MemoryTransport(loop, host)
    client._other, server._other = server, client
    return client, server
