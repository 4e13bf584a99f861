"""Places on the globe: their 52-bit hashes, positions and distances, equal to Redis'."""

from __future__ import annotations

import math
from dataclasses import dataclass

BITS = 26  # of a longitude or a latitude
LONGITUDE = 180.0
LATITUDE = 85.05112878  # of Web Mercator, as in Redis
RADIUS = 6_372_797.560856  # of the earth, in meters
ALPHABET = "0123456789bcdefghjkmnpqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Place:
    """Longitude and latitude in degrees."""

    longitude: float
    latitude: float


@dataclass(frozen=True, slots=True)
class Shape:
    """Area of a search around a place, in meters. height: of a box of this width, None for a circle of this radius."""

    center: Place
    width: float
    height: float | None = None

    def distance_within(self, place: Place) -> float | None:
        """Return the distance of a place from the center; None if it is outside."""
        found = distance(self.center, place)
        if self.height is None:
            return found if found <= self.width else None
        if _along_meridian(place.latitude, self.center.latitude) > self.height / 2:
            return None
        beside = Place(self.center.longitude, place.latitude)
        return None if distance(place, beside) > self.width / 2 else found


def is_place(place: Place) -> bool:
    """Return whether a place has a hash."""
    return -LONGITUDE <= place.longitude <= LONGITUDE and -LATITUDE <= place.latitude <= LATITUDE


def hash_of(place: Place, latitude: float = LATITUDE) -> int:
    """Return the hash of a place. latitude: the largest one."""
    north = int((place.latitude + latitude) / (2 * latitude) * (1 << BITS))
    east = int((place.longitude + LONGITUDE) / (2 * LONGITUDE) * (1 << BITS))
    return _spread(north) | _spread(east) << 1


def place_of(hashed: int) -> Place:
    """Return the middle of the area that has a hash."""
    return Place(_middle(_gather(hashed >> 1), LONGITUDE), _middle(_gather(hashed), LATITUDE))


# Steps that move the bits of a number apart: distance, and mask of the bits after it.
_STEPS = (
    (16, 0x0000FFFF0000FFFF),
    (8, 0x00FF00FF00FF00FF),
    (4, 0x0F0F0F0F0F0F0F0F),
    (2, 0x3333333333333333),
    (1, 0x5555555555555555),
)


def _spread(number: int) -> int:
    """Return a number of 32 bits with a zero bit before each of its bits."""
    for width, mask in _STEPS:
        number = (number | number << width) & mask
    return number


def _gather(number: int) -> int:
    """Return every second bit of a number of 64 bits, from the lowest one on."""
    number &= _STEPS[-1][1]
    for (width, _), (_, mask) in zip(_STEPS[:0:-1], _STEPS[-2::-1], strict=True):
        number = (number | number >> width) & mask
    return (number | number >> 16) & 0xFFFFFFFF


def _middle(number: int, largest: float) -> float:
    low = -largest + number / (1 << BITS) * (2 * largest)
    high = -largest + (number + 1) / (1 << BITS) * (2 * largest)
    return min(largest, max(-largest, (low + high) / 2))


def text_of(place: Place) -> str:
    """Return the geohash of 11 characters that other programs know, the last of which is 0."""
    hashed = hash_of(place, 90.0)
    return "".join(ALPHABET[hashed >> 52 - 5 * (each + 1) & 31] for each in range(10)) + "0"


def distance(one: Place, other: Place) -> float:
    """Return the distance of two places in meters, on a sphere."""
    east = math.sin((math.radians(other.longitude) - math.radians(one.longitude)) / 2)
    if east == 0:
        return _along_meridian(one.latitude, other.latitude)
    first, second = math.radians(one.latitude), math.radians(other.latitude)
    north = math.sin((second - first) / 2)
    return 2 * RADIUS * math.asin(math.sqrt(north * north + math.cos(first) * math.cos(second) * east * east))


def _along_meridian(one: float, other: float) -> float:
    return RADIUS * abs(math.radians(other) - math.radians(one))
