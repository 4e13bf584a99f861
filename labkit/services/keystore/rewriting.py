"""Parts that all rewrites of commands share: the store that runs them, limits, random draws and times."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

from labkit.services.keystore.arguments import LONGEST_VALUE
from labkit.services.keystore.commands import INTEGER_LIMIT, SYNTAX, Command, Reply, integer, refusal

# Limits that keep one call from filling the memory: strings have at most 1 MiB (Redis' proto-max-bulk-len).
LARGEST_BIT = 8 * LONGEST_VALUE - 1
MOST_MEMBERS = 100_000  # members that SRANDMEMBER, HRANDFIELD and ZRANDMEMBER return with repetitions
MOST_STEPS = 20_000_000  # bytes that one command works on; takes up to a few tenths of a second
# A time that is always refused. fakeredis computes with floats, whose rounding would accept a time just too large.
REFUSED_TIME = b"0"
# Options of SET and GETEX: milliseconds of a unit, and whether the time is relative.
UNITS = {b"EX": (1000, True), b"PX": (1, True), b"EXAT": (1000, False), b"PXAT": (1, False)}


class CommandRunner(Protocol):
    """Interface of a store that runs commands unchanged.

    now: lab time in milliseconds; draw: returns `count` random numbers of 64 bits from the stream of a key; cursors:
    last names of pages, the oldest first; members: sorted names in a set, hash or sorted set; scores: sorted pairs of
    score and name in a sorted set.
    """

    cursors: OrderedDict[tuple[bytes, int], bytes]

    @property
    def now(self) -> int: ...

    def run(self, *command: bytes) -> Reply: ...

    def draw(self, key: bytes, count: int) -> list[int]: ...

    def members(self, key: bytes) -> Sequence[bytes]: ...

    def scores(self, key: bytes) -> Any: ...


# The reply to a command, and the deterministic commands that have the same effect when they are run again.
RewriteResult: TypeAlias = tuple[Reply, tuple[Command, ...]]


def run_unchanged(store: CommandRunner, command: Command) -> RewriteResult:
    """Run a command as it is."""
    return store.run(*command), (command,)


def check_length(length: int) -> None:
    """Raise ServiceError 400 for the length of a value that would be too long."""
    if length > LONGEST_VALUE:
        raise refusal("string exceeds maximum allowed size (proto-max-bulk-len)")


def optional_number(rest: list[bytes]) -> int | None:
    """Return the optional last argument as a number; None if it is missing or not a number."""
    if len(rest) > 1:
        raise refusal(SYNTAX)
    return integer(rest[0]) if rest else None


def draw_members(store: CommandRunner, key: bytes, count: int | None) -> list[bytes]:
    """Return `count` distinct members of a key, or all if there are fewer; one for None; -count with repetitions."""
    members, wanted = store.members(key), 1 if count is None else count
    left = len(members)
    if wanted < 0:
        return [members[number % left] for number in (store.draw(key, -wanted) if left else ())]
    if wanted >= left:
        return [*members]
    taken = []
    moved: dict[int, bytes] = {}  # what is last takes the place of what is taken
    for number in store.draw(key, wanted):
        index, left = number % left, left - 1
        taken.append(moved.get(index, members[index]))
        moved[index] = moved.get(left, members[left])
    return taken


def expiry_moment(store: CommandRunner, unit: bytes, amount: int) -> bytes | None:
    """Return the expiry of an option of SET and GETEX, as lab time in milliseconds; None if Redis refuses it."""
    scale, relative = UNITS[unit]
    when = amount * scale + (store.now if relative else 0)
    return as_text(when) if amount > 0 and when < INTEGER_LIMIT else None


def as_text(number: int) -> bytes:
    return str(number).encode()
