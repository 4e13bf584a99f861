"""HSCAN, SSCAN and ZSCAN as in Redis: cursors, options and patterns."""

from __future__ import annotations

import itertools
import re

from labkit.services.keystore.commands import (
    INTEGER_LIMIT,
    NOT_AN_INTEGER,
    SYNTAX,
    Command,
    Reply,
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
_CURSOR = re.compile(rb"([+-]?[0-9]{1,40})?")
# Command that returns the number of items, and the number of parts of an item in the reply.
_SCANNED = {b"HSCAN": (b"HLEN", 2), b"ZSCAN": (b"ZCARD", 2), b"SSCAN": (b"SCARD", 1)}


def scan(store: CommandRunner, command: Command) -> RewriteResult:
    """Run HSCAN, SSCAN or ZSCAN. Raises ServiceError with Redis' own text."""
    if len(command) < 3:
        return run_unchanged(store, command)
    cursor = _cursor(command[2])
    size_command, width = _SCANNED[command[0]]
    size = store.run(size_command, command[1])  # raises if the key has another type
    assert isinstance(size, int)
    if not size:
        return [b"0", []], ()
    pattern, count = _scan_options(command[3:])
    if size <= SMALL:
        cursor, count = 0, size
    start = as_text(min(cursor, INTEGER_LIMIT - 1))  # fakeredis' cursors have 63 bits
    reply = store.run(command[0], command[1], start, b"COUNT", as_text(count))
    if pattern is not None and isinstance(reply, list) and isinstance(reply[1], list):
        reply[1] = _matching(pattern, reply[1], width)
    return reply, ()


def _matching(pattern: bytes, parts: list[Reply], width: int) -> list[Reply]:
    """Return the items that match a pattern, each with its other parts. Raises ServiceError for too much work."""
    items = [parts[start : start + width] for start in range(0, len(parts), width)]
    named = [(name, item) for item in items if isinstance(name := item[0], bytes)]
    length = sum(len(name) for name, _ in named)
    if len(pattern) > LONGEST_PATTERN or len(pattern) * length > MOST_STEPS:
        raise refusal(
            f"a pattern of {len(pattern)} bytes is too long to look for in {length} bytes of fields"
        )
    matches = matcher(pattern)
    return [part for name, item in named if matches(name) for part in item]


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
