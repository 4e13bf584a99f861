"""Rewrites of commands beyond the platform's list, for the same reasons as those in `rewrites`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from labkit.services.keystore.bitmaps import bitfield, bitop
from labkit.services.keystore.commands import (
    INTEGER_LIMIT,
    NOT_AN_INTEGER,
    SYNTAX,
    Command,
    Reply,
    integer,
    refusal,
)
from labkit.services.keystore.contents import read_command, write_command
from labkit.services.keystore.geo import RADIUS, geoadd, geodist, geohash, geopos, georadius, geosearch
from labkit.services.keystore.hyperloglog import pfadd, pfcount, pfmerge
from labkit.services.keystore.lcs import common_subsequence
from labkit.services.keystore.ranges import checked_range
from labkit.services.keystore.rewriting import (
    MOST_MEMBERS,
    MOST_STEPS,
    UNITS,
    CommandRunner,
    RewriteResult,
    as_text,
    check_length,
    draw_members,
    expiry_moment,
    run_unchanged,
)
from labkit.services.keystore.scans import scan
from labkit.services.keystore.sorting import sort

MOST_CELLS = 2_000_000  # of LCS' table; takes up to a few tenths of a second
_ENDS = frozenset({b"LEFT", b"RIGHT"})


# ---- strings


def _mget(store: CommandRunner, command: Command) -> RewriteResult:
    reply = store.run(*command)
    size = sum(len(each) for each in reply if isinstance(each, bytes)) if isinstance(reply, list) else 0
    if size > MOST_STEPS:
        raise refusal(f"the values have {size} bytes, more than {MOST_STEPS}")
    return reply, ()


def _setrange(store: CommandRunner, command: Command) -> RewriteResult:
    offset = integer(command[2]) if len(command) == 4 else None
    if offset is not None and offset >= 0 and command[3]:
        check_length(offset + len(command[3]))
    return run_unchanged(store, command)


def _getex(store: CommandRunner, command: Command) -> RewriteResult:
    """Run GETEX. Redis checks its options, then the key, then the time."""
    if len(command) < 3:
        return run_unchanged(store, command)
    key, word, rest = command[1], command[2].upper(), command[3:]
    if len(rest) != (0 if word == b"PERSIST" else 1) or word not in (b"PERSIST", *UNITS):
        raise refusal(SYNTAX)
    value = store.run(b"GET", key)
    if value is None:
        return None, ()
    effect: Command = (b"PERSIST", key)
    if rest:
        amount = integer(rest[0])
        if amount is None:
            raise refusal(NOT_AN_INTEGER)
        when = expiry_moment(store, word, amount)
        if when is None:
            raise refusal("invalid expire time in 'getex' command")
        effect = (b"PEXPIREAT", key, as_text(max(int(when), store.now - 1)))
    store.run(*effect)
    return value, (effect,)


def _lcs(store: CommandRunner, command: Command) -> RewriteResult:
    if len(command) < 3:
        return run_unchanged(store, command)
    found = [store.run(b"GET", key) for key in command[1:3]]  # raises if a key has another type
    one, other = (each if isinstance(each, bytes) else b"" for each in found)
    only_length, with_ranges, shortest, with_lengths = _lcs_options(command[3:])
    if only_length and with_ranges:
        raise refusal("If you want both the length and indexes, please just use IDX.")
    if (len(one) + 1) * (len(other) + 1) > MOST_CELLS:
        raise refusal("Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len")
    common, matches = common_subsequence(one, other)
    if only_length:
        return len(common), ()
    if not with_ranges:
        return common, ()
    ranges: list[Reply] = [
        [[*each.first], [*each.second], *([each.length] if with_lengths else [])]
        for each in matches
        if each.length >= shortest
    ]
    return {b"matches": ranges, b"len": len(common)}, ()


def _lcs_options(options: Sequence[bytes]) -> tuple[bool, bool, int, bool]:
    """Return whether LEN and IDX are given, MINMATCHLEN and whether WITHMATCHLEN is given. Raises ServiceError."""
    words = set()
    shortest, position = 0, 0
    while position < len(options):
        word = options[position].upper()
        if word == b"MINMATCHLEN" and position + 1 < len(options):
            position += 1
            given = integer(options[position])
            if given is None:
                raise refusal(NOT_AN_INTEGER)
            shortest = max(0, given)
        elif word not in (b"LEN", b"IDX", b"WITHMATCHLEN"):
            raise refusal(SYNTAX)
        words.add(word)
        position += 1
    return b"LEN" in words, b"IDX" in words, shortest, b"WITHMATCHLEN" in words


# ---- keys


def _touch(store: CommandRunner, command: Command) -> RewriteResult:
    return store.run(b"EXISTS", *command[1:]), ()


def _copy(store: CommandRunner, command: Command) -> RewriteResult:
    """Run COPY by reading and writing the value, since fakeredis would store the same object twice."""
    if len(command) < 3:
        return run_unchanged(store, command)
    source, target, *options = command[1:]
    if any(each.upper() != b"REPLACE" for each in options):
        raise refusal(SYNTAX)
    if source == target:
        raise refusal("source and destination objects are the same")
    kind = store.run(b"TYPE", source)
    if not isinstance(kind, bytes) or kind == b"none" or (store.run(b"EXISTS", target) and not options):
        return 0, ()
    effects = [(b"DEL", target), write_command(kind, target, store.run(*read_command(kind, source)))]
    left = store.run(b"PTTL", source)
    if isinstance(left, int) and left >= 0:
        effects.append((b"PEXPIREAT", target, as_text(store.now + left)))
    for effect in effects:
        store.run(*effect)
    return 1, tuple(effects)


# ---- lists, sets and sorted sets


def _lpos(store: CommandRunner, command: Command) -> RewriteResult:
    options = command[3:]
    for option, value in zip(options[::2], options[1::2], strict=False):
        word, number = option.upper(), integer(value)
        if word == b"RANK":
            if number is None:
                raise refusal(NOT_AN_INTEGER)
            if number == 0:
                raise refusal(
                    "RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative "
                    "to start from the end of the list"
                )
        elif word in (b"COUNT", b"MAXLEN") and (number is None or number < 0):
            raise refusal(f"{word.decode()} can't be negative")
        elif word not in (b"COUNT", b"MAXLEN"):
            break
    return run_unchanged(store, command)


def _lmove(store: CommandRunner, command: Command) -> RewriteResult:
    if len(command) == 5 and not _ENDS.issuperset(each.upper() for each in command[3:]):
        raise refusal(SYNTAX)
    return run_unchanged(store, command)


def _zpop(store: CommandRunner, command: Command) -> RewriteResult:
    if len(command) > 3:
        raise refusal(SYNTAX)
    if len(command) == 3 and ((number := integer(command[2])) is None or number < 0):
        raise refusal("value is out of range, must be positive")
    return run_unchanged(store, command)


# Words for an end, each with the command that pops there; and the command that returns the number of items.
_POPS: Mapping[bytes, tuple[Mapping[bytes, bytes], bytes]] = {
    b"LMPOP": ({b"LEFT": b"LPOP", b"RIGHT": b"RPOP"}, b"LLEN"),
    b"ZMPOP": ({b"MIN": b"ZPOPMIN", b"MAX": b"ZPOPMAX"}, b"ZCARD"),
}


def _mpop(store: CommandRunner, command: Command) -> RewriteResult:
    """Run LMPOP or ZMPOP as a pop from the first key that has items."""
    name, *rest = command
    if len(rest) < 3:
        return run_unchanged(store, command)
    ends, size = _POPS[name]
    keys, options = _numbered_keys(rest, SYNTAX)
    end = ends.get(options[0].upper()) if options else None
    if end is None:
        raise refusal(SYNTAX)
    count = 1
    if options[1:]:
        if len(options) != 3 or options[1].upper() != b"COUNT":
            raise refusal(SYNTAX)
        given = integer(options[2])
        if given is None or given < 1:
            raise refusal("count should be greater than 0")
        count = given
    for key in keys:
        if store.run(size, key):  # raises if the key has another type
            effect = (end, key, as_text(count))
            return [key, store.run(*effect)], (effect,)
    return None, ()


def _intercard(store: CommandRunner, command: Command) -> RewriteResult:
    """Run SINTERCARD or ZINTERCARD."""
    name, *rest = command
    if len(rest) < 2:
        return run_unchanged(store, command)
    in_sets = name == b"SINTERCARD"
    keys, options = _numbered_keys(
        rest, "Number of keys can't be greater than number of args" if in_sets else SYNTAX
    )
    limit = 0
    for option, value in zip(options[::2], [*options[1::2], b""], strict=False):
        if option.upper() != b"LIMIT" or len(options) % 2:
            raise refusal(SYNTAX)
        given = integer(value)
        if given is None or given < 0:
            raise refusal("LIMIT can't be negative")
        limit = given
    members = store.run(b"SINTER", *keys) if in_sets else store.run(b"ZINTER", rest[0], *keys)
    count = len(members) if isinstance(members, list) else 0
    return (min(count, limit) if limit else count), ()


def _numbered_keys(rest: Sequence[bytes], too_few: str) -> tuple[Sequence[bytes], Sequence[bytes]]:
    """Return the keys that follow their number, and the options after them. too_few: text if keys are missing."""
    number = integer(rest[0])
    if number is None or number < 1:
        raise refusal("numkeys should be greater than 0")
    if number > len(rest) - 1:
        raise refusal(too_few)
    return rest[1 : 1 + number], rest[1 + number :]


def _zrangestore(store: CommandRunner, command: Command) -> RewriteResult:
    if len(command) < 5:
        return run_unchanged(store, command)
    target, *rest = command[1:]
    if any(each.upper() == b"WITHSCORES" for each in rest[3:]):
        raise refusal(SYNTAX)
    _, *checked = checked_range((b"ZRANGE", *rest), integer)
    if store.run(b"TYPE", target) in (b"zset", b"none"):
        return run_unchanged(store, (b"ZRANGESTORE", target, *checked))
    store.run(b"ZCARD", rest[0])  # raises if it has another type, before the target is deleted
    store.run(b"ZRANGE", *checked)  # raises for a wrong argument
    effects: tuple[Command, ...] = (b"DEL", target), (b"ZRANGESTORE", target, *checked)
    return [store.run(*effect) for effect in effects][1], effects


# Commands that return the number of items, and what belongs to names; option that asks for the latter.
_DRAWN = {
    b"HRANDFIELD": (b"HLEN", b"HMGET", b"WITHVALUES"),
    b"ZRANDMEMBER": (b"ZCARD", b"ZMSCORE", b"WITHSCORES"),
}


def _draw(store: CommandRunner, command: Command) -> RewriteResult:
    """Run HRANDFIELD or ZRANDMEMBER."""
    if len(command) < 2:
        return run_unchanged(store, command)
    name, key, *rest = command
    size, reading, option = _DRAWN[name]
    count = integer(rest[0]) if rest else None
    if rest and count is None:
        raise refusal(NOT_AN_INTEGER)
    if len(rest) > 2 or (len(rest) == 2 and rest[1].upper() != option):
        raise refusal(SYNTAX)
    if count is not None and count < -MOST_MEMBERS:
        raise refusal(f"value is out of range, value must between -{MOST_MEMBERS} and {INTEGER_LIMIT - 1}")
    store.run(size, key)  # raises if the key has another type
    drawn = draw_members(store, key, count)
    if count is None:
        return (drawn[0] if drawn else None), ()
    if len(rest) < 2 or not drawn:
        return [*drawn], ()
    found = store.run(reading, key, *drawn)
    assert isinstance(found, list)
    return [[*pair] for pair in zip(drawn, found, strict=True)], ()


FURTHER: Mapping[bytes, Callable[[CommandRunner, Command], RewriteResult]] = MappingProxyType(
    {
        b"MGET": _mget,
        b"SETRANGE": _setrange,
        b"GETEX": _getex,
        b"LCS": _lcs,
        b"BITOP": bitop,
        b"BITFIELD": bitfield,
        b"BITFIELD_RO": bitfield,
        b"TOUCH": _touch,
        b"LPOS": _lpos,
        b"COPY": _copy,
        b"LMOVE": _lmove,
        b"LMPOP": _mpop,
        b"SINTERCARD": _intercard,
        b"ZINTERCARD": _intercard,
        b"SSCAN": scan,
        b"ZSCAN": scan,
        b"ZPOPMIN": _zpop,
        b"ZPOPMAX": _zpop,
        b"ZMPOP": _mpop,
        b"ZRANGESTORE": _zrangestore,
        b"HRANDFIELD": _draw,
        b"ZRANDMEMBER": _draw,
        b"GEOADD": geoadd,
        b"GEODIST": geodist,
        b"GEOHASH": geohash,
        b"GEOPOS": geopos,
        b"GEOSEARCH": geosearch,
        b"GEOSEARCHSTORE": geosearch,
        **dict.fromkeys(RADIUS, georadius),
        b"SORT": sort,
        b"SORT_RO": sort,
        b"PFADD": pfadd,
        b"PFCOUNT": pfcount,
        b"PFMERGE": pfmerge,
    }
)
