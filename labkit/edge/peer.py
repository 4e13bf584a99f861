"""Clients of connections, as the edge knows them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

from labkit.http.connection import peer_name
from labkit.labtime.activity import Activity


class Peer:
    """Client of a connection.

    ip: its address; port: its own, 0 without the network; accepted: the edge's socket, None in memory. transport: of
    the connection, None before the end of its handshake; input_ended: whether the client has closed its sending side,
    and the lab has read that; dropped: whether the lab has ended the connection before HTTP began on it; gone: called
    with this object once the edge has seen the end of the connection.
    """

    counts = False  # whether the client counts as activity what it sends

    def __init__(self, ip: str, port: int = 0, accepted: socket.socket | None = None) -> None:
        self.ip = ip
        self.port = port
        self._accepted = accepted
        self.transport: asyncio.Transport | None = None
        self.input_ended = self.dropped = False
        self.gone: Callable[[Peer], object] | None = None

    @property
    def name(self) -> str:
        """Address and port, as of `peer_name`."""
        return peer_name(self.ip, self.port)

    def fileno(self) -> int:
        """Return the descriptor of the edge's socket; -1 once it is closed, and in memory."""
        return -1 if self._accepted is None else self._accepted.fileno()

    def is_read(self) -> bool:
        """Return whether the lab reads what arrives: not after the end of input, nor while it has paused."""
        return not self.input_ended and (self.transport is None or self.transport.is_reading())

    def cut(self) -> None:
        """End the connection in both directions, at once; the bytes sent before still arrive."""
        if self._accepted is not None:
            with suppress(OSError):
                self._accepted.shutdown(socket.SHUT_RDWR)

    def drop(self) -> None:
        """End the connection if HTTP has not begun on it."""
        if self.transport is None:
            self.dropped = True
            self.cut()

    def disconnect_processed(self) -> None:
        """Called once the edge has seen the end of the connection."""
        self.transport = None
        if self.gone is not None:
            self.gone(self)


class LocalPeer(Peer):
    """Client in this process, which reports that it closes its connection.

    The end counts as pending work from then on until the edge has seen it: a virtual clock waits for it, and a run ends
    after the last one.
    """

    counts = True

    def __init__(self, ip: str, activity: Activity, accepted: socket.socket | None = None) -> None:
        super().__init__(ip, accepted=accepted)
        self._activity = activity
        self._left = self._seen = False

    def leave(self) -> None:
        """Report that the client closes the connection. Further calls have no effect."""
        if not (self._left or self._seen):
            self._left = True
            self._activity.begin()

    def disconnect_processed(self) -> None:
        if not self._seen:
            self._seen = True
            super().disconnect_processed()
            if self._left:
                self._activity.end()
