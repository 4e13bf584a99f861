"""Places on the globe: their 52-bit hashes, positions and distances, equal to Redis'."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

BITS = 26  # of a longitude or a latitude
LONGITUDE = 180.0
LATITUDE = 85.05112878  # of Web Mercator, as in Redis
RADIUS = 6_372_797.560856  # of the earth, in meters
NEARLY = 1 + 1e-9  # allows for rounding
ALPHABET = "0123456789bcdefghjkmnpqrstuvwxyz"


class GeoPosition(NamedTuple):
    """Longitude and latitude in degrees."""

    longitude: float
    latitude: float


@dataclass(frozen=True, slots=True)
class GeoShape:
    """Area of a search around a place, in meters. height: of a box of this width, None for a circle of this radius."""

    center: GeoPosition
    width: float
    height: float | None = None

    def distance_within(self, place: GeoPosition) -> float | None:
        """Return the distance of a place from the center; None if it is outside."""
        found = distance(self.center, place)
        if self.height is None:
            return found if found <= self.width else None
        if _along_meridian(place.latitude, self.center.latitude) > self.height / 2:
            return None
        beside = GeoPosition(self.center.longitude, place.latitude)
        return None if distance(place, beside) > self.width / 2 else found

    def least_distance(self, east: int, north: int, bits: int) -> float | None:
        """Return a lower bound of the distance of places in an area; None if none can be within this one.

        east, north: the first bits of their hashes' halves, without the last `bits` bits.
        """
        south, west = _low(north << bits, LATITUDE), _low(east << bits, LONGITUDE) - self.center.longitude
        top = _low(north + 1 << bits, LATITUDE)
        across = math.radians(max(south - self.center.latitude, self.center.latitude - top, 0.0))
        west %= 360
        room = 360 - west - 2 * LONGITUDE / (1 << BITS - bits)
        turn = math.radians(max(0.0, min(west, room)))
        along = math.cos(math.radians(self.center.latitude)) * math.sin(min(turn, math.pi / 2))
        least = RADIUS * max(across, math.asin(along))
        if self.height is None:
            is_out = least > self.width * NEARLY + 1
        else:
            thin = math.cos(math.radians(max(abs(south), abs(top))))
            beside = 2 * RADIUS * math.asin(thin * math.sin(turn / 2))
            is_out = RADIUS * across > self.height / 2 * NEARLY + 1 or beside > self.width / 2 * NEARLY + 1
        return None if is_out else max(0.0, least / NEARLY - 1)


def is_place(place: GeoPosition) -> bool:
    """Return whether a place has a hash."""
    return -LONGITUDE <= place.longitude <= LONGITUDE and -LATITUDE <= place.latitude <= LATITUDE


def hash_of(place: GeoPosition, latitude: float = LATITUDE) -> int:
    """Return the hash of a place. latitude: the largest one."""
    north = int((place.latitude + latitude) / (2 * latitude) * (1 << BITS))
    east = int((place.longitude + LONGITUDE) / (2 * LONGITUDE) * (1 << BITS))
    return _spread(north) | _spread(east) << 1


@lru_cache(maxsize=2**17)  # some 30 MB: a search goes through all members, in their order
def place_of(hashed: int) -> GeoPosition:
    """Return the middle of the area that has a hash, of 64 bits."""
    digits = f"{hashed:064b}"
    return GeoPosition(_middle(int(digits[::2], 2), LONGITUDE), _middle(int(digits[1::2], 2), LATITUDE))


def _spread(number: int) -> int:
    """Return a number with a zero bit before each of its bits: its binary digits, read with base 4."""
    return int(f"{number:b}", 4)


def _low(number: int, largest: float) -> float:
    return -largest + number / (1 << BITS) * (2 * largest)


def _middle(number: int, largest: float) -> float:
    return min(largest, max(-largest, (_low(number, largest) + _low(number + 1, largest)) / 2))


def text_of(place: GeoPosition) -> str:
    """Return the geohash of 11 characters that other programs know, the last of which is 0."""
    hashed = hash_of(place, 90.0)
    return "".join(ALPHABET[hashed >> 52 - 5 * (each + 1) & 31] for each in range(10)) + "0"


def distance(one: GeoPosition, other: GeoPosition) -> float:
    """Return the distance of two places in meters, on a sphere."""
    east = math.sin((math.radians(other.longitude) - math.radians(one.longitude)) / 2)
    if east == 0:
        return _along_meridian(one.latitude, other.latitude)
    first, second = math.radians(one.latitude), math.radians(other.latitude)
    north = math.sin((second - first) / 2)
    return 2 * RADIUS * math.asin(math.sqrt(north * north + math.cos(first) * math.cos(second) * east * east))


def _along_meridian(one: float, other: float) -> float:
    return RADIUS * abs(math.radians(other) - math.radians(one))
