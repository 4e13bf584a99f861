"""Differential test of the embedded Keystore and a real Redis: same values or kinds of errors for random commands.

LABKIT_SIZE=full runs many more. Times are a day or more away, or past: the edges of expiry are in
the check at-the-second.
"""

from __future__ import annotations

import os
import platform
import random
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from labkit.core.errors import ServiceError
from labkit.labtime.clock import Clock
from labkit.services.keystore import Keystore
from labkit.services.keystore.commands import COMMANDS, LISTED
from tests.services.keystore.forms import FURTHER
from tests.services.keystore.played import FORMS, KEYS, CommandGenerator, RandomCommand
from tests.services.keystore.stores import ACME, opened
from tests.sizes import size

SEED = 2026
X87 = platform.machine().lower() in ("x86_64", "amd64")  # long double of INCRBYFLOAT, also ours
TIMES = ("ttl", "pttl", "expiretime", "pexpiretime")
SLACK = 5  # seconds that may pass between both calls

ERRORS = {
    "wrong type": "^WRONGTYPE ",
    "arity": "^ERR wrong number of arguments for '",
    "syntax": "^ERR syntax error|^ERR Unsupported option |options? at the same time are not compatible"
    "|^ERR INCR option supports a single increment-element pair",
    "not an integer": "^ERR (hash )?value is not an integer( or out of range)?$|^ERR invalid cursor$",
    "not a float": "^ERR (hash |weight )?value is not a (valid )?float$|^ERR min or max is not a float$",
    "infinite": "NaN",
    "place": "unsupported unit|need numeric |cannot be negative$|could not decode requested|invalid longitude,"
    "|COUNT must be|the ANY argument|exactly one of|is not compatible with",
    "not a score": "One or more scores can't be converted into double$",
    "overflow": "would overflow$",
    "out of range": "^ERR value is out of range|^ERR index out of range$",
    "bit": "^ERR bit (offset )?is not an integer or out of range$|^ERR The bit argument must be 1 or 0.$",
    "lexical range": "^ERR min or max not valid string range item$",
    "no key": "^ERR no such key$",
    "expiry": "^ERR invalid expire time in '",
    "key": "^Parameter args validation failed: ",  # our refusal: a key among the arguments
}


@dataclass(frozen=True)
class Outcome:
    """Outcome of a command: a value, or a kind of error."""

    kind: str
    value: object = None
    text: str = ""


@dataclass(frozen=True)
class Known:
    """A known difference with its reason. The outcomes are kinds of errors, or `value`.

    names: the commands with the difference, all if empty; mark: a part of an argument that leads to it.
    """

    reason: str
    names: str
    embedded: str
    real: str
    mark: str = ""

    def covers(self, played: RandomCommand, embedded: Outcome, real: Outcome) -> bool:
        return (
            (embedded.kind, real.kind) == (self.embedded, self.real)
            and (not self.names or played.name.lower() in self.names.split())
            and (not self.mark or any(self.mark in arg for arg in played.args))
        )


KNOWN = [
    Known("ZRANK has a third argument since Redis 7.2", "zrank zrevrank", "syntax", "arity"),
    Known("fakeredis counts LPOP's arguments late", "lpop rpop", "syntax", "arity"),
    Known("Redis answers for a missing key at once", "bitcount bitpos", "syntax", "value"),
    Known("C reads hexadecimal floats", "", "not a float", "value", mark="0x"),
    Known("C reads hexadecimal floats", "", "place", "value", mark="0x"),
    Known("Python reads digits grouped with _", "", "value", "not a float", mark="_"),
]


def is_known(played: RandomCommand, embedded: Outcome, real: Outcome) -> bool:
    """Return whether a difference is a known one, or a key of the wrong type together with a wrong argument.

    Redis and fakeredis check the two in different order; both refuse.
    """
    refusals = {embedded.kind, real.kind} - {"value"}
    if len(refusals) == 2 and "wrong type" in refusals:
        return True
    return any(each.covers(played, embedded, real) for each in KNOWN)


async def run(keystore: Keystore, played: RandomCommand) -> Outcome:
    """Run a command with validation of its arguments, as for a script."""
    declared = keystore.operations["command"]
    parameters = {"command": played.name, "key": played.key, "args": played.args}
    try:
        result: Any = await declared.function(keystore, ACME, **declared.arguments(parameters))
    except ServiceError as error:
        text = error.message
        kinds = [kind for kind, pattern in ERRORS.items() if re.search(pattern, text)]
        return Outcome(kinds[0] if len(kinds) == 1 else f"another error: {text}", text=text)
    return Outcome("value", result.get("value"))


def is_equal(name: str, embedded: Outcome, real: Outcome) -> bool:
    """Return whether both values are equal, except for the order of a hash's fields and the passing of time."""
    if embedded.kind != real.kind or embedded.kind != "value":
        return embedded.kind == real.kind
    one, other = (arranged(name, outcome.value) for outcome in (embedded, real))
    if name in TIMES and isinstance(one, int) and isinstance(other, int) and min(one, other) >= 0:
        return abs(one - other) <= SLACK * (1000 if name[0] == "p" else 1)
    return one == other


