"""Clients of connections, as the edge knows them."""

from __future__ import annotations

import socket
from contextlib import suppress

from labkit.core.activity import Activity


class Peer:
    """Client of a connection.

    ip: its address; port: its own, 0 without the network; accepted: the edge's socket, None in memory.
    """

    def __init__(self, ip: str, port: int = 0, accepted: socket.socket | None = None) -> None:
        self.ip = ip
        self.port = port
        self._accepted = accepted

    def cut(self) -> None:
        """End the connection in both directions, at once; the bytes sent before still arrive."""
        if self._accepted is not None:
            with suppress(OSError):
                self._accepted.shutdown(socket.SHUT_RDWR)

    def seen_off(self) -> None:
        """Called once the edge has seen the end of the connection."""


class LocalPeer(Peer):
    """Client in this process, which reports that it closes its connection.

    The end counts as pending work from then on until the edge has seen it: a virtual clock waits for it, and a run ends
    after the last one.
    """

    def __init__(self, ip: str, activity: Activity, accepted: socket.socket | None = None) -> None:
        super().__init__(ip, accepted=accepted)
        self._activity = activity
        self._left = self._seen = False

    def leave(self) -> None:
        """Report that the client closes the connection. Further calls have no effect."""
        if not (self._left or self._seen):
            self._left = True
            self._activity.begin()

    def seen_off(self) -> None:
        if not self._seen:
            self._seen = True
            if self._left:
                self._activity.end()
