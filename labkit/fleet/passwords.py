"""Passwords of a fleet's devices."""

from __future__ import annotations

from labkit.core.chance import Chance, chance
from labkit.core.identifiers import ALPHANUMERIC


class Passwords:
    """Generator of a device's passwords from the seed, separate so that the device's client does not refer to it."""

    def __init__(self, seed: int, number: int) -> None:
        self._seed = seed
        self._number = number
        self._chance: Chance | None = None

    async def draw(self, length: int) -> str:
        """Return the next password of `length` characters."""
        if self._chance is None:
            self._chance = chance(self._seed, "password", self._number)
        return "".join(self._chance.choices(ALPHANUMERIC, k=length))
