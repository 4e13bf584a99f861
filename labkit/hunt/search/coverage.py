"""Coverage by plays: counts of what happened in them, and the seeds whose bytes are worth editing."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from labkit.core.chance import Chance, chance

ROUND = 32  # plays of a round; edits of a round depend on those before the last one
SHARE = 0.25  # of the plays of later rounds are edits
NEWEST = 64  # plays that edits begin with: the newest that showed something new
LONGEST = 4096  # bytes of an edited beginning


def traits_of(journal: str) -> frozenset[str]:
    """Return what happened in a play: statuses, pairs of kinds of records in a row of one actor, faults that hit.

    journal: as canonical text.
    """
    found: set[str] = set()
    before: dict[str, str] = {}
    for line in journal.splitlines():
        record = json.loads(line)
        kind = record["kind"] if record["status"] is None else f"{record['kind']} {record['status']}"
        detail = record["detail"] or {}
        if record["kind"] == "fault" and isinstance(detail, dict):
            found.add(f"fault at {detail.get('where', record['summary'])}")
        actor = record["actor"].rpartition("#")[0]
        if actor in before:
            found.add(f"{before[actor]} → {kind}")
        found.add(kind)
        before[actor] = kind
    return frozenset(found)


@dataclass(frozen=True)
class Supply:
    """Bytes of a play, as a recipe.

    seed: of the lab; beginning: edited bytes, after which those of the number of the play follow, empty if it is no
    edit; parent: number of the play whose bytes were edited, None if it is no edit.
    """

    seed: int
    beginning: bytes = b""
    parent: int | None = None


@dataclass(frozen=True)
class Found:
    """A play that showed something new. new: number of new things; used: bytes that it used."""

    number: int
    seed: int
    new: int
    used: bytes


class Coverage:
    """Count of what the plays of a hunt showed, in the order of their numbers.

    first: number of the first play. What a play showed and what is edited depends on the numbers alone, never on the
    order in which workers are ready.
    """

    def __init__(self, first: int) -> None:
        self._first = first
        self._seen: set[str] = set()
        self._found: list[Found] = []
        self._ends: list[int] = []  # length of _found at the end of each round
        self._count = 0

    def __len__(self) -> int:
        return len(self._seen)

    @property
    def seen(self) -> frozenset[str]:
        """All that plays showed so far."""
        return frozenset(self._seen)

    def add(self, traits: Iterable[str], supply: Supply, used: bytes) -> int:
        """Add the next play, and return how many things it was the first to show."""
        new = set(traits) - self._seen
        self._seen |= new
        if new and used:
            self._found.append(Found(self._first + self._count, supply.seed, len(new), used[:LONGEST]))
        self._count += 1
        if self._count % ROUND == 0:
            self._ends.append(len(self._found))
        return len(new)

    def supply(self, number: int) -> Supply | None:
        """Return the bytes of a play; None as long as they depend on plays that have not been added yet."""
        turn = (number - self._first) // ROUND
        own = chance(number, "edits")
        if turn < 2 or own.random() >= SHARE:
            return Supply(number)
        if len(self._ends) < turn - 1:
            return None
        known = self._found[: self._ends[turn - 2]][-NEWEST:]
        if not known:
            return Supply(number)
        [parent] = own.choices(known, [each.new for each in known])
        other = own.choice(known)
        return Supply(parent.seed, edited(parent.used, other.used, own), parent.number)


def edited(used: bytes, other: bytes, own: Chance) -> bytes:
    """Return bytes with one to three random edits. other: bytes of another play, of which a part may follow."""
    data = bytearray(used)
    for _ in range(own.randint(1, 3)):
        place = own.randrange(len(data) + 1)
        size = own.choice((1, 1, 2, 4, 8))
        match own.randrange(5):
            case 0:
                data[place : place + size] = own.randbytes(size)
            case 1:
                del data[place : place + size]
            case 2:
                data[place:place] = own.randbytes(size)
            case 3:
                del data[place:]  # fresh bytes follow
            case _:
                data[place:] = other[place:]
    return bytes(data[:LONGEST])
