"""Clients with a socket, and whether the lab has read all bytes that they have sent."""

from __future__ import annotations

import errno
import select
import socket
from collections.abc import Iterable
from typing import Protocol

from labkit.core.errors import SettingsError
from labkit.edge.peer import Peer
from labkit.edge.server import plain_ip


class Readable(Protocol):
    """Interface of a connection for `unread`."""

    def fileno(self) -> int:
        """Return the descriptor of the lab's socket, -1 once it is closed."""

    def is_read(self) -> bool:
        """Return whether the lab reads what arrives."""


class Clients:
    """Set `peers` of the clients from the moment at which their connection is accepted until its end is over."""

    def __init__(self) -> None:
        self.peers: set[Peer] = set()

    def add(self, peer: Peer) -> None:
        """Add a client, which leaves the set with its end."""
        self.peers.add(peer)
        peer.gone = self.peers.discard

    def drop(self) -> None:
        """End the connections on which HTTP has not begun."""
        for peer in self.peers:
            peer.drop()


def unread(listening: Iterable[socket.socket], connections: Iterable[Readable]) -> bool:
    """Return whether bytes, connections or ends have arrived that are still to be read, or an end is not over.

    listening: sockets at which connections are accepted; connections: a connection that the lab does not read now is
    ignored.
    """
    polled = select.poll()
    for each in listening:
        polled.register(each, select.POLLIN)
    for connection in connections:
        if (number := connection.fileno()) < 0:
            return True  # it is closed, which its protocol does not know yet
        if connection.is_read():
            polled.register(number, select.POLLIN)
    return bool(polled.poll(0))


def cannot_listen(host: str, setting: str, port: int, error: OSError) -> SettingsError:
    """Return the error for a port of a setting at which the lab cannot listen."""
    text = f"{setting}: cannot listen on {host}:{port}: {error.strerror or error}"
    if error.errno == errno.EADDRINUSE:
        text += f"; end the program that has this port, or choose another: {setting}: 0 takes any free one"
    return SettingsError(text)


def own_ip(listener: socket.socket) -> str:
    """Return the IP address from which this machine connects to its own listener. Nothing is sent."""
    with socket.socket(listener.family, socket.SOCK_DGRAM) as probe:
        probe.connect(listener.getsockname())
        return plain_ip(probe.getsockname()[0])
