"""HSCAN, SSCAN and ZSCAN as in Redis, and pages of keys: cursors, options and patterns."""

from __future__ import annotations

import itertools
import re
from typing import Any

from labkit.services.keystore.commands import (
    INTEGER_LIMIT,
    NOT_AN_INTEGER,
    SYNTAX,
    Command,
    integer,
    refusal,
)
from labkit.services.keystore.glob import matcher
from labkit.services.keystore.rewriting import (
    MOST_STEPS,
    CommandRunner,
    RewriteResult,
    as_text,
    run_unchanged,
)

SMALL = 512  # items; Redis returns a hash up to this size in one HSCAN (hash-max-listpack-entries)
LONGEST_PATTERN = 1024  # bytes
LARGEST_CURSOR = 2**64 - 1
MOST_CURSORS = 1024  # that are remembered
_CURSOR = re.compile(rb"([+-]?[0-9]{1,40})?")
# Commands that return the number of items, and what belongs to names.
_SCANNED = {b"HSCAN": (b"HLEN", b"HMGET"), b"ZSCAN": (b"ZCARD", b"ZMSCORE"), b"SSCAN": (b"SCARD", b"")}


def scan(store: CommandRunner, command: Command) -> RewriteResult:
    """Run HSCAN, SSCAN or ZSCAN. Raises ServiceError with Redis' own text."""
    if len(command) < 3:
        return run_unchanged(store, command)
    cursor = _cursor(command[2])
    size_command, reading = _SCANNED[command[0]]
    size = store.run(size_command, command[1])  # raises if the key has another type
    assert isinstance(size, int)
    if not size:
        return [b"0", []], ()
    pattern, count = _scan_options(command[3:])
    if size <= SMALL:
        cursor, count = 0, size
    after, names = page(store, command[1], store.members(command[1]), cursor, count)
    if pattern is not None:
        names = _matching(pattern, names)
    if not reading or not names:
        return [as_text(after), [*names]], ()
    found = store.run(reading, command[1], *names)
    assert isinstance(found, list)
    values = [f"{0 + each:.17g}".encode() if isinstance(each, float) else each for each in found]
    return [as_text(after), [part for pair in zip(names, values, strict=True) for part in pair]], ()


def page(store: CommandRunner, key: bytes, names: Any, cursor: int, count: int) -> tuple[int, list[bytes]]:
    """Return the next cursor, 0 at the end, and at most `count` names, those after the last one of the page before.

    key: what is scanned; names: sorted list. A cursor that is not remembered counts as a position.
    """
    last = store.cursors.get((key, cursor)) if cursor else None
    bits = max(0, len(names) - 1).bit_length()
    start = _reversed(min(cursor, INTEGER_LIMIT - 1), bits) if last is None else names.bisect_right(last)
    found = [*names[start : start + count]]
    if start + count >= len(names):
        return 0, found
    after = _reversed(start + count, bits)
    store.cursors[key, after] = found[-1]
    store.cursors.move_to_end((key, after))
    if len(store.cursors) > MOST_CURSORS:
        store.cursors.popitem(last=False)
    return after, found


def _reversed(number: int, bits: int) -> int:
    """Return the lowest bits of a number in reverse order, as Redis' cursors have those of a position."""
    return int(f"{number % 2**bits:0{bits}b}"[::-1], 2)


def _matching(pattern: bytes, names: list[bytes]) -> list[bytes]:
    """Return the names that match a pattern. Raises ServiceError for too much work."""
    length = sum(map(len, names))
    if len(pattern) > LONGEST_PATTERN or len(pattern) * length > MOST_STEPS:
        raise refusal(
            f"a pattern of {len(pattern)} bytes is too long to look for in {length} bytes of fields"
        )
    matches = matcher(pattern)
    return [name for name in names if matches(name)]


def _scan_options(options: tuple[bytes, ...]) -> tuple[bytes | None, int]:
    """Return MATCH pattern and COUNT of HSCAN's options. Raises ServiceError with Redis' own text."""
    pattern, count = None, 10
    for option, value in itertools.zip_longest(options[::2], options[1::2]):
        word = b"" if value is None else option.upper()
        if word == b"COUNT":
            given = integer(value)
            if given is None:
                raise refusal(NOT_AN_INTEGER)
            count = given
        elif word == b"MATCH":
            pattern = value
        if word not in (b"COUNT", b"MATCH") or count < 1:
            raise refusal(SYNTAX)
    return pattern, count


def _cursor(text: bytes) -> int:
    """Return a cursor as Redis parses it: up to a zero byte; a negative one counts from 2**64.

    Raises ServiceError with Redis' own text.
    """
    text = text.partition(b"\0")[0]
    number = int(text or b"0") if _CURSOR.fullmatch(text) else LARGEST_CURSOR + 1
    if abs(number) > LARGEST_CURSOR:
        raise refusal("invalid cursor")
    return number % (LARGEST_CURSOR + 1)