def arranged(name: str, value: Any) -> object:
    """Return a value, sorted if Redis promises no order."""
    if name in ("hkeys", "hvals"):
        return sorted(value)
    if name.startswith(("geosearch", "georadius")) and isinstance(value, list):
        return sorted(value, key=repr)  # without an order, or of equal distances
    if name in ("hscan", "zscan"):
        cursor, found = value
        return cursor, sorted(zip(found[::2], found[1::2], strict=True))
    if name == "sscan":
        return value[0], sorted(value[1])
    return value


def chosen(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value] if value is not None else []


class Pair:
    """The embedded store and a real Redis, with equal contents."""

    def __init__(self, embedded: Keystore, real: Keystore, now: int) -> None:
        self.embedded = embedded
        self.real = real
        self.now = now
        self.differed = 0

    async def outcomes_of(self, name: str, key: str, *args: str) -> tuple[Outcome, Outcome]:
        """Return the outcome of a command on each."""
        played = RandomCommand(name, key, [*args])
        return await run(self.embedded, played), await run(self.real, played)

    async def play(self, played: RandomCommand) -> Outcome:
        """Run a command on both, which must agree except for known differences; return the outcome of the real one."""
        name = played.name.lower()
        held = await run(self.real, RandomCommand(*DRAWING[name](played.key))) if name in DRAWING else None
        embedded, real = await self.outcomes_of(played.name, played.key, *played.args)
        if held is not None and embedded.kind == real.kind == "value":
            agree = is_equal_draw(played, embedded.value, real.value, held.value)
            if name == "spop":  # both remove the members that either drew
                await self.outcomes_of("srem", played.key, *chosen(embedded.value), *chosen(real.value))
        else:
            agree = is_equal(name, embedded, real)
        if not agree:
            assert is_known(played, embedded, real), f"{played}: embedded {embedded}, real {real}"
            self.differed += 1
            others = [each for each in played.args if each in KEYS]
            await self.outcomes_of("del", played.key, *others)  # their contents may differ now
        return real

    async def compare_contents(self) -> None:
        """Assert that every key has the same value on both, for the same time."""
        reads = {"string": ["get"], "list": ["lrange", "0", "-1"], "set": ["smembers"]}
        reads |= {"hash": ["hgetall"], "zset": ["zrange", "0", "-1", "WITHSCORES"]}
        for key in KEYS:
            kind, real_kind = await self.outcomes_of("type", key)
            assert kind == real_kind
            if kind.value != "none":
                name, *args = reads[str(kind.value)]
                held, really_held = await self.outcomes_of(name, key, *args)
                assert held == really_held
            assert is_equal("ttl", *await self.outcomes_of("ttl", key))


# Commands that draw at random, with the command that returns all that may be drawn.
DRAWING: dict[str, Callable[[str], tuple[str, str, list[str]]]] = {
    "spop": lambda key: ("smembers", key, []),
    "srandmember": lambda key: ("smembers", key, []),
    "hrandfield": lambda key: ("hgetall", key, []),
    "zrandmember": lambda key: ("zrange", key, ["0", "-1", "WITHSCORES"]),
}


def is_equal_draw(played: RandomCommand, one: Any, other: Any, held: Any) -> bool:
    """Return whether both drew the same number of existing members, without repeats if none are allowed."""
    repeats = bool(played.args) and played.args[0].startswith("-")
    drawn: list[list[Any]] = [[*chosen(one)], [*chosen(other)]]
    known: set[Any] = {*held}
    if len(played.args) == 2:  # with values or scores
        drawn = [[*zip(each[::2], each[1::2], strict=True)] for each in drawn]
        known = {*(held.items() if isinstance(held, dict) else zip(held[::2], held[1::2], strict=True))}
    elif played.name.lower() == "zrandmember":
        known = {*held[::2]}
    return (
        type(one) is type(other)
        and len(drawn[0]) == len(drawn[1])
        and {*drawn[0], *drawn[1]} <= known
        and (repeats or len(set(drawn[0])) == len(drawn[0]))
    )


@pytest.fixture
async def pair(redis_url: str) -> AsyncIterator[Pair]:
    clock = Clock()
    domain = f"differential-{os.getpid()}.localhost"  # tests in other processes may use the same Redis
    async with (
        opened(clock=clock) as embedded,
        opened(clock=clock, url=redis_url, domain=domain) as real,
    ):
        await real.call("clear")
        yield Pair(embedded.keystore, real.keystore, clock.seconds())
        await real.call("clear")


def test_every_command_of_the_list_is_tested() -> None:
    assert set(FORMS) == LISTED
    assert set(FURTHER) == COMMANDS.keys() - LISTED


