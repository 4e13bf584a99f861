"""The page of memory from which a program reads the time."""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path

FIELDS = struct.Struct("=qqqq")
READS = struct.Struct("=Q")
SIZE = 4096
NS = 1_000_000_000


def lab_ns(seconds: float) -> int:
    """Return a lab time in nanoseconds; whole microseconds, which a lab's clock tells apart."""
    return round(seconds * 1_000_000) * 1000


def lab_seconds(ns: int) -> float:
    """Return the first lab time in seconds that is not before a time in nanoseconds."""
    return -(-ns // 1000) / 1_000_000


def reads_of(folder: Path, pid: int) -> int:
    """Return how often a process has asked for the time, as it counts in a file of its own; 0 without that file.

    pid: as the process itself knows it.
    """
    try:
        (count,) = READS.unpack_from((folder / f"reads.{pid}").read_bytes())
    except (OSError, struct.error):
        return 0
    return int(count)


class Page:
    """A page that the lab writes and a program maps.

    path: of its file; start: lab time at which the run was made; now: that it shows, in nanoseconds.
    """

    def __init__(self, path: Path, start: float) -> None:
        path.write_bytes(bytes(SIZE))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), SIZE)
        self._start = lab_ns(start)
        self._boot = self.now = self._lab = 0

    def boot(self, now: float) -> None:
        """Begin at a lab time: the clock that counts from a boot begins anew, and this process starts a program."""
        self._boot = self.now = lab_ns(now)
        self._lab = os.getpid()
        self._write()

    def begun(self) -> None:
        """Note that the program has begun: no other process is one that the lab has started."""
        self._lab = 0
        self._write()

    def show(self, now: float) -> None:
        """Show a lab time, in seconds."""
        if (ns := lab_ns(now)) != self.now:
            self.now = ns
            self._write()

    def _write(self) -> None:
        FIELDS.pack_into(self._memory, 0, self.now, self._start, self._boot, self._lab)

    def close(self) -> None:
        """Unmap the page here."""
        self._memory.close()
