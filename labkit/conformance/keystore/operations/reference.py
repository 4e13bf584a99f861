"""Plain reference of bits (BITPOS, BITCOUNT) and of patterns (HSCAN with MATCH).

Written from Redis' own description of each, in the simplest way: a text is a list of bits, a pattern is walked.
"""

from __future__ import annotations

from collections.abc import Sequence


def bits_of(text: bytes) -> list[int]:
    """Return the bits of a text, the highest of each byte first."""
    return [byte >> place & 1 for byte in text for place in range(7, -1, -1)]


def count(text: bytes, ends: Sequence[int]) -> int:
    """Return the number of bits that are 1. ends: none, or start and end, in bytes."""
    start, end = ends or (0, -1)
    positions = range(0) if end < start < 0 else between(len(text), start, end)
    return sum(sum(bits_of(text[each : each + 1])) for each in positions)


def between(length: int, start: int, end: int) -> range:
    """Return the positions from start to end, both included; negative ones count from the end, down to the first."""
    first, last = (max(0, each + length) if each < 0 else each for each in (start, end))
    return range(first, min(last, length - 1) + 1)


def first_bit(text: bytes, bit: int, ends: Sequence[int], *, of_bits: bool) -> int:
    """Return the position of the first such bit. ends: none, a start, or start and end, in bytes or in bits."""
    bits = bits_of(text)
    start, end = (*ends, *(0, -1)[len(ends) :])
    scale = 1 if of_bits else 8
    positions = between(len(bits) // scale, start, end)
    for position in positions:
        for place in range(position * scale, (position + 1) * scale):
            if bits[place] == bit:
                return place
    return len(bits) if positions and not bit and len(ends) < 2 else -1


def matches(pattern: bytes, text: bytes) -> bool:
    """Return whether a text matches a pattern of Redis: * ? [a-c] [^a] and \\"""
    if not pattern:
        return not text
    if pattern[:1] == b"*":
        return any(matches(pattern[1:], text[start:]) for start in range(len(text) + 1))
    if not text:
        return False
    if pattern[:1] == b"?":
        return matches(pattern[1:], text[1:])
    if pattern[:1] == b"[":
        taken, rest = _class(pattern[1:], text[0])
        return taken and matches(rest, text[1:])
    if pattern[:1] == b"\\" and len(pattern) > 1:
        pattern = pattern[1:]
    return pattern[0] == text[0] and matches(pattern[1:], text[1:])


def _class(pattern: bytes, letter: int) -> tuple[bool, bytes]:
    """Return whether a letter is in a class, whose bracket may be missing, and the rest of the pattern."""
    negated = pattern[:1] == b"^"
    left = list(pattern[negated:])
    found = False
    while left:
        first = left.pop(0)
        if first == ord("]"):
            break
        if first == ord("\\") and left:
            found |= left.pop(0) == letter
        elif len(left) > 1 and left[0] == ord("-"):
            _, last, *left = left
            found |= min(first, last) <= letter <= max(first, last)
        else:
            found |= first == letter
    return found is not negated, bytes(left)
