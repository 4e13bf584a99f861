"""Keystore: every command of the platform's list, with the results that Redis gives.

A play is a sequence of commands on one key, each with its arguments and expected result. The commands that the
documents use have their own checks in pattern/checks.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labkit.conformance import device_client, expect
from labkit.conformance.check import check
from labkit.conformance.probe import Keystore
from labkit.conformance.target import Target


@dataclass(frozen=True)
class AnyOrder:
    """An expected list, in any order."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class OneOf:
    """Alternative expected values."""

    values: tuple[object, ...]


Play = list[tuple[str, tuple[object, ...], Any]]

NOTHING = None  # the result is nil
LEFT = OneOf((99, 100))  # seconds left of 100

STRINGS: Play = [
    ("setnx", ("hello",), 1),
    ("setnx", ("other",), 0),
    ("strlen", (), 5),
    ("append", (" you",), 9),
    ("getrange", (0, 4), "hello"),
    ("getrange", (-3, -1), "you"),
    ("getset", ("new",), "hello you"),
    ("get", (), "new"),
    ("set", ("a",), "OK"),
    ("set", ("b", "NX"), NOTHING),
    ("set", ("b", "XX"), "OK"),
    ("get", (), "b"),
    ("type", (), "string"),
    ("exists", (), 1),
    ("del", (), 1),
    ("exists", (), 0),
    ("del", (), 0),
    ("get", (), NOTHING),
    ("type", (), "none"),
]
NUMBERS: Play = [
    ("incr", (), 1),
    ("incrby", (9,), 10),
    ("decr", (), 9),
    ("decrby", (4,), 5),
    ("incrbyfloat", ("0.25",), "5.25"),
    ("incrbyfloat", (-5.25,), "0"),
]
BITS: Play = [
    ("setbit", (7, 1), 0),
    ("setbit", (8, 1), 0),
    ("getbit", (7,), 1),
    ("getbit", (6,), 0),
    ("bitcount", (), 2),
    ("bitcount", (1, 1), 1),
    ("bitpos", (1,), 7),
    ("bitpos", (0, 1), 9),
    ("strlen", (), 2),
    ("del", (), 1),
    ("bitpos", (1,), -1),
    ("bitpos", (0,), 0),
    *[("setbit", (bit, 1), 0) for bit in range(16)],
    ("bitpos", (0,), 16),
    ("bitpos", (0, 1), 16),
    ("bitpos", (0, 2), -1),
    ("bitpos", (0, 0, -1), -1),
    ("bitpos", (1, 1, -1), 8),
    ("bitpos", (1, -1), 8),
    ("setbit", (3, 0), 1),
    ("setbit", (12, 0), 1),
    ("bitpos", (0,), 3),
    ("bitpos", (0, 1), 12),
    ("bitpos", (0, 0, 0), 3),
    ("bitpos", (0, 1, 0), -1),
    ("bitcount", (), 14),
    ("bitcount", (0, 0), 7),
    ("bitcount", (-1, -1), 7),
    ("bitcount", (2, 5), 0),
    ("get", (), "\N{REPLACEMENT CHARACTER}" * 2),
    ("setbit", (40, 1), 0),
    ("bitpos", (1, 2), 40),
    ("bitpos", (1, 2, 4), -1),
]
LISTS: Play = [
    ("lpushx", ("x",), 0),
    ("rpushx", ("x",), 0),
    ("rpush", ("b", "c"), 2),
    ("lpush", ("a",), 3),
    ("rpushx", ("e",), 4),
    ("linsert", ("BEFORE", "e", "d"), 5),
    ("linsert", ("AFTER", "none", "x"), -1),
    ("lpushx", ("0",), 6),
    ("llen", (), 6),
    ("lrange", (0, -1), ["0", "a", "b", "c", "d", "e"]),
    ("lindex", (0,), "0"),
    ("lindex", (-1,), "e"),
    ("lindex", (9,), NOTHING),
    ("lset", (1, "A"), "OK"),
    ("lpop", (), "0"),
    ("rpop", (), "e"),
    ("rpush", ("b",), 5),
    ("lrem", (-1, "b"), 1),
    ("lrange", (0, -1), ["A", "b", "c", "d"]),
    ("ltrim", (1, 2), "OK"),
    ("lrange", (0, -1), ["b", "c"]),
    ("type", (), "list"),
]
SETS: Play = [
    ("sadd", ("a", "b", "a"), 2),
    ("sadd", ("b", "c"), 1),
    ("scard", (), 3),
    ("sismember", ("a",), 1),
    ("sismember", ("z",), 0),
    ("smembers", (), AnyOrder(("a", "b", "c"))),
    ("srandmember", (), OneOf(("a", "b", "c"))),
    ("srandmember", (9,), AnyOrder(("a", "b", "c"))),
    ("scard", (), 3),
    ("srem", ("a", "z"), 1),
    ("spop", (), OneOf(("b", "c"))),
    ("scard", (), 1),
    ("type", (), "set"),
]
EXPIRY: Play = [
    ("ttl", (), -2),
    ("pttl", (), -2),
    ("setex", (100, "a"), "OK"),
    ("get", (), "a"),
    ("ttl", (), LEFT),
    ("persist", (), 1),
    ("persist", (), 0),
    ("ttl", (), -1),
    ("pttl", (), -1),
    ("psetex", (100_000, "b"), "OK"),
    ("ttl", (), LEFT),
    ("persist", (), 1),
    ("pexpire", (100_000,), 1),
    ("ttl", (), LEFT),
    ("set", ("c",), "OK"),
    ("ttl", (), -1),
    *(
        row
        for command, args, result in (
            ("set", ("1", "EX", 100), "OK"),
            ("incrbyfloat", ("0.5",), "1.5"),
            ("append", ("5",), 4),
            ("getbit", (1,), 0),
            ("set", ("c", "KEEPTTL"), "OK"),
        )
        for row in ((command, args, result), ("ttl", (), LEFT))
    ),
    ("expire", (0,), 1),
    ("exists", (), 0),
]
SORTED: Play = [
    ("zadd", (2, "b", 1, "a", 3, "c"), 3),
    ("zadd", (4, "c"), 0),
    ("zcard", (), 3),
    ("zscore", ("c",), "4"),
    ("zscore", ("z",), NOTHING),
    ("zincrby", ("0.5", "a"), "1.5"),
    ("zrank", ("a",), 0),
    ("zrank", ("z",), NOTHING),
    ("zrevrank", ("a",), 2),
    ("zcount", (1.5, 2), 2),
    ("zcount", ("(1.5", "+inf"), 2),
    ("zrange", (0, -1), ["a", "b", "c"]),
    ("zrange", (0, 0, "WITHSCORES"), ["a", "1.5"]),
    ("zrevrange", (0, 1), ["c", "b"]),
    ("zrangebyscore", ("-inf", 2), ["a", "b"]),
    ("zrevrangebyscore", (4, 2), ["c", "b"]),
    ("zremrangebyrank", (0, 0), 1),
    ("zremrangebyscore", (4, 4), 1),
    ("zrem", ("b", "z"), 1),
    ("type", (), "none"),
]
LEXICAL: Play = [
    ("zadd", (0, "a", 0, "b", 0, "c", 0, "d"), 4),
    ("zlexcount", ("[b", "+"), 3),
    ("zrangebylex", ("-", "(c"), ["a", "b"]),
    ("zrevrangebylex", ("+", "[c"), ["d", "c"]),
    ("zremrangebylex", ("[b", "[c"), 2),
    ("zrange", (0, -1), ["a", "d"]),
    ("type", (), "zset"),
]
HASHES: Play = [
    ("hset", ("a", 1), 1),
    ("hset", ("a", 2), 0),
    ("hsetnx", ("a", 3), 0),
    ("hsetnx", ("b", "text"), 1),
    ("hmset", ("c", "x", "d", "y"), "OK"),
    ("hget", ("a",), "2"),
    ("hget", ("z",), NOTHING),
    ("hmget", ("a", "z", "b"), ["2", None, "text"]),
    ("hgetall", (), {"a": "2", "b": "text", "c": "x", "d": "y"}),
    ("hkeys", (), AnyOrder(("a", "b", "c", "d"))),
    ("hvals", (), AnyOrder(("2", "text", "x", "y"))),
    ("hlen", (), 4),
    ("hexists", ("a",), 1),
    ("hexists", ("z",), 0),
    ("hstrlen", ("b",), 4),
    ("hincrby", ("a", 5), 7),
    ("hincrbyfloat", ("a", "0.5"), "7.5"),
    ("hdel", ("a", "b", "z"), 2),
    ("hscan", (0, "MATCH", "c*"), ["0", ["c", "x"]]),
    ("type", (), "hash"),
]