# Commands that fill keys for those beyond the platform's list.
FILLING = {
    name: FORMS[name] for name in ("set", "setbit", "rpush", "sadd", "zadd", "hset", "expire", "persist")
}


@pytest.mark.timeout(300)
async def test_random_commands_beyond_the_list_have_equal_outcomes(pair: Pair) -> None:
    succeeded = set()
    generator = CommandGenerator(SEED, pair.now, exact=not X87, forms={**FURTHER, **FILLING})
    for number, played in enumerate(generator.play(size(1_500, 50_000))):
        outcome = await pair.play(played)
        if outcome.kind == "value":
            succeeded.add(played.name.lower())
        if number % 50 == 49:
            await pair.compare_contents()
    assert succeeded == {*FURTHER, *FILLING}
    assert pair.differed < size(1_500, 50_000) * 0.02


@pytest.mark.timeout(300)
async def test_random_commands_have_equal_outcomes(pair: Pair) -> None:
    succeeded, refusals = set(), set()
    count = size(1_500, 50_000)
    for number, played in enumerate(CommandGenerator(SEED, pair.now, exact=not X87).play(count)):
        outcome = await pair.play(played)
        if outcome.kind == "value":
            succeeded.add(played.name.lower())
        else:
            refusals.add(outcome.kind)
        if number % 100 == 99:
            await pair.compare_contents()
    assert succeeded == LISTED  # otherwise it would have compared refusals only
    assert refusals | {"key", "not a score", "place"} == set(ERRORS)
    assert pair.differed < count * 0.02  # known differences must stay rare


@pytest.mark.skipif(not X87, reason="another machine's long double has another precision")
async def test_sums_of_floats_equal_those_of_redis(pair: Pair) -> None:
    chance = random.Random(SEED)
    for _ in range(size(100, 5_000)):
        for _ in range(4):
            digits = chance.choice([2, 6, 12, 17])
            amount = f"{chance.uniform(-1, 1) * 10 ** chance.randint(-4, 12):.{digits}g}"
            embedded, real = await pair.outcomes_of("incrbyfloat", "sum", amount)
            assert embedded == real, amount
        await pair.outcomes_of("del", "sum")


async def test_texts_of_refusals_equal_those_of_redis(pair: Pair) -> None:
    refused = [
        ("incr", "text"),
        ("lpush", "text", "x"),
        ("lpush", "list"),
        ("hset", "hash", "field"),
        ("hincrby", "hash", "word", "1"),
        ("hincrbyfloat", "hash", "word", "1"),
        ("incrbyfloat", "text", "1"),
        ("incrby", "number", str(2**63 - 1)),
        ("setex", "text", "0", "x"),
        ("psetex", "text", "-1", "x"),
        ("set", "text", "x", "EX", "0"),
        ("set", "text", "x", "NX", "XX"),
        ("expire", "text", "soon"),
        ("expire", "text", str(2**63 - 1)),
        ("expire", "text", "-9223372036854776"),
        ("expire", "text", "soon", "later"),
        ("pexpireat", "text", str(2**63 - 1), "é\0x"),
        ("expire", "text", "soon", "nx", "GT"),
        ("pexpire", "text", "5", "gt", "LT"),
        ("expire", "missing", "5", "XX", "nx"),
        ("decrby", "number", str(-(2**63))),
        ("hincrbyfloat", "hash", "word", "inf"),
        ("incrbyfloat", "number", "inf"),
        ("incrbyfloat", "number", "1e5000"),
        ("zrevrange", "sorted", "0", "-1", "BYSCORE"),
        ("zrange", "sorted", "0", "1", "LIMIT", "0", "1"),
        ("zrange", "sorted", "-", "+", "BYLEX", "WITHSCORES"),
        ("hscan", "hash", "0", "COUNT", "0"),
        ("hscan", "hash", "18446744073709551616"),
        ("hscan", "hash", "18446744073709551616\0"),
        ("hscan", "hash", "x\0"),
        ("lset", "list", "9", "x"),
        ("lset", "missing", "0", "x"),
        ("linsert", "list", "beside", "x", "y"),
        ("setbit", "text", "-1", "1"),
        ("setbit", "text", "9223372036854775807"),
        ("setbit", "text", "9223372036854775807", "1", "2"),
        ("setbit", "text", "1", "2"),
        ("spop", "set", "-1"),
        ("zadd", "sorted", "high", "x"),
        ("zrangebyscore", "sorted", "low", "high"),
        ("zrangebylex", "sorted", "a", "b"),
        ("hscan", "hash", "next"),
    ]
    for made in [
        ("set", "text", "word"),
        ("set", "number", "1"),
        ("rpush", "list", "a"),
        ("sadd", "set", "a"),
    ]:
        await pair.outcomes_of(*made)
    await pair.outcomes_of("hset", "hash", "word", "word")
    await pair.outcomes_of("zadd", "sorted", "1", "a")
    for command in refused:
        embedded, real = await pair.outcomes_of(*command)
        assert embedded.kind != "value"
        assert embedded.text == real.text
