"""The conversation of a thread of a program with the lab: messages over a connection of its own.

It does not depend on how the waits of a program are caught. A thread says that it waits (WAITS). It runs on once the
lab says so (TIME), or once it finds, when the lab asks (READY), that what it waits for is there (RUNS).
"""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

MESSAGE = struct.Struct("=IIqqq")
CREDENTIALS = struct.Struct("=iII")  # of SO_PEERCRED: ids of process, user and group
VERSION = 1
# Seconds and microseconds in which a thread usually answers; of the kernel's ticks, which may last 10 ms.
ANSWER = struct.pack("@ll", 0, 10_000)
FOREVER = (1 << 63) - 1  # lab time of a wait without an end of its own

# From a thread of a program.
# number: thread id; when: process id, both as the process knows them; detail: VERSION in its low half; other: number of
# the thread, 0 for the process
HELLO = ord("H")
# number: of the wait; when: its end, lab time in ns; detail: what it waits in; other: a descriptor in the low half, and
# above it 1 if something left the process since the lab's last word: then it has not looked whether something is ready
WAITS = ord("W")
RUNS = ord("R")  # number: of the wait that is over without a word of the lab
STILL = ord("S")  # number: of the wait that was asked about: nothing is ready
SLEEP = 1  # detail of a wait for time alone
# From the lab.
READY = ord("P")  # number: of the wait: look whether something is ready
TIME = ord("T")  # number: of the wait: its time has come


class ThreadMessage(NamedTuple):
    """One message. kind: one of the above; number, when, detail, other: as the kind says."""

    kind: int
    number: int
    when: int = 0
    detail: int = 0
    other: int = 0


class Line:
    """The lab's end of a connection. pid: id on this system of the process at the other end."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, ANSWER)
        self._connection = connection
        self.number = connection.fileno()
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
        self.pid: int = CREDENTIALS.unpack(peer)[0]

    def hear(self, flags: int = socket.MSG_DONTWAIT) -> ThreadMessage | None:
        """Return the next message; one of kind 0 at the end of the connection, None if there is none yet.

        flags: 0 to wait for it as long as a thread usually takes.
        """
        try:
            data = self._connection.recv(MESSAGE.size, flags)
        except BlockingIOError:
            return None
        except OSError:
            return END
        return ThreadMessage._make(MESSAGE.unpack(data)) if len(data) == MESSAGE.size else END

    def say(self, kind: int, number: int) -> bool:
        """Send a message. Return whether the other end is there."""
        try:
            self._connection.send(MESSAGE.pack(kind, number, 0, 0, 0), socket.MSG_DONTWAIT)
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Close the connection; a wait at its other end is over then."""
        self._connection.close()


END = ThreadMessage(0, 0)
