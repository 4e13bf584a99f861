"""Commands on places: GEOADD and those that read and search sorted sets of places."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush, heappushpop
from typing import Any

from labkit.services.keystore.commands import NOT_AN_INTEGER, SYNTAX, Command, Reply, integer, refusal
from labkit.services.keystore.places import (
    BITS,
    GeoPosition,
    GeoShape,
    distance,
    hash_of,
    is_place,
    place_of,
    text_of,
)
from labkit.services.keystore.rewriting import CommandRunner, RewriteResult, as_text, run_unchanged

UNITS: Mapping[bytes, float] = {b"M": 1.0, b"KM": 1000.0, b"FT": 0.3048, b"MI": 1609.34}
RADIUS = (b"GEORADIUS", b"GEORADIUS_RO", b"GEORADIUSBYMEMBER", b"GEORADIUSBYMEMBER_RO")
LONGEST_NUMBER = 100  # characters
FEW = 16  # places that are compared one by one
SHOWN = ("dist", "hash", "coord")  # what WITHDIST, WITHHASH and WITHCOORD add, in the order of the reply
_FLOAT = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?inf(?:inity)?", re.IGNORECASE)


def geoadd(store: CommandRunner, command: Command) -> RewriteResult:
    """Run GEOADD as ZADD of the hashes."""
    _expect(command, 5)
    first = 2
    while first < len(command) and command[first].upper() in (b"NX", b"XX", b"CH"):
        first += 1
    options = [each.upper() for each in command[2:first]]
    rest = command[first:]
    if len(rest) % 3 or not rest or {b"NX", b"XX"} <= set(options):
        raise refusal(SYNTAX)
    scores: list[bytes] = []
    for at in range(0, len(rest), 3):
        scores += (as_text(hash_of(_place(rest[at], rest[at + 1]))), rest[at + 2])
    return run_unchanged(store, (b"ZADD", command[1], *options, *scores))


def geopos(store: CommandRunner, command: Command) -> RewriteResult:
    """Run GEOPOS."""
    return [None if each is None else _degrees(each) for each in _members(store, command)], ()


def geohash(store: CommandRunner, command: Command) -> RewriteResult:
    """Run GEOHASH."""
    return [None if each is None else text_of(each).encode() for each in _members(store, command)], ()


def geodist(store: CommandRunner, command: Command) -> RewriteResult:
    """Run GEODIST."""
    _expect(command, 4)
    if len(command) > 5:
        raise refusal(SYNTAX)
    unit = _unit(command[4]) if len(command) == 5 else 1.0
    one, other = _members(store, command[:4])
    return None if one is None or other is None else _shown(distance(one, other) / unit), ()


def _members(store: CommandRunner, command: Command) -> list[GeoPosition | None]:
    """Return the places of members. command: name, key and members."""
    _expect(command, 2)
    if not command[2:]:
        store.run(b"ZCARD", command[1])  # raises if the key has another type
        return []
    scores = store.run(b"ZMSCORE", command[1], *command[2:])
    assert isinstance(scores, list)
    return [place_of(_hash(each)) if isinstance(each, float) else None for each in scores]


def _hash(score: float) -> int:
    return int(score) % 2**64 if abs(score) < 2**63 else 0


@dataclass(slots=True)
class _PlaceSearch:
    """Arguments of a search. unit: meters of the unit of the distances shown; target: key that stores the result."""

    store: CommandRunner
    key: bytes
    exists: bool
    shows: set[str] = field(default_factory=set)
    count: int = 0
    is_any: bool = False
    order: bytes = b""
    center: GeoPosition | None = None
    is_member: bool = False  # whether the center is one
    size: tuple[float, float | None] | None = None  # in meters
    unit: float = 1.0
    target: bytes | None = None
    stores_distances: bool = False

    def place_of(self, member: bytes) -> GeoPosition:
        """Return the place of a member, any one if the key is missing. Raises ServiceError 400 for another member."""
        if not self.exists:
            return GeoPosition(0.0, 0.0)
        score = self.store.run(b"ZSCORE", self.key, member)
        if not isinstance(score, float):
            raise refusal("could not decode requested zset member")
        return place_of(_hash(score))


def georadius(store: CommandRunner, command: Command) -> RewriteResult:
    """Run GEORADIUS, GEORADIUSBYMEMBER and their read-only forms."""
    by_member = command[0].startswith(b"GEORADIUSBYMEMBER")
    _expect(command, 5 if by_member else 6)
    search = _PlaceSearch(store, command[1], bool(store.run(b"ZCARD", command[1])))  # raises for another type
    rest = command[3:] if by_member else command[4:]
    search.center = search.place_of(command[2]) if by_member else _place(command[2], command[3])
    search.size = 0.0, None
    if search.exists or not by_member:  # as Redis checks it
        radius, search.unit = _radius(rest[0], rest[1])
        search.size = radius, None
    _read_options(search, rest[2:], _never if command[0].endswith(b"_RO") else _read_store)
    if search.target is not None and search.shows:
        raise refusal(
            "STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
        )
    return _found(search)


def geosearch(store: CommandRunner, command: Command) -> RewriteResult:
    """Run GEOSEARCH or GEOSEARCHSTORE."""
    stores = command[0] == b"GEOSEARCHSTORE"
    _expect(command, 7 + stores)
    source, rest = command[1 + stores], command[2 + stores :]
    search = _PlaceSearch(store, source, bool(store.run(b"ZCARD", source)))  # raises for another type
    search.target = command[1] if stores else None
    _read_options(search, rest, _read_area)
    if stores and search.shows:
        raise refusal("GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD options")
    if search.center is None:
        raise refusal(f"exactly one of FROMMEMBER or FROMLONLAT can be specified for {command[0].decode()}")
    if search.size is None:
        raise refusal(f"exactly one of BYRADIUS and BYBOX can be specified for {command[0].decode()}")
    return _found(search)


def _read_options(
    search: _PlaceSearch, rest: Sequence[bytes], read: Callable[[_PlaceSearch, bytes, list[bytes]], bool]
) -> None:
    """Set the options of a search. read: sets those of the command's own. Raises ServiceError."""
    left = list(rest)
    while left:
        word = left.pop(0).upper()
        if word in (b"WITHDIST", b"WITHHASH", b"WITHCOORD"):
            search.shows.add(word[4:].decode().lower())
        elif word in (b"ASC", b"DESC"):
            search.order = word
        elif word == b"ANY":
            search.is_any = True
        elif word == b"COUNT" and left:
            number = integer(left.pop(0))
            if number is None:
                raise refusal(NOT_AN_INTEGER)
            if number <= 0:
                raise refusal("COUNT must be > 0")
            search.count = number
        elif not read(search, word, left):
            raise refusal(SYNTAX)


