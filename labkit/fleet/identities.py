"""Identities and passwords of a fleet's devices, which depend on the number of the device and not on the run."""

from __future__ import annotations

from labkit.core.chance import Chance, chance
from labkit.core.identifiers import ALPHANUMERIC
from labkit.settings import IdentityFormat
from labkit.settings.products import IdentityType


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


Format = IdentityType
DIGITS = 3  # of a number, at least
MAC = 0x02_00_00_00_00_00  # locally administered (IEEE 802)


def identities(count: int, format: IdentityFormat, prefix: str | None, product: str) -> list[str]:
    """Return the identities of a product's devices, numbered from 1. prefix: None for the usual one."""
    if prefix is None:
        prefix = format.prefix or (f"{product[0]}-" if format.type == "opaque" else "")
    upper = format.casing == "upper"
    return [identity(number, format.type, prefix, format.length, upper) for number in range(1, count + 1)]


def identity(number: int, format: Format, prefix: str, length: int, upper: bool) -> str:
    """Return the identity of a device.

    format, length (characters after the prefix, 0 for any): as the product requires; upper: use capital letters.
    """
    if format.startswith("uuid"):
        text = f"{0x4000_8000_0000_0000_0000 << 0 | number:032x}"
        rest = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
    elif format.startswith("mac"):
        octets, mark = (MAC + number).to_bytes(6, "big"), format[3:4]
        if format == "mac":
            mark = ":" if length in (0, 17) else ""
        rest = octets.hex(mark, 2 if mark == "." else 1) if mark else octets.hex()
    elif format == "base16":
        rest = f"{number:0{length or DIGITS}x}"
    else:
        rest = f"{number:0{length or DIGITS}d}"
    return prefix + (rest.upper() if upper else rest)
