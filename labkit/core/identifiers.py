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
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed
        self._counts: defaultdict[str, int] = defaultdict(int)

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
        material = f"{self.seed}\0{actor}\0{self._counts[actor]}".encode()
        return hashlib.shake_256(material).digest(size)
