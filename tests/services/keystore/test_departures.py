"""Differences between fakeredis and Redis: an example of each row of the two tables that correct them.

If fakeredis answers a row's example as the table does, the row is no longer needed.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import pytest

from labkit.core.errors import ServiceError
from labkit.core.identifiers import Identifiers
from labkit.labtime.clock import Clock
from labkit.services.keystore import fakeredis_socket
from labkit.services.keystore.arguments import LONGEST_VALUE
from labkit.services.keystore.commands import Command, Reply
from labkit.services.keystore.embedded import Embedded
from labkit.services.keystore.fakeredis_socket import WORDINGS
from labkit.services.keystore.outside import ExternalRedis
from labkit.services.keystore.rewrites import REWRITES
from labkit.services.keystore.rewriting import LARGEST_BIT, MOST_MEMBERS, MOST_STEPS
from tests.cases import cases

START = 1_767_225_600.9365  # in the middle of a second, where truncated times show
LAST = 2**63 - 1  # the latest possible time, in milliseconds
NOT_AN_INTEGER = "ERR value is not an integer or out of range"
NOT_A_FLOAT = "ERR min or max is not a float"
SYNTAX = "ERR syntax error"
WRONG_TYPE = "WRONGTYPE"
UNKNOWN_COMMAND, BEGINNING = "ERR unknown command", "with args beginning with: "
NO_RANK = (
    "RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the "
    "end of the list"
)
NO_SCORES = f"{SYNTAX}, WITHSCORES not supported in combination with BYLEX"


Result: TypeAlias = "Reply | str"  # or the text of a refusal


class Example(NamedTuple):
    """A command on the key k, or `then` after it; before: commands that fill the key; several are divided by ` ; `.

    fakeredis, ours: the reply of each. compared: whether Redis replies as we do; it does not where a limit is our own,
    and cannot be compared if the reply depends on the millisecond.
    """

    command: str
    fakeredis: Any
    ours: Any
    before: str = ""
    then: str = ""
    compared: bool = True


def expiring(name: str) -> Example:
    return Example(f"{name} k x FOO", NOT_AN_INTEGER, "ERR Unsupported option FOO", "SET k v")


ARITY = "ERR wrong number of arguments for"
NO_UNIT = "ERR unsupported unit provided. please use M, KM, FT, MI"
EXAMPLES = {
    **{name: expiring(name) for name in ("EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT")},
    "SETEX": Example("SETEX k 5 v", 4, 5, then="TTL k"),
    "PSETEX": Example("PSETEX k 5900 v", 5, 6, then="TTL k"),
    "SET": Example(
        f"SET k v PX {LAST - int(START * 1000)}",
        "ERR invalid expire time in 'set' command",
        b"OK",
        compared=False,
    ),
    "TTL": Example("TTL k", 2, 3, "SET k v PX 2500", compared=False),
    "SPOP": Example("SPOP k x", NOT_AN_INTEGER, "ERR value is out of range, must be positive", "SADD k a"),
    "SRANDMEMBER": Example(
        f"SRANDMEMBER k -{MOST_MEMBERS + 1}",
        [],
        f"ERR value is out of range, value must between -{MOST_MEMBERS} and {LAST}",
        compared=False,
    ),
    "DECRBY": Example(
        f"DECRBY k -{LAST + 1}", "ERR increment or decrement would overflow", "ERR decrement would overflow"
    ),
    "INCRBYFLOAT": Example("INCRBYFLOAT k 0.2", b"0.30000000000000004", b"0.3", "SET k 0.1"),
    "HINCRBYFLOAT": Example("HINCRBYFLOAT k f 0.2", b"0.30000000000000004", b"0.3", "HSET k f 0.1"),
    "APPEND": Example(
        "APPEND k v",
        LONGEST_VALUE + 1,
        "ERR string exceeds maximum allowed size (proto-max-bulk-len)",
        f"SET k {'v' * LONGEST_VALUE}",
        compared=False,
    ),
    "SETBIT": Example(
        f"SETBIT k {LARGEST_BIT + 1} 1",
        0,
        "ERR bit offset is not an integer or out of range",
        compared=False,
    ),
    "BITPOS": Example("BITPOS k 0 0 -9", -1, 0, "SET k \x7f"),
    "HSCAN": Example(f"HSCAN k {2**64 - 1}", NOT_AN_INTEGER, [b"0", [b"f", b"v"]], "HSET k f v"),
    "ZRANGE": Example("ZRANGE k x y", NOT_A_FLOAT, NOT_AN_INTEGER),
    "ZREVRANGE": Example("ZREVRANGE k 0 -1 BYSCORE", [], SYNTAX, "ZADD k 1 a"),
    "ZRANGEBYSCORE": Example("ZRANGEBYSCORE k x 5 LIMIT y 5", NOT_A_FLOAT, NOT_AN_INTEGER),
    "ZREVRANGEBYSCORE": Example("ZREVRANGEBYSCORE k x 5 LIMIT y 5", NOT_A_FLOAT, NOT_AN_INTEGER),
    "ZRANGEBYLEX": Example("ZRANGEBYLEX k - + WITHSCORES", SYNTAX, NO_SCORES),
    "ZREVRANGEBYLEX": Example("ZREVRANGEBYLEX k + - WITHSCORES", SYNTAX, NO_SCORES),
    "MGET": Example(
        f"MGET {' '.join(['k'] * 20)}",
        [b"v" * LONGEST_VALUE] * 20,
        f"ERR the values have {20 * LONGEST_VALUE} bytes, more than {MOST_STEPS}",
        f"SET k {'v' * LONGEST_VALUE}",
        compared=False,
    ),
    "SETRANGE": Example(
        f"SETRANGE k {LONGEST_VALUE} v",
        LONGEST_VALUE + 1,
        "ERR string exceeds maximum allowed size (proto-max-bulk-len)",
        compared=False,
    ),
    "GETEX": Example(f"GETEX k EX {LAST}", "ERR invalid expire time in 'getex' command", None),
    "LCS": Example(
        "LCS k k IDX",
        {b"matches": [[[2, 0], [2, 0]]], b"len": 3},
        {b"matches": [[[0, 2], [0, 2]]], b"len": 3},
        "SET k abc",
    ),
    "BITOP": Example(
        "BITOP NOT k k k",
        "ERR BITOP NOT must be called with a single source key",
        "ERR BITOP NOT must be called with a single source key.",
    ),
    "BITFIELD": Example("BITFIELD k OVERFLOW FAIL INCRBY u1 15 5", 0, 2, then="STRLEN k"),
    "BITFIELD_RO": Example("BITFIELD_RO k GET u8 0", f"{UNKNOWN_COMMAND} 'bitfield_ro', {BEGINNING}", [0]),
    "TOUCH": Example("TOUCH k", f"{UNKNOWN_COMMAND} 'touch', {BEGINNING}", 1, "SET k v"),
    "COPY": Example("COPY k c REPLACE", 0, 1, "SADD k x", then="SMOVE k d x ; SCARD c"),
    "LPOS": Example("LPOS k x RANK 0", NO_RANK, f"ERR {NO_RANK}", "RPUSH k x"),
    "LMOVE": Example("LMOVE k k middle LEFT", None, SYNTAX),
    "LMPOP": Example(
        "LMPOP 1 k LEFT COUNT x", NOT_AN_INTEGER, "ERR count should be greater than 0", "RPUSH k x"
    ),
    "SINTERCARD": Example(
        "SINTERCARD 2 k k", "WRONGTYPE Operation against a key holding the wrong kind of value", 0
    ),
    "ZINTERCARD": Example("ZINTERCARD 1 k LIMIT x", NOT_AN_INTEGER, "ERR LIMIT can't be negative"),
    "SSCAN": Example("SSCAN k -0", NOT_AN_INTEGER, [b"0", []]),
    "ZSCAN": Example("ZSCAN k -0", NOT_AN_INTEGER, [b"0", []]),
    "ZPOPMIN": Example("ZPOPMIN k x", NOT_AN_INTEGER, "ERR value is out of range, must be positive"),
    "ZPOPMAX": Example("ZPOPMAX k x", NOT_AN_INTEGER, "ERR value is out of range, must be positive"),
    "ZMPOP": Example(
        "ZMPOP 1 k MIN COUNT x", NOT_AN_INTEGER, "ERR count should be greater than 0", "ZADD k 1 x"
    ),
    "ZRANGESTORE": Example("ZRANGESTORE k k 0 x", NOT_A_FLOAT, NOT_AN_INTEGER),
    "HRANDFIELD": Example("HRANDFIELD k x", None, NOT_AN_INTEGER),
    **{
        name: Example(
            f"{name} k k",
            f"{WRONG_TYPE} Operation against a key holding the wrong kind of value",
            f"{WRONG_TYPE} Key is not a valid HyperLogLog string value.",
            "SET k v",
        )
        for name in ("PFADD", "PFCOUNT", "PFMERGE")
    },
    "ZRANDMEMBER": Example("ZRANDMEMBER k", [], None),
    **{
        name: Example(
            f"{name} k GET c*",
            [b"v" * LONGEST_VALUE] * 20,
            f"ERR the values have {20 * LONGEST_VALUE} bytes, more than {MOST_STEPS}",
            f"SET c1 {'v' * LONGEST_VALUE} ; RPUSH k {' '.join(['1'] * 20)}",
            compared=False,
        )
        for name in ("SORT", "SORT_RO")
    },
    "GEOADD": Example("GEOADD k 13 38", SYNTAX, f"{ARITY} 'geoadd' command"),
    "GEOPOS": Example("GEOPOS k", f"{ARITY} 'geopos' command", []),
    "GEOHASH": Example("GEOHASH k", f"{ARITY} 'geohash' command", []),
    "GEODIST": Example("GEODIST k a b parsec", None, NO_UNIT),
    "GEOSEARCH": Example("GEOSEARCH k FROMLONLAT 0 0 BYBOX 5 1 m", NO_UNIT, []),
    "GEOSEARCHSTORE": Example("GEOSEARCHSTORE d k FROMLONLAT 0 0 BYBOX 5 1 m", NO_UNIT, 0),
    **{
        name: Example(f"{name} k 181 28 5 m", [], "ERR invalid longitude,latitude pair 181.000000,28.000000")
        for name in ("GEORADIUS", "GEORADIUS_RO")
    },
    **{
        name: Example(f"{name} k a 5 m COUNT 0", [], "ERR COUNT must be > 0")
        for name in ("GEORADIUSBYMEMBER", "GEORADIUSBYMEMBER_RO")
    },
}
WORDED = {
    "ERR Wrong number of args calling Redis command from script": "HSET k f v g",
    "ERR invalid expire time in {0}": "SETEX k 0 v",
    "ERR min or max not a valid string range item": "ZRANGEBYLEX k x y",
}


def of(text: str) -> Command:
    return tuple(word.encode() for word in text.split(" "))


def embedded() -> Embedded:
    store = Embedded(Clock(rate=0, start=START), Identifiers(7), None)
    store.now = int(START * 1000)
    return store


async def outcome(
    store: Embedded | ExternalRedis, text: str, run: Callable[..., Reply] | None = None
) -> Result:
    """Return the reply to a command, or the text of its refusal. run: another function that runs it."""
    try:
        return await store.execute(of(text)) if run is None else run(*of(text))
    except ServiceError as error:
        return error.message


async def run_all(store: Embedded | ExternalRedis, texts: str) -> Result:
    """Return the last reply to several commands, or the text of its refusal."""
    reply: Result = None
    for text in texts.split(" ; ") if texts else ():
        reply = await outcome(store, text)
    return reply


def test_each_row_has_an_example() -> None:
    assert {name.encode() for name in EXAMPLES} == set(REWRITES)
    assert set(WORDED) == set(WORDINGS)


@cases("name", EXAMPLES)
async def test_fakeredis_replies_differently_to_a_rewritten_command(name: str) -> None:
    example = EXAMPLES[name]
    for raw, expected in ((True, example.fakeredis), (False, example.ours)):
        store = embedded()
        await run_all(store, example.before)
        reply = await outcome(store, example.command, store.run if raw else None)
        if example.then:
            reply = await run_all(store, example.then)
        assert reply == expected, raw


@cases("name", [name for name, each in EXAMPLES.items() if each.compared])
async def test_redis_replies_like_the_rewritten_command(name: str, redis_url: str) -> None:
    example = EXAMPLES[name]
    redis = ExternalRedis(Clock(), redis_url)
    await redis.start()
    try:
        await redis.execute(of("DEL k c d"))
        await run_all(redis, example.before)
        reply = await outcome(redis, example.command)
        if example.then:
            reply = await run_all(redis, example.then)
        assert reply == example.ours
    finally:
        await redis.execute(of("DEL k c d"))
        await redis.stop()


@cases("theirs", WORDED)
async def test_a_refusal_has_redis_text(theirs: str, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command = WORDED[theirs]
    name = command.partition(" ")[0].lower()
    store = embedded()
    ours = await outcome(store, command, store.run)
    assert ours == WORDINGS[theirs].format(name)
    with monkeypatch.context() as patched:
        patched.setattr(fakeredis_socket, "WORDINGS", MappingProxyType({}))
        assert await outcome(store, command, store.run) == theirs.format(name)
    redis = ExternalRedis(Clock(), redis_url)
    await redis.start()
    try:
        assert await outcome(redis, command) == ours
    finally:
        await redis.stop()