def _never(search: _PlaceSearch, word: bytes, left: list[bytes]) -> bool:
    return False


def _read_store(search: _PlaceSearch, word: bytes, left: list[bytes]) -> bool:
    """Read STORE or STOREDIST of GEORADIUS, with the key of the result."""
    if word not in (b"STORE", b"STOREDIST") or not left:
        return False
    search.target, search.stores_distances = left.pop(0), word == b"STOREDIST"
    return True


def _read_area(search: _PlaceSearch, word: bytes, left: list[bytes]) -> bool:
    """Read the center or the size of GEOSEARCH, or STOREDIST of GEOSEARCHSTORE."""
    if word == b"STOREDIST" and search.target is not None:
        search.stores_distances = True
    elif word == b"FROMMEMBER" and left and (search.center is None or search.is_member):
        search.center, search.is_member = search.place_of(left.pop(0)), True
    elif word == b"FROMLONLAT" and len(left) > 1 and not search.is_member:
        search.center = _place(left.pop(0), left.pop(0))
    elif word == b"BYRADIUS" and len(left) > 1 and (search.size is None or search.size[1] is None):
        radius, search.unit = _radius(left.pop(0), left.pop(0))
        search.size = radius, None
    elif word == b"BYBOX" and len(left) > 2 and (search.size is None or search.size[1] is not None):
        sides = [_float(left.pop(0), f"need numeric {each}") for each in ("width", "height")]
        if min(sides) < 0:
            raise refusal("height or width cannot be negative")
        search.unit = _unit(left.pop(0))
        search.size = sides[0] * search.unit, sides[1] * search.unit
    else:
        return False
    return True


def _found(search: _PlaceSearch) -> RewriteResult:
    """Return the reply of a search, and what it stores. Without an order, places come in that of their hashes."""
    if search.is_any and not search.count:
        raise refusal("the ANY argument requires COUNT argument")
    center, size = search.center, search.size
    assert center is not None
    assert size is not None
    near = _near(search, GeoShape(center, *size))
    if search.target is None:
        return [_entry(search, *each) for each in near], ()
    effects: list[Command] = [(b"DEL", search.target)]
    if near:
        scores = [
            (repr(away / search.unit if search.stores_distances else score).encode(), name)
            for away, name, score in near
        ]
        effects.append((b"ZADD", search.target, *[part for pair in scores for part in pair]))
    for effect in effects:
        search.store.run(*effect)
    return len(near), tuple(effects)


