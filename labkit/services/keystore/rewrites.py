"""Rewriting of commands that depend on time, chance or a machine's floats to deterministic commands.

The embedded store runs the rewritten commands and stores them in its log. A relative expiry becomes an absolute time,
SPOP becomes SREM of the members it drew, INCRBYFLOAT becomes SET of the sum. This also corrects differences between
fakeredis and Redis: fakeredis truncates the expiry of SETEX to whole seconds, adds floats as doubles, and draws members
from a generator that cannot be seeded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import chain
from types import MappingProxyType

from labkit.services.keystore.commands import INTEGER_LIMIT, NOT_AN_INTEGER, Command, integer, refusal
from labkit.services.keystore.floats import add_decimals
from labkit.services.keystore.further import FURTHER
from labkit.services.keystore.ranges import RANGES, checked_range
from labkit.services.keystore.rewriting import (
    LARGEST_BIT,
    MOST_MEMBERS,
    REFUSED_TIME,
    UNITS,
    CommandRunner,
    RewriteResult,
    check_length,
    draw_members,
    expiry_moment,
    optional_number,
    run_unchanged,
)
from labkit.services.keystore.scans import scan


def first_bit(
    data: bytes, bit: int, start: int | None = None, end: int | None = None, *, of_bits: bool = False
) -> int:
    """Return the position of the first 1, or 0, from start to end (BITPOS of Redis); -1 if there is none.

    start, end: indexes of bytes, with `of_bits` of bits, both inclusive; negative indexes count from the end. Without
    `end` the data counts as followed by zeros.
    """
    scale = 1 if of_bits else 8
    size = len(data) * 8 // scale
    first = _from_start(start or 0, size) * scale
    last = min(_from_start(-1 if end is None else end, size), size - 1) * scale + scale - 1
    if first > last:
        return -1
    aligned = -(-first // 8)
    other = b"\xff\x00"[bit : bit + 1]
    left = data[aligned : last // 8 + 1].lstrip(other)  # from the first byte that contains such a bit
    begins = 8 * (last // 8 + 1 - len(left))
    head, body = range(first, min(8 * aligned, last + 1)), range(begins, min(begins + 8, last + 1))
    for position in chain(head, body):
        if data[position // 8] >> 7 - position % 8 & 1 == bit:
            return position
    return 8 * len(data) if bit == 0 and end is None else -1


def _from_start(index: int, size: int) -> int:
    return max(0, index + size if index < 0 else index)


LONGEST_NUMBER = 4000  # characters of a float, and its largest power of ten (Redis' largest is 4932)
SMALLEST_POWER = -4951
_CONDITIONS = frozenset({b"NX", b"XX", b"GT", b"LT"})  # options of the commands below
# Milliseconds of a unit, and whether the time is relative.
_EXPIRIES = {
    b"EXPIRE": (1000, True),
    b"PEXPIRE": (1, True),
    b"EXPIREAT": (1000, False),
    b"PEXPIREAT": (1, False),
}


def expire(store: CommandRunner, command: Command) -> RewriteResult:
    """Run EXPIRE, PEXPIRE, EXPIREAT or PEXPIREAT as PEXPIREAT. Raises ServiceError 400 as Redis does."""
    name, key, *rest = command
    if len(rest) > 1:
        _check_conditions(rest[1:])
    amount = integer(rest[0]) if rest else None
    if amount is None:
        return run_unchanged(store, command)
    scale, relative = _EXPIRIES[name]
    when = amount * scale
    in_range = when >= -INTEGER_LIMIT  # as Redis checks it, before the current time is added
    if relative:
        when += store.now
    if not (in_range and when < INTEGER_LIMIT):
        raise refusal(f"invalid expire time in '{name.decode().lower()}' command")
    if when <= store.now:
        when = store.now - 1  # deletes the key at once, as Redis does; at `now` it would still exist
    made = (b"PEXPIREAT", key, b"%d" % when, *rest[1:])
    return store.run(*made), (made,)


def _check_conditions(options: Sequence[bytes]) -> None:
    """Raise ServiceError for invalid options of EXPIRE, which Redis checks before the time, fakeredis after it."""
    given = {each.upper() for each in options}
    for each in options:
        if each.upper() not in _CONDITIONS:
            shown = each.partition(b"\0")[0].decode(errors="replace")  # Redis shows it as a C string
            raise refusal(f"Unsupported option {shown}")
    if b"NX" in given and len(given) > 1:
        raise refusal("NX and XX, GT or LT options at the same time are not compatible")
    if given >= {b"GT", b"LT"}:
        raise refusal("GT and LT options at the same time are not compatible")


def _setex(store: CommandRunner, command: Command) -> RewriteResult:
    name, *rest = command
    amount = integer(rest[1]) if len(rest) == 3 else None
    when = None if amount is None else expiry_moment(store, b"PX" if name == b"PSETEX" else b"EX", amount)
    if when is not None:
        return run_unchanged(store, (b"SET", rest[0], rest[2], b"PXAT", when))
    if amount is not None:
        rest[1] = REFUSED_TIME
    return run_unchanged(store, (name, *rest))


def _set(store: CommandRunner, command: Command) -> RewriteResult:
    options = list(command[3:])
    for index, option in enumerate(options[:-1]):
        unit = option.upper()
        if unit not in UNITS:
            continue
        amount = integer(options[index + 1])
        when = None if amount is None else expiry_moment(store, unit, amount)
        if when is None and amount is not None:
            options[index + 1] = REFUSED_TIME
        if when is None or any(other.upper() in UNITS for other in options[index + 2 :]):
            break  # the command is refused, as in Redis
        options[index : index + 2] = b"PXAT", when
        break
    return run_unchanged(store, (*command[:3], *options))


def _ttl(store: CommandRunner, command: Command) -> RewriteResult:
    if len(command) != 2:
        return run_unchanged(store, command)
    left = store.run(b"PTTL", command[1])
    assert isinstance(left, int)
    return ((left + 500) // 1000 if left >= 0 else left), ()  # Redis rounds half up, fakeredis half to even


def _spop(store: CommandRunner, command: Command) -> RewriteResult:
    if len(command) < 2:
        return run_unchanged(store, command)
    key, *rest = command[1:]
    count = optional_number(rest)
    if rest and (count is None or count < 0):
        raise refusal("value is out of range, must be positive")
    store.run(b"SCARD", key)  # raises if the key has another type
    taken = draw_members(store, key, count)
    effects = ((b"SREM", key, *taken),) if taken else ()
    for effect in effects:
        store.run(*effect)
    if count is None:
        return (taken[0] if taken else None), effects
    return [*taken], effects


def _srandmember(store: CommandRunner, command: Command) -> RewriteResult:
    if len(command) < 2:
        return run_unchanged(store, command)
    key, *rest = command[1:]
    count = optional_number(rest)
    if rest and count is None:
        raise refusal(NOT_AN_INTEGER)
    if count is not None and count < -MOST_MEMBERS:
        raise refusal(f"value is out of range, value must between -{MOST_MEMBERS} and {INTEGER_LIMIT - 1}")
    store.run(b"SCARD", key)  # raises if the key has another type
    drawn = draw_members(store, key, count)
    if count is None:
        return (drawn[0] if drawn else None), ()
    return [*drawn], ()


def _decrby(store: CommandRunner, command: Command) -> RewriteResult:
    if len(command) == 3 and integer(command[2]) == -INTEGER_LIMIT:  # its negative does not fit into 64 bits
        raise refusal("decrement would overflow")
    return run_unchanged(store, command)


def _incrbyfloat(store: CommandRunner, command: Command) -> RewriteResult:
    """Run INCRBYFLOAT or HINCRBYFLOAT. Redis checks their arguments in different orders."""
    name, *rest = command
    hashed = name == b"HINCRBYFLOAT"
    if len(rest) != (3 if hashed else 2):
        return run_unchanged(store, command)
    *target, amount = rest
    if hashed:
        _check_float(amount, "value is not a valid float")
        if _INFINITE.fullmatch(amount):
            raise refusal("value is NaN or Infinity")
    stored = store.run(b"HGET" if hashed else b"GET", *target)  # raises if the key has another type
    old = stored if isinstance(stored, bytes) else b"0"
    _check_float(old, "hash value is not a float" if hashed else "value is not a valid float")
    _check_float(amount, "value is not a valid float")
    if _INFINITE.fullmatch(old) or _INFINITE.fullmatch(amount):
        raise refusal("increment would produce NaN or Infinity")
    total = add_decimals(old, amount)
    effect = (b"HSET", *target, total) if hashed else (b"SET", *target, total, b"KEEPTTL")
    store.run(*effect)
    return total, (effect,)


_FLOAT = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
_INFINITE = re.compile(rb"[+-]?inf(inity)?", re.IGNORECASE)


def _check_float(text: bytes, wrong: str) -> None:
    """Raise ServiceError unless a text is infinite or a decimal number of an allowed size. wrong: its message."""
    if _INFINITE.fullmatch(text):
        return
    readable = len(text) <= LONGEST_NUMBER and _FLOAT.fullmatch(text)
    if not readable or not SMALLEST_POWER <= _power(text) < LONGEST_NUMBER:
        raise refusal(wrong)


def _power(text: bytes) -> float:
    """Return the power of ten of a decimal number; 0 for zero."""
    try:
        number = Decimal(text.decode())
    except InvalidOperation:  # Decimal cannot represent an exponent of 19 digits or more
        return math.inf
    return number.adjusted() if number else 0


def _setbit(store: CommandRunner, command: Command) -> RewriteResult:
    offset = integer(command[2]) if len(command) == 4 else None
    if offset is not None and offset > LARGEST_BIT:
        raise refusal("bit offset is not an integer or out of range")
    return run_unchanged(store, command)


def _append(store: CommandRunner, command: Command) -> RewriteResult:
    if len(command) == 3 and command[2]:
        length = store.run(b"STRLEN", command[1])
        assert isinstance(length, int)
        check_length(length + len(command[2]))
    return run_unchanged(store, command)


def _bitpos(store: CommandRunner, command: Command) -> RewriteResult:
    # fakeredis converts the whole value to binary digits, and treats an end before the first byte as an empty range.
    ends, unit = [integer(end) for end in command[3:5]], command[5].upper() if command[5:] else b"BYTE"
    well_formed = 3 <= len(command) <= 6 and command[2] in (b"0", b"1") and None not in ends
    value = store.run(b"GET", command[1]) if well_formed and unit in (b"BYTE", b"BIT") else None
    if not isinstance(value, bytes) or not value:
        return run_unchanged(store, command)
    return first_bit(value, int(command[2]), *ends, of_bits=unit == b"BIT"), ()


def _range(store: CommandRunner, command: Command) -> RewriteResult:
    return run_unchanged(store, checked_range(command, integer))


# Rewrites by command; the other commands run unchanged. All raise ServiceError with Redis' own text.
REWRITES: Mapping[bytes, Callable[[CommandRunner, Command], RewriteResult]] = MappingProxyType(
    {
        **dict.fromkeys(_EXPIRIES, expire),
        b"SETEX": _setex,
        b"PSETEX": _setex,
        b"SET": _set,
        b"TTL": _ttl,
        b"SPOP": _spop,
        b"SRANDMEMBER": _srandmember,
        b"DECRBY": _decrby,
        b"INCRBYFLOAT": _incrbyfloat,
        b"HINCRBYFLOAT": _incrbyfloat,
        b"APPEND": _append,
        b"SETBIT": _setbit,
        b"BITPOS": _bitpos,
        b"HSCAN": scan,
        **dict.fromkeys(RANGES, _range),
        **FURTHER,
    }
)
