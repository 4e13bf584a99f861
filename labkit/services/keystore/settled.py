"""Commands whose effect depends on time, chance or a machine's floats, as ones whose effect does not.

The embedded store runs these instead, and its log keeps them: a relative expiry becomes a time, SPOP the
members it took, INCRBYFLOAT its sum. That also settles where fakeredis is not Redis: it cuts the expiry of
SETEX to whole seconds, adds floats as doubles, and draws members from a generator that no seed reaches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from labkit.core.errors import ServiceError
from labkit.services.keystore.commands import Command, Reply
from labkit.services.keystore.floats import added
from labkit.services.keystore.glob import matcher

# So that one call cannot fill the memory: a bitmap of 1 MiB, as if proto-max-bulk-len were that,
LARGEST_BIT = 8 * 2**20 - 1
MOST_MEMBERS = 100_000  # and so many from SRANDMEMBER with repeats.
LONGEST = 2**63
LONGEST_NUMBER = 4000  # characters of a float
_UNITS = {b"EX": (1000, True), b"PX": (1, True), b"EXAT": (1000, False), b"PXAT": (1, False)}


class Store(Protocol):
    """What runs commands as they are.

    now: lab time in milliseconds; draw: `count` random numbers of 64 bits from the stream of a key.
    """

    @property
    def now(self) -> int: ...

    def run(self, *command: bytes) -> Reply: ...

    def draw(self, key: bytes, count: int) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class Settled:
    """The reply to a command, and the commands that had its effect and would have it again."""

    reply: Reply
    effects: tuple[Command, ...] = ()


def settle(store: Store, command: Command) -> Settled:
    """Run a command. Raises ServiceError with Redis' own text where it is refused."""
    rewrite = _REWRITES.get(command[0])
    if rewrite is None:
        return Settled(store.run(*command), (command,))
    return rewrite(store, command)


def _as_is(store: Store, command: Command) -> Settled:
    return Settled(store.run(*command), (command,))


def _expire(store: Store, command: Command) -> Settled:
    name, key, *rest = command
    amount = _integer(rest[0]) if rest else None
    if amount is None:
        return _as_is(store, command)
    when = amount * (1 if name.startswith(b"P") else 1000)
    if not name.endswith(b"AT"):
        when += store.now
    if not -LONGEST <= when < LONGEST:
        raise ServiceError(400, f"ERR invalid expire time in '{name.decode().lower()}' command")
    if when <= store.now:
        when = store.now - 1  # Redis deletes it at once; a key that expires now would live to the end of now
    return _as_is(store, (b"PEXPIREAT", key, _text(when), *rest[1:]))


def _setex(store: Store, command: Command) -> Settled:
    name, *rest = command
    amount = _integer(rest[1]) if len(rest) == 3 else None
    when = None if amount is None else _moment(store, b"PX" if name == b"PSETEX" else b"EX", amount)
    if when is None:
        return _as_is(store, command)
    return _as_is(store, (b"SET", rest[0], rest[2], b"PXAT", when))


def _set(store: Store, command: Command) -> Settled:
    options = list(command[3:])
    for index, option in enumerate(options[:-1]):
        unit = option.upper()
        if unit not in _UNITS:
            continue
        amount = _integer(options[index + 1])
        when = None if amount is None else _moment(store, unit, amount)
        if when is None or any(other.upper() in _UNITS for other in options[index + 2 :]):
            break  # refused as it is
        options[index : index + 2] = b"PXAT", when
        return _as_is(store, (*command[:3], *options))
    return _as_is(store, command)


def _moment(store: Store, unit: bytes, amount: int) -> bytes | None:
    """The time that an option of SET names, in milliseconds; None where Redis refuses it."""
    scale, relative = _UNITS[unit]
    when = amount * scale + (store.now if relative else 0)
    return _text(when) if amount > 0 and when < LONGEST else None


