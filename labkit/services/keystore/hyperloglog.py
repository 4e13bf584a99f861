"""PFADD, PFCOUNT and PFMERGE: estimates of the number of distinct elements, equal to Redis' (hyperloglog.c).

A value is a string in Redis' dense form: a header of 16 bytes and 16,384 registers of 6 bits. Redis begins with a
sparse form, so that GET and STRLEN of such a value differ; estimates do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from labkit.core.errors import ServiceError
from labkit.services.keystore.commands import Command, refusal
from labkit.services.keystore.rewriting import CommandRunner, RewriteResult, as_text, run_unchanged

REGISTERS = 2**14
RANKS = 50  # of a hash without the bits of the register's number; the largest value of a register is one more
HEADER = b"HYLL" + bytes(11) + b"\x80"  # dense, without a cached estimate
LENGTH = len(HEADER) + REGISTERS * 6 // 8
ALPHA = 0.721347520444481703680
MOST_KEYS = 100  # that one call merges
_MASK = 2**64 - 1
_FACTOR, _SHIFT, _SEED = 0xC6A4A7935BD1E995, 47, 0xADC83B19  # of MurmurHash64A

Registers = dict[int, int]


def pfadd(store: CommandRunner, command: Command) -> RewriteResult:
    """Run PFADD as SETRANGE of the bytes that change."""
    if len(command) < 2:
        return run_unchanged(store, command)
    key = command[1]
    found = _value(store, key)
    larger: Registers = {}
    for element in command[2:]:
        number, rank = _rank(element)
        larger[number] = max(rank, larger.get(number, 0))
    effects = _updates(key, found, larger)
    for effect in effects:
        store.run(*effect)
    return int(bool(effects)), effects


def pfcount(store: CommandRunner, command: Command) -> RewriteResult:
    """Run PFCOUNT."""
    if len(command) < 2:
        return run_unchanged(store, command)
    return _estimate(_merged(store, command[1:])), ()


def pfmerge(store: CommandRunner, command: Command) -> RewriteResult:
    """Run PFMERGE as SETRANGE of the bytes that change."""
    if len(command) < 2:
        return run_unchanged(store, command)
    key = command[1]
    merged = _merged(store, command[1:])
    effects = _updates(key, _value(store, key), {number: rank for number, rank in enumerate(merged) if rank})
    for effect in effects:
        store.run(*effect)
    return b"OK", effects


def _value(store: CommandRunner, key: bytes) -> bytes | None:
    """Return a value, None for a missing key. Raises ServiceError unless it is one of these commands."""
    found = store.run(b"GET", key)  # raises if the key has another type
    if found is None:
        return None
    if not isinstance(found, bytes) or len(found) != LENGTH or found[:5] != HEADER[:5]:
        raise ServiceError(400, "WRONGTYPE Key is not a valid HyperLogLog string value.")
    return found


def _updates(key: bytes, found: bytes | None, larger: Registers) -> tuple[Command, ...]:
    """Return the commands that raise registers to larger values, and create a missing value."""
    value = bytearray(HEADER + bytes(LENGTH - len(HEADER)) if found is None else found)
    changed: set[int] = set()
    for number, rank in larger.items():
        place, shift = divmod(6 * number, 8)
        place += len(HEADER)
        pair = int.from_bytes(value[place : place + 2], "little")
        before = pair >> shift & 63
        if rank > before:
            size = min(2, LENGTH - place)
            value[place : place + size] = (pair + ((rank - before) << shift)).to_bytes(2, "little")[:size]
            changed.update(range(place, place + size))
    effects: list[Command] = []
    if found is None:
        effects = [(b"SETRANGE", key, b"0", HEADER), (b"SETRANGE", key, as_text(LENGTH - 1), b"\0")]
    for start, end in _runs(sorted(changed)):
        effects.append((b"SETRANGE", key, as_text(start), bytes(value[start:end])))
    return tuple(effects)


def _runs(places: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Yield start and end of each run of adjacent places."""
    start = 0
    for index in range(1, len(places) + 1):
        if index == len(places) or places[index] != places[index - 1] + 1:
            yield places[start], places[index - 1] + 1
            start = index


def _merged(store: CommandRunner, keys: Sequence[bytes]) -> Sequence[int]:
    """Return the largest value of each register."""
    if len(keys) > MOST_KEYS:
        raise refusal(f"expected at most {MOST_KEYS} keys, not {len(keys)}")
    all_registers = [_registers(found) for key in keys if (found := _value(store, key)) is not None]
    if not all_registers:
        return bytes(REGISTERS)
    return all_registers[0] if len(all_registers) == 1 else list(map(max, *all_registers))


def _registers(value: bytes) -> list[int]:
    """Return the registers of a value; three bytes have four of them."""
    found: list[int] = []
    body = value[len(HEADER) :]
    for first, second, third in zip(body[::3], body[1::3], body[2::3], strict=True):
        found += (first & 63, first >> 6 | (second & 15) << 2, second >> 4 | (third & 3) << 4, third >> 2)
    return found


def _rank(element: bytes) -> tuple[int, int]:
    """Return the number of an element's register, and the position of the first 1 in the rest of its hash."""
    hashed = _hash(element)
    rest = hashed >> 14 | 1 << RANKS
    return hashed & REGISTERS - 1, (rest & -rest).bit_length()


def _hash(data: bytes) -> int:
    """Return MurmurHash64A of Redis' seed."""
    result = _SEED ^ len(data) * _FACTOR & _MASK
    whole = len(data) & ~7
    for start in range(0, whole, 8):
        part = int.from_bytes(data[start : start + 8], "little") * _FACTOR & _MASK
        part = (part ^ part >> _SHIFT) * _FACTOR & _MASK
        result = (result ^ part) * _FACTOR & _MASK
    if len(data) > whole:
        result = (result ^ int.from_bytes(data[whole:], "little")) * _FACTOR & _MASK
    result = (result ^ result >> _SHIFT) * _FACTOR & _MASK
    return result ^ result >> _SHIFT


def _estimate(registers: Sequence[int]) -> int:
    """Return the estimated number of elements (Ertl, New cardinality estimation algorithms for HyperLogLog)."""
    counts = [0] * 64
    for each in registers:
        counts[each] += 1
    total = REGISTERS * _tau((REGISTERS - counts[RANKS + 1]) / REGISTERS)
    for rank in range(RANKS, 0, -1):
        total = 0.5 * (total + counts[rank])
    total += REGISTERS * _sigma(counts[0] / REGISTERS)
    return math.floor(ALPHA * REGISTERS * REGISTERS / total + 0.5)


def _sigma(x: float) -> float:
    if x == 1.0:
        return math.inf
    y, z, before = 1.0, x, -1.0
    while z != before:
        x, before = x * x, z
        z += x * y
        y += y
    return z


def _tau(x: float) -> float:
    if x in (0.0, 1.0):
        return 0.0
    y, z, before = 1.0, 1.0 - x, -1.0
    while z != before:
        x, before = math.sqrt(x), z
        y *= 0.5
        z -= (1.0 - x) ** 2 * y
    return z / 3