@check("KEY-CMD-3", "the commands of strings, numbers and bits")
async def strings(target: Target) -> None:
    await _play(target, STRINGS, NUMBERS, BITS)


@check("KEY-CMD-5", "infinite amounts and sums are refused")
async def infinite(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    for amount in ("inf", "-inf", "+Infinity"):
        await store.refused("command", 400, command="incrbyfloat", key=key, args=[amount])
        await store.refused("command", 400, command="hincrbyfloat", key=f"{key} h", args=["f", amount])
        await store.set(f"{key} held", amount)
        await store.refused("command", 400, command="incrbyfloat", key=f"{key} held", args=["1"])
    store.same("what there is", await store.command(key, "exists", f"{key} h"), 0)


@check("KEY-CMD-3", "the commands of lists and sets")
async def lists_and_sets(target: Target) -> None:
    await _play(target, LISTS, SETS)


@check("KEY-CMD-3", "the commands of sorted sets and hashes")
async def sorted_sets_and_hashes(target: Target) -> None:
    await _play(target, SORTED, LEXICAL, HASHES)


@check("KEY-CMD-3", "the commands of expiry")
async def expiry(target: Target) -> None:
    await _play(target, EXPIRY)
    store, key = Keystore(target), target.identity()
    now = await device_client.now(target.device("token-open"))
    await store.set(key, "a")
    for command, when in (("expireat", now + 100), ("pexpireat", (now + 100) * 1000)):
        store.same(f"what {command} gives", await store.command(key, command, when), 1)
        left = await store.command(key, "ttl")
        expect.true(f"seconds left after {command}", isinstance(left, int) and 90 < left <= 100, left)


@check("KEY-CMD-3", "del and exists take several keys")
async def several_keys(target: Target) -> None:
    store = Keystore(target)
    one, two, none = target.identity(), target.identity(), target.identity()
    await store.set(one, "1")
    await store.set(two, "2")
    store.same("what exists gives", await store.command(one, "exists", two, none), 2)
    store.same("what del gives", await store.command(none, "del", one, two), 2)
    store.same("what exists gives", await store.command(one, "exists", two, none), 0)


async def _play(target: Target, *plays: Play) -> None:
    store = Keystore(target)
    for each in plays:
        key = target.identity()
        for command, args, expected in each:
            found = await store.command(key, command, *args)
            what = f"what {command} {' '.join(map(str, args))} gives".replace("  ", " ")
            if isinstance(expected, OneOf):
                expect.true(
                    f"{what} is one of {expected.values}", found in expected.values, found, store.last
                )
            elif isinstance(expected, AnyOrder):
                items = sorted(found) if isinstance(found, list) else found
                store.same(what, items, list(expected.items))
            else:
                store.same(what, found, expected)
