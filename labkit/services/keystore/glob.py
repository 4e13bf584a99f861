"""Matcher of Redis' glob patterns without backtracking, so that no pattern makes a match slow."""

from __future__ import annotations

import re
from collections.abc import Callable

_Segment = tuple["re.Pattern[bytes]", int]


def matcher(pattern: bytes) -> Callable[[bytes], bool]:
    """Return a function that tests a text against a pattern of `?`, `*`, `[a-z]`, `[^a]`, `\\` (Redis, KEYS)."""
    first, *rest = _segments(pattern)

    def matches(text: bytes) -> bool:
        if not rest:
            return first[0].fullmatch(text) is not None
        found = first[0].match(text)
        for expression, _ in rest[:-1]:
            if found is None:
                return False
            found = expression.search(text, found.end())  # the leftmost place leaves the most for the rest
        if found is None:
            return False
        last, width = rest[-1]
        start = len(text) - width
        return start >= found.end() and last.fullmatch(text, start) is not None

    return matches


def _segments(pattern: bytes) -> list[_Segment]:
    """Return the parts between the stars as expressions, with the number of characters that they match."""
    segments: list[list[bytes]] = [[]]
    position = 0
    while position < len(pattern):
        character = pattern[position : position + 1]
        position += 1
        if character == b"*":
            segments.append([])
        elif character == b"?":
            segments[-1].append(b".")
        elif character == b"[":
            members, position = _members(pattern, position)
            segments[-1].append(members)
        else:
            if character == b"\\" and position < len(pattern):
                character = pattern[position : position + 1]
                position += 1
            segments[-1].append(re.escape(character))
    return [(re.compile(b"".join(segment), re.DOTALL), len(segment)) for segment in segments]


def _members(pattern: bytes, position: int) -> tuple[bytes, int]:
    """Return the character class that begins at `position`, and the position after it."""
    members = b""
    negated = pattern[position : position + 1] == b"^"
    position += negated
    while position < len(pattern):
        character = pattern[position : position + 1]
        position += 1
        if character == b"]":
            break
        if character == b"\\" and position < len(pattern):
            members += re.escape(pattern[position : position + 1])
            position += 1
        elif pattern[position : position + 1] == b"-" and position + 1 < len(pattern):
            ends = sorted((character, pattern[position + 1 : position + 2]))
            members += re.escape(ends[0]) + b"-" + re.escape(ends[1])
            position += 2
        else:
            members += re.escape(character)
    if not members:
        return (b"." if negated else b"(?!)."), position
    return b"[" + b"^" * negated + members + b"]", position
