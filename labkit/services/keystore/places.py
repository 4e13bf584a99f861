"""Places on the globe: their 52-bit hashes, positions and distances, equal to Redis'."""

from __future__ import annotations

from dataclasses import dataclass
from math import asin, cos, pi, radians, sin, sqrt
from typing import NamedTuple

BITS = 26  # of a longitude or a latitude
CELLS = 1 << BITS
LONGITUDE = 180.0
LATITUDE = 85.05112878  # of Web Mercator, as in Redis
WIDE, HIGH = 2 * LONGITUDE / CELLS, 2 * LATITUDE / CELLS  # of a cell, in degrees
RADIUS = 6_372_797.560856  # of the earth, in meters
NEARLY = 1 + 1e-9  # allows for rounding
# From hexadecimal digits to their odd or even bits, as digits of base 4.
HEXADECIMAL = b"0123456789abcdef"
ODD, EVEN = (bytes.maketrans(HEXADECIMAL, bits) for bits in (b"0011001122332233", b"0101232301012323"))
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
        across = radians(max(south - self.center.latitude, self.center.latitude - top, 0.0))
        west %= 360
        room = 360 - west - 2 * LONGITUDE / (1 << BITS - bits)
        turn = radians(max(0.0, min(west, room)))
        along = cos(radians(self.center.latitude)) * sin(min(turn, pi / 2))
        least = RADIUS * max(across, asin(along))
        if self.height is None:
            is_out = least > self.width * NEARLY + 1
        else:
            thin = cos(radians(max(abs(south), abs(top))))
            beside = 2 * RADIUS * asin(thin * sin(turn / 2))
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


def place_of(hashed: int) -> GeoPosition:
    """Return the middle of the area that has a hash, of 64 bits."""
    digits = b"%x" % hashed
    east, north = int(digits.translate(ODD), 4), int(digits.translate(EVEN), 4)
    # It calls nothing else, since a search may find thousands of places. A score that is no hash may be beyond the map.
    return GeoPosition(
        LONGITUDE if east >= CELLS else (east * WIDE - LONGITUDE + ((east + 1) * WIDE - LONGITUDE)) / 2,
        LATITUDE if north >= CELLS else (north * HIGH - LATITUDE + ((north + 1) * HIGH - LATITUDE)) / 2,
    )


def _spread(number: int) -> int:
    """Return a number with a zero bit before each of its bits: its binary digits, read with base 4."""
    return int(f"{number:b}", 4)


def _low(number: int, largest: float) -> float:
    return -largest + number / CELLS * (2 * largest)


def text_of(place: GeoPosition) -> str:
    """Return the geohash of 11 characters that other programs know, the last of which is 0."""
    hashed = hash_of(place, 90.0)
    return "".join(ALPHABET[hashed >> 52 - 5 * (each + 1) & 31] for each in range(10)) + "0"


def distance(one: GeoPosition, other: GeoPosition) -> float:
    """Return the distance of two places in meters, on a sphere."""
    east = sin((radians(other.longitude) - radians(one.longitude)) / 2)
    if east == 0:
        return _along_meridian(one.latitude, other.latitude)
    first, second = radians(one.latitude), radians(other.latitude)
    north = sin((second - first) / 2)
    return 2 * RADIUS * asin(sqrt(north * north + cos(first) * cos(second) * east * east))


def _along_meridian(one: float, other: float) -> float:
    return RADIUS * abs(radians(other) - radians(one))
