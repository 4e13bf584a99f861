"""Identifiers and secrets: from the system's generator, or from a seed so that a story replays exactly."""

from __future__ import annotations

import hashlib
import secrets
import string
from collections import defaultdict

ALPHANUMERIC = string.ascii_letters + string.digits


class Identifiers:
    """Makes identifiers.

    seed: None for unguessable ones; a number gives each actor a stream of its own, derived from
    (seed, actor, count), so that the order in which actors run does not change what each of them gets.
    start: which start of a lab on its data this is, from 1. What earlier ones gave is kept there, so a later one
    has streams of its own: no code or token is given twice.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed
        self.start = 1
        self._counts: defaultdict[str, int] = defaultdict(int)

    def clear(self) -> None:
        """Begin every stream anew, for a reset."""
        self._counts.clear()

    def hex(self, actor: str, length: int) -> str:
        """`length` lower-case hex digits."""
        return self._bytes(actor, (length + 1) // 2).hex()[:length]

    def alphanumeric(self, actor: str, length: int) -> str:
        """`length` letters and digits."""
        number = int.from_bytes(self._bytes(actor, length + 8), "big")  # 8 more: no letter is favoured
        letters = []
        for _ in range(length):
            number, index = divmod(number, len(ALPHANUMERIC))
            letters.append(ALPHANUMERIC[index])
        return "".join(letters)

    def _bytes(self, actor: str, size: int) -> bytes:
        if self.seed is None:
            return secrets.token_bytes(size)
        self._counts[actor] += 1
        count = str(self._counts[actor])
        if self.start > 1:
            count += f"/{self.start}"
        material = f"{self.seed}\0{actor}\0{count}".encode()
        return hashlib.shake_256(material).digest(size)
