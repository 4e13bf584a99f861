"""Clients whose reads are late, by chance, for tests of exact replay."""

from __future__ import annotations

import random
from collections.abc import Callable

from labkit.fleet.transport import Transport


def late_reads(chance: random.Random) -> Callable[[Transport], None]:
    """Return a replacement of `Transport._readable` that is up to 4 ms late three times of ten."""
    read = Transport._readable

    def late(self: Transport) -> None:
        if chance.random() >= 0.3:
            read(self)
            return
        self.pause_reading()
        self._loop.call_later(chance.random() * 0.004, self.resume_reading)

    return late
