"""Validation of the options of range commands on sorted sets, as in Redis (t_zset.c, zrangeGenericCommand).

fakeredis accepts the options of ZRANGE for all six commands, and checks them after the bounds of the range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from labkit.services.keystore.commands import NOT_AN_INTEGER, SYNTAX, Command, refusal


@dataclass(frozen=True, slots=True)
class Range:
    """Properties of a range command. by: rank, score or member; backwards: its order. None: options decide."""

    by: bytes | None
    backwards: bool | None


RANK, SCORE, LEXICAL = b"", b"BYSCORE", b"BYLEX"
RANGES: Mapping[bytes, Range] = MappingProxyType(
    {
        b"ZRANGE": Range(None, None),
        b"ZREVRANGE": Range(RANK, True),
        b"ZRANGEBYSCORE": Range(SCORE, False),
        b"ZREVRANGEBYSCORE": Range(SCORE, True),
        b"ZRANGEBYLEX": Range(LEXICAL, False),
        b"ZREVRANGEBYLEX": Range(LEXICAL, True),
    }
)


def checked_range(command: Command, integer: Callable[[bytes], int | None]) -> Command:
    """Return a range command without options that have no effect. Raises ServiceError with Redis' own text.

    integer: parses an integer as Redis does, and returns None for an invalid one.
    """
    if len(command) < 4:
        return command
    declared = RANGES[command[0]]
    by, backwards, with_scores, limit = declared.by, declared.backwards, False, -1
    options = list(command[4:])
    kept: list[bytes] = []
    while options:
        option = options.pop(0)
        word = option.upper()
        if word == b"WITHSCORES":
            with_scores = True
        elif word == b"LIMIT" and len(options) >= 2:
            offset, count = integer(options[0]), integer(options[1])
            if offset is None or count is None:
                raise refusal(NOT_AN_INTEGER)
            kept, limit = [word, *options[:2]], count
            del options[:2]
        elif word == b"REV" and backwards is None:
            backwards = True
        elif word in (SCORE, LEXICAL) and by is None:
            by = word
        else:
            raise refusal(SYNTAX)
    by = by or RANK
    _check(by, with_scores, limit)
    if by == RANK:
        if None in map(integer, command[2:4]):
            raise refusal(NOT_AN_INTEGER)
        kept = []  # with a rank only a limit of -1 is valid, which has no effect
    own = [by] if by and declared.by is None else []
    own += [b"REV"] if backwards and declared.backwards is None else []
    return (*command[:4], *own, *kept, *([b"WITHSCORES"] if with_scores else []))


def _check(by: bytes, with_scores: bool, limit: int) -> None:
    if limit != -1 and by == RANK:
        text = "LIMIT is only supported in combination with either BYSCORE or BYLEX"
    elif with_scores and by == LEXICAL:
        text = "WITHSCORES not supported in combination with BYLEX"
    else:
        return
    raise refusal(f"syntax error, {text}")