def _ttl(store: Store, command: Command) -> Settled:
    if len(command) != 2:
        return _as_is(store, command)
    left = store.run(b"PTTL", command[1])
    assert isinstance(left, int)
    return Settled((left + 500) // 1000 if left >= 0 else left)  # fakeredis rounds halves to even


def _spop(store: Store, command: Command) -> Settled:
    if len(command) < 2:
        return _as_is(store, command)
    key, *rest = command[1:]
    count = _optional(rest)
    if rest and (count is None or count < 0):
        raise ServiceError(400, "ERR value is out of range, must be positive")
    taken = _sample(store, key, _members(store, key), 1 if count is None else count)
    effects = ((b"SREM", key, *taken),) if taken else ()
    for effect in effects:
        store.run(*effect)
    if count is None:
        return Settled(taken[0] if taken else None, effects)
    return Settled([*taken], effects)


def _srandmember(store: Store, command: Command) -> Settled:
    if len(command) < 2:
        return _as_is(store, command)
    key, *rest = command[1:]
    count = _optional(rest)
    if rest and count is None:
        raise ServiceError(400, "ERR value is not an integer or out of range")
    if count is not None and count < -MOST_MEMBERS:
        raise ServiceError(
            400, f"ERR value is out of range, value must between -{MOST_MEMBERS} and {LONGEST - 1}"
        )
    members = _members(store, key)
    if count is None:
        return Settled(_sample(store, key, members, 1)[0] if members else None)
    if count >= 0:
        return Settled([*_sample(store, key, members, count)])
    return Settled([members[number % len(members)] for number in store.draw(key, -count)] if members else [])


def _optional(rest: list[bytes]) -> int | None:
    """The one argument that a command may have, as a number; None where there is none or it is no number."""
    if len(rest) > 1:
        raise ServiceError(400, "ERR syntax error")
    return _integer(rest[0]) if rest else None


def _members(store: Store, key: bytes) -> list[bytes]:
    members = store.run(b"SMEMBERS", key)
    assert isinstance(members, list)
    return sorted(member for member in members if isinstance(member, bytes))


def _sample(store: Store, key: bytes, members: list[bytes], count: int) -> list[bytes]:
    """`count` different members, or all where there are no more."""
    members, taken = list(members), []
    if count >= len(members):
        return members
    for number in store.draw(key, count):
        index = number % len(members)
        members[index], members[-1] = members[-1], members[index]
        taken.append(members.pop())
    return taken


def _incrbyfloat(store: Store, command: Command) -> Settled:
    name, *rest = command
    if len(rest) != (2 if name == b"INCRBYFLOAT" else 3):
        return _as_is(store, command)
    *place, amount = rest
    read, write = (b"GET", b"SET") if name == b"INCRBYFLOAT" else (b"HGET", b"HSET")
    of_its_kind = store.run(b"TYPE", place[0]) == (b"string" if read == b"GET" else b"hash")
    held = store.run(read, *place) if of_its_kind else None
    old = held if isinstance(held, bytes) else b"0"
    if max(len(amount), len(old)) > LONGEST_NUMBER or b"_" in amount:  # which Python reads, but not Redis
        raise ServiceError(400, "ERR value is not a valid float")
    number = _float(old)
    if number is None and read == b"HGET":
        raise ServiceError(400, "ERR hash value is not a float")
    if number is not None and math.isinf(number):
        amount = b"inf"  # then so is the sum, whatever the amount: refused
    store.run(name, *place, amount)
    total = added(old, amount)
    effect = (write, *place, total, *((b"KEEPTTL",) if write == b"SET" else ()))
    store.run(*effect)
    return Settled(total, (effect,))


def _float(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _setbit(store: Store, command: Command) -> Settled:
    offset = _integer(command[2]) if len(command) > 2 else None
    if offset is not None and offset > LARGEST_BIT:
        raise ServiceError(400, "ERR bit offset is not an integer or out of range")
    return _as_is(store, command)


def _bitpos(store: Store, command: Command) -> Settled:
    ends = [_integer(end) for end in command[3:5]]
    if not any(end is not None and end < 0 for end in ends):
        return _as_is(store, command)
    length = store.run(b"STRLEN", command[1])
    assert isinstance(length, int)
    size = length * 8 if command[5:] and command[5].upper() == b"BIT" else length
    # An end before the first byte is the first byte; fakeredis takes it for an empty range.
    places = [
        _text(max(0, size + end)) if end is not None and end < 0 else given
        for end, given in zip(ends, command[3:5], strict=True)
    ]
    return _as_is(store, (*command[:3], *places, *command[5:]))


def _hscan(store: Store, command: Command) -> Settled:
    options, pattern = list(command[:3]), None
    if len(command) > 2 and not command[2].isdigit():
        raise ServiceError(400, "ERR invalid cursor")
    rest = iter(command[3:])
    for option in rest:
        value = next(rest, None)
        if option.upper() == b"MATCH" and value is not None:
            pattern = value
        else:
            options += [option] if value is None else [option, value]
    reply = store.run(*options)
    if pattern is not None and isinstance(reply, list) and isinstance(reply[1], list):
        matches = matcher(pattern)
        pairs = zip(reply[1][::2], reply[1][1::2], strict=True)
        reply[1] = [
            item for pair in pairs if isinstance(pair[0], bytes) and matches(pair[0]) for item in pair
        ]
    return Settled(reply)


def _integer(text: bytes) -> int | None:
    """A whole number as Redis reads it: decimal, no sign but a minus, nothing around it; None otherwise."""
    digits = text.removeprefix(b"-")
    if not digits.isdigit() or len(digits) > 19 or (digits[:1] == b"0" and text != b"0"):
        return None
    number = int(text)
    return number if -LONGEST <= number < LONGEST else None


def _text(number: int) -> bytes:
    return str(number).encode()


_REWRITES: Mapping[bytes, Callable[[Store, Command], Settled]] = MappingProxyType(
    {
        b"EXPIRE": _expire,
        b"PEXPIRE": _expire,
        b"EXPIREAT": _expire,
        b"PEXPIREAT": _expire,
        b"SETEX": _setex,
        b"PSETEX": _setex,
        b"SET": _set,
        b"TTL": _ttl,
        b"SPOP": _spop,
        b"SRANDMEMBER": _srandmember,
        b"INCRBYFLOAT": _incrbyfloat,
        b"HINCRBYFLOAT": _incrbyfloat,
        b"SETBIT": _setbit,
        b"BITPOS": _bitpos,
        b"HSCAN": _hscan,
    }
)
