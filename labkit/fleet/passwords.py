"""Passwords of a fleet's devices."""

from __future__ import annotations

from labkit.core.chance import Chance, chance
from labkit.core.identifiers import ALPHANUMERIC


class Passwords:
    """Generator of a device's passwords from the seed, separate so that the device's client does not refer to it."""

    def __init__(self, seed: int, number: int) -> None:
        self._seed = seed
        self._number = number
        self.chance: Chance | None = None  # None before the first password

    async def draw(self, length: int) -> str:
        """Return the next password of `length` characters."""
        if self.chance is None:
            self.chance = chance(self._seed, "password", self._number)
        return "".join(self.chance.choices(ALPHANUMERIC, k=length))
