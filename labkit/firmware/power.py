"""A power cut of a device: its connections stay open, and nothing is said on them any more."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress

from labkit.core.errors import LabError
from labkit.firmware import processes

AT_ONCE = struct.pack("ii", 1, 0)  # of SO_LINGER: close by a reset


class Silenced:
    """A connection that a process had, and that stays open without it."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def close(self) -> None:
        """End the connection, as a system does that does not know it."""
        with suppress(OSError):
            self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        self._connection.close()


def silence(pidfds: Sequence[int], pids: Iterable[int]) -> list[Silenced]:
    """Return the TCP connections of processes, which stay open from now on. Raises LabError where Linux forbids it."""
    found: list[Silenced] = []
    for pidfd, pid in zip(pidfds, pids, strict=True):
        for number in processes.sockets_of(pid):
            try:
                copy = processes.copy_descriptor(pidfd, number)
            except OSError as error:
                for each in found:
                    each.close()
                raise LabError(
                    f"power_cut: this system does not let a process keep connections of another ({error.strerror}); "
                    "kill() ends them, which the platform sees"
                ) from None
            connection = socket.socket(fileno=copy)
            if _is_open(connection):
                found.append(Silenced(connection))
            else:
                connection.close()
    return found


def _is_open(connection: socket.socket) -> bool:
    if connection.family not in (socket.AF_INET, socket.AF_INET6) or connection.type != socket.SOCK_STREAM:
        return False
    return not connection.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
