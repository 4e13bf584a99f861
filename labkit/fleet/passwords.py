"""The passwords that a device of a fleet chooses."""

from __future__ import annotations

from labkit.core.chance import Chance, chance
from labkit.core.identifiers import ALPHANUMERIC


class Passwords:
    """New passwords of a device, drawn from the seed. Apart from the device, so that its client does not hold it."""

    def __init__(self, seed: int, number: int) -> None:
        self._seed = seed
        self._number = number
        self._chance: Chance | None = None

    async def draw(self, length: int) -> str:
        """Return the next password."""
        if self._chance is None:
            self._chance = chance(self._seed, "password", self._number)
        return "".join(self._chance.choices(ALPHANUMERIC, k=length))