def _near(search: _PlaceSearch, shape: GeoShape) -> list[tuple[float, bytes, float]]:
    """Return distance, name and score of the members within an area, in the order of the search."""
    near: list[tuple[float, bytes, float]] = []
    scores = search.store.scores(search.key)
    nearest = bool(search.count) and not search.is_any and search.order != b"DESC"
    farthest: list[float] = []  # the negative distances of those that a search for the nearest would return
    for least, first, last in _ranges(scores, shape, nearest=nearest):
        if len(farthest) == search.count and farthest and least > -farthest[0]:
            break
        for score, name in scores.islice(first, last):
            away = shape.distance_within(place_of(_hash(score)))
            if away is None:
                continue
            near.append((away, name, score))
            if search.is_any and len(near) == search.count:
                break
            if nearest:
                (heappush if len(farthest) < search.count else heappushpop)(farthest, -away)
        if search.is_any and len(near) == search.count:
            break
    if search.order or (search.count and not search.is_any):
        near.sort(key=lambda each: (each[2], each[1]))
        near.sort(key=lambda each: each[0], reverse=search.order == b"DESC")
    return near[: search.count or None]


def _ranges(scores: Any, shape: GeoShape, *, nearest: bool) -> Iterator[tuple[float, int, int]]:
    """Yield the ranges of a sorted set that may have places within an area, in their order, or the nearest first.

    Each has a lower bound of the distance of its places. Scores that are no hashes are always among them.
    """
    top = 1 << 2 * BITS
    low, high = (scores.bisect_left((float(each),)) for each in (0, top))
    cells = [
        (0.0, -1, 0, 0, low, 0, 0),
        (0.0, 0, BITS, low, high, 0, 0),
        (0.0, top, 0, high, len(scores), 0, 0),
    ]
    while cells:
        least, begin, bits, first, last, east, north = heappop(cells)
        if last - first <= FEW or not bits:
            yield least, first, last
            continue
        bits -= 1
        for quarter in range(4):
            begins, ends = begin + (quarter << 2 * bits), begin + (quarter + 1 << 2 * bits)
            end = last if quarter == 3 else scores.bisect_left((float(ends),))
            cell = 2 * east + quarter // 2, 2 * north + quarter % 2
            if end > first and (found := shape.least_distance(*cell, bits)) is not None:
                heappush(cells, (found if nearest else 0.0, begins, bits, first, end, *cell))
            first = end


def _entry(search: _PlaceSearch, away: float, name: bytes, score: float) -> Reply:
    """Return a member of the reply, with what the search shows of it."""
    if not search.shows:
        return name
    place = place_of(_hash(score))
    parts: dict[str, Reply] = {
        "dist": _shown(away / search.unit),
        "hash": _hash(score),
        "coord": _degrees(place),
    }
    return [name, *[parts[each] for each in SHOWN if each in search.shows]]


def _degrees(place: GeoPosition) -> list[Reply]:
    """Return longitude and latitude, which Redis rounds to 17 decimals."""
    return [float(f"{each:.17f}") for each in (place.longitude, place.latitude)]


def _expect(command: Command, length: int) -> None:
    """Raise ServiceError 400 for a command with fewer parts than this."""
    if len(command) < length:
        raise refusal(f"wrong number of arguments for '{command[0].decode().lower()}' command")


def _place(longitude: bytes, latitude: bytes) -> GeoPosition:
    place = GeoPosition(*[_float(each, "value is not a valid float") for each in (longitude, latitude)])
    if not is_place(place):
        raise refusal(f"invalid longitude,latitude pair {place.longitude:f},{place.latitude:f}")
    return place


def _radius(radius: bytes, unit: bytes) -> tuple[float, float]:
    """Return a radius in meters, and the meters of its unit. Raises ServiceError."""
    number = _float(radius, "need numeric radius")
    if number < 0:
        raise refusal("radius cannot be negative")
    meters = _unit(unit)
    return number * meters, meters


def _unit(unit: bytes) -> float:
    if unit.upper() not in UNITS:
        raise refusal("unsupported unit provided. please use M, KM, FT, MI")
    return UNITS[unit.upper()]


def _float(text: bytes, refused: str) -> float:
    if len(text) > LONGEST_NUMBER or not _FLOAT.fullmatch(text):
        raise refusal(refused)
    return float(text)


def _shown(length: float) -> bytes:
    return f"{length:.4f}".encode()
