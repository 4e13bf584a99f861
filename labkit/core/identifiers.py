"""Identifiers and secrets: from the system's generator, or from a seed so that a run can be replayed exactly."""

from __future__ import annotations

import hashlib
import os
import string
from collections import defaultdict

ALPHANUMERIC = string.ascii_letters + string.digits


class Identifiers:
    """Generator of identifiers.

    seed: None for unguessable ones; a number gives each actor a stream of its own, derived from (seed, actor,
    count), so that the order in which actors run does not change their values. start: number of this start of a
    lab on its stored data, from 1. Data of earlier starts is kept, so a later one has streams of its own: no
    code or token is issued twice.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed
        self.start = 1
        self._counts: defaultdict[str, int] = defaultdict(int)

    def clear(self) -> None:
        """Restart every stream, for a reset."""
        self._counts.clear()

    def snapshot(self) -> dict[str, int]:
        """Return the number of values that each actor has had."""
        return dict(self._counts)

    def restore(self, start: int, counts: dict[str, int]) -> None:
        """Continue the streams of another lab with the same seed. start: number of its start."""
        self.start = start
        self._counts.clear()
        self._counts.update(counts)

    def hex(self, actor: str, length: int) -> str:
        """Return `length` lower-case hex digits."""
        return self._bytes(actor, (length + 1) // 2).hex()[:length]

    def alphanumeric(self, actor: str, length: int) -> str:
        """Return `length` letters and digits."""
        number = int.from_bytes(
            self._bytes(actor, length + 8), "big"
        )  # 8 more bytes, so that the bias is negligible
        letters = []
        for _ in range(length):
            number, index = divmod(number, len(ALPHANUMERIC))
            letters.append(ALPHANUMERIC[index])
        return "".join(letters)

    def _bytes(self, actor: str, size: int) -> bytes:
        if self.seed is None:
            return os.urandom(size)  # as secrets.token_bytes, without its calls
        self._counts[actor] += 1
        count = str(self._counts[actor])
        if self.start > 1:
            count += f"/{self.start}"
        material = f"{self.seed}\0{actor}\0{count}".encode()
        return hashlib.shake_256(material).digest(size)
