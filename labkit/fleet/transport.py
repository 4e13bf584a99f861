"""TLS over a non-blocking socket, for processes with thousands of connections.

asyncio and uvloop do TLS in memory: each record passes through their buffers and callbacks. Here OpenSSL reads and
writes the socket directly when the loop reports it ready, at about half the cost, and an idle connection has no buffer.
It works on any loop that can watch a socket (`add_reader`).
"""

from __future__ import annotations

import asyncio
import errno
import os
import select
import socket
import ssl
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

RECORD = 16 * 1024  # the largest plaintext of a TLS record (RFC 8446 5.1): a record is read at once
UNDER_WAY = (errno.EINPROGRESS, errno.EWOULDBLOCK)  # the connection is being opened
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: discard unsent data and send a TCP reset
NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV


class Receiver(Protocol):
    """Callbacks of a transport."""

    def data_received(self, data: bytes) -> None:
        """Handle received bytes."""

    def connection_lost(self, error: Exception | None) -> None:
        """Handle the end of the connection, called once: by the other end, with an error, or by `abort`."""


class Transport:
    """An open TLS connection."""

    __slots__ = (
        "_fd",
        "_loop",
        "_open",
        "_reading",
        "_receiver",
        "_socket",
        "_unsent",
        "_writing",
    )

    def __init__(self, agreed: ssl.SSLSocket, receiver: Receiver) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket = agreed
        self._fd = agreed.fileno()
        self._receiver: Receiver | None = receiver  # until the end, to break the reference cycle
        self._unsent: list[bytes] = []
        self._writing = False  # waiting until the socket accepts more
        self._reading = self._open = True
        self._loop.add_reader(self._fd, self._readable)

    @property
    def ended(self) -> bool:
        return not self._open

    def session(self) -> ssl.SSLSession | None:
        """Return the TLS session for resumption by another connection with the same context and name.

        None if the server sent none or the connection has ended. `ssl` of CPython 3.11.7 leaks some 5 KiB per session
        read (later versions were not tested).
        """
        return self._socket.session if self._open else None

    @property
    def silent(self) -> bool:
        """Whether nothing waits to be read, not even the end of the connection."""
        waiting = select.poll()
        waiting.register(self._fd, select.POLLIN)
        return self._open and not waiting.poll(0)

    def write(self, data: bytes) -> None:
        """Send data at once, or as the socket accepts it. After the end of the connection it is discarded."""
        if not self._open:
            return
        if self._unsent:
            self._unsent.append(data)
        elif left := self._send(data):
            self._unsent.append(left)
            self._watch_writing()

    def pause_reading(self) -> None:
        """Stop reading from the socket."""
        if self._open and self._reading:
            self._loop.remove_reader(self._fd)
        self._reading = False

    def resume_reading(self) -> None:
        if self._open and not self._reading:
            self._loop.add_reader(self._fd, self._readable)
        self._reading = True

    def abort(self, *, reset: bool = False) -> None:
        """End the connection at once and discard unsent data. reset: by a TCP reset rather than in order."""
        if self._open:
            if reset:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self._close_soon(None)

    def _readable(self) -> None:
        """Read one record. OpenSSL reads no more than one from the socket, so the loop sees whether more waits."""
        try:
            data = self._socket.recv(RECORD)
        except ssl.SSLWantReadError:
            return
        except ssl.SSLWantWriteError:  # OpenSSL has to answer a TLS handshake record
            self._watch_writing()
            return
        except OSError as error:
            self._lost(error)
            return
        if not data:
            self._lost(None)
        elif self._receiver is not None:
            self._receiver.data_received(data)

    def _send(self, data: bytes) -> bytes:
        """Send data and return the rest that the socket did not accept; OpenSSL requires it unchanged next time."""
        try:
            return data[self._socket.send(data) :]
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
            return data
        except OSError as error:  # a writer does not expect errors; the receiver gets it
            self._close_soon(error)
            return b""

    def _watch_writing(self) -> None:
        if not self._writing:
            self._loop.add_writer(self._fd, self._writable)
            self._writing = True

    def _writable(self) -> None:
        while self._unsent:
            data = self._unsent.pop(0)
            if left := self._send(data):
                self._unsent.insert(0, left)
                return
        if self._open:
            self._writing = False
            self._loop.remove_writer(self._fd)
            if self._reading:  # the unsent data may have blocked reading
                self._readable()

    def _lost(self, error: OSError | None) -> None:
        receiver = self._close()
        if receiver is not None:
            receiver.connection_lost(error)

    def _close_soon(self, error: OSError | None) -> None:
        """Close, and notify the receiver in the loop's next turn."""
        receiver = self._close()
        if receiver is not None:
            self._loop.call_soon(receiver.connection_lost, error)

    def _close(self) -> Receiver | None:
        """Close the socket, drop the reference to the receiver and return it to be notified."""
        receiver, self._receiver = self._receiver, None
        self._open = False
        self._unsent.clear()
        self._loop.remove_reader(self._fd)
        if self._writing:
            self._loop.remove_writer(self._fd)
        self._socket.close()
        return receiver


async def connected(
    host: str, port: int, context: ssl.SSLContext, name: str, session: ssl.SSLSession | None = None
) -> ssl.SSLSocket:
    """Open a TLS connection over TCP to `host`: see `secured`."""
    return await secured(await open_tcp(host, port), context, name, session)


async def secured(
    plain: socket.socket, context: ssl.SSLContext, name: str, session: ssl.SSLSession | None = None
) -> ssl.SSLSocket:
    """Agree on TLS over a connected, non-blocking socket, with a server verified to be `name`.

    Raises OSError, including ssl.SSLError; the socket is closed then. session: of an earlier connection with this
    context and name; resumed if the server still knows it.
    """
    try:
        agreeing = context.wrap_socket(
            plain, do_handshake_on_connect=False, server_hostname=name, session=session
        )
    except BaseException:
        plain.close()
        raise
    loop, fd = asyncio.get_running_loop(), agreeing.fileno()
    try:
        while True:
            try:
                agreeing.do_handshake()
                return agreeing
            except ssl.SSLWantReadError:
                await _wait_ready(loop.add_reader, loop.remove_reader, fd)
            except ssl.SSLWantWriteError:
                await _wait_ready(loop.add_writer, loop.remove_writer, fd)
    except BaseException:
        agreeing.close()
        raise


async def open_tcp(host: str, port: int) -> socket.socket:
    """Open a TCP connection to the first address of the host that accepts one."""
    loop = asyncio.get_running_loop()
    failure = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in await _addresses(loop, host, port):
        made = socket.socket(family, kind, protocol)
        try:
            made.setblocking(False)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            code = made.connect_ex(address)
            if code in UNDER_WAY:
                await _wait_ready(loop.add_writer, loop.remove_writer, made.fileno())
                code = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                raise OSError(code, os.strerror(code))
            return made
        except OSError as error:
            made.close()
            failure = error
        except BaseException:
            made.close()
            raise
    raise failure


async def _addresses(loop: asyncio.AbstractEventLoop, host: str, port: int) -> Sequence[tuple[Any, ...]]:
    with suppress(socket.gaierror):  # a numeric address needs no look-up in a thread
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=NUMERIC)
    return await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)


async def _wait_ready(watch: Callable[..., Any], unwatch: Callable[[int], Any], fd: int) -> None:
    """Return once the loop reports the socket readable or writable."""
    ready = asyncio.get_running_loop().create_future()
    watch(fd, _resolve, ready)
    try:
        await ready
    finally:
        unwatch(fd)


def _resolve(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
