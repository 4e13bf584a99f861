"""Keystore: every command that sets an expiry, with all its options, on keys with and without one.

Each row prepares a key, runs a command on it, and reads its value and remaining time; a model has the expected
results.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import cycle, product
from typing import Any

from labkit.conformance.check import check
from labkit.conformance.keystore.operations.model import Keys, Refused, plain
from labkit.conformance.models.game_clock import GameClock
from labkit.conformance.probe import Keystore
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch

AT_ONCE = 100  # commands of one request
LARGEST = 2**63 - 1
MARGIN = 10**7  # milliseconds below the largest time, for a clock that runs on
SLACK = 60_000  # milliseconds that may pass between the first and the last command
EXACT = 2**53  # a larger number is a text in scripts
STATES: tuple[tuple[tuple[str, ...], ...], ...] = (
    (),
    (("set", "old"),),
    (("set", "old"), ("pexpire", "2000007")),
    (("rpush", "a"), ("expire", "2000")),
)
SOON, LATER = 1_000_013, 3_000_009  # milliseconds from now
NO_NUMBERS = ("", "x", "1.5", "+1", " 1", "01", str(2**63))
OPTIONS = ("", "NX", "xx", "GT", "Lt", "XX GT", "LT XX", "XX XX", "NX XX", "GT LT", "NX LT", "EX", "GTT")
AROUND = (
    "{}",
    "NX {}",
    "{} nx",
    "xx {}",
    "{} XX",
    "{} GET",
    "Get {} XX",
    "NX {} get",
    "NX {} XX",
    "{} KEEPTTL",
)

Words = tuple[str, ...]
Row = list[Words]


@check(
    "KEY-CMD-3 KEY-CMD-5",
    "expire and its variants with all options, on keys that end sooner, later and never",
)
async def expiries(target: Target) -> None:
    clock = await _begun(target)
    ways = cycle(("expire", "PEXPIRE", "expireat", "pexpireat"))
    amounts = (SOON, LATER, 0, -SOON)
    rows: list[Row] = [
        [*state, (name, _amount(name, amount, clock), *options.split())]
        for (state, options, amount), name in zip(product(STATES, OPTIONS, amounts), ways, strict=False)
    ]
    for name in ("expire", "pexpire", "expireat", "pexpireat"):
        rows += [[*STATES[1], (name, wrong)] for wrong in NO_NUMBERS]
        rows += [[*STATES[1], (name, "x", *options.split())] for options in OPTIONS]  # options come first
        rows += [[*STATES[1], (name, str(amount))] for amount in _edges(name, clock)]
    await _compare(target, clock, rows)


@check("KEY-CMD-3 KEY-CMD-5", "set with all options in any order, setex and psetex, up to the largest time")
async def texts(target: Target) -> None:
    clock = await _begun(target)
    units = cycle(("EX", "px", "EXAT", "pxat"))
    rows: list[Row] = [
        [*state, ("set", "new", *around.format(f"{unit} {_amount(unit, SOON, clock)}").split())]
        for (state, around), unit in zip(product(STATES, AROUND), units, strict=False)
    ]
    plain_options = ("NX", "xx", "GET", "keepttl", "NX GET", "KEEPTTL XX", "NX XX", "EX", "FOO", "GET PX")
    rows += [[*state, ("set", "new", *each.split())] for state, each in product(STATES, plain_options)]
    for name in ("EX", "PX", "EXAT", "PXAT", "setex", "psetex"):
        amounts = [*NO_NUMBERS, "0", "-1", *map(str, _edges(name, clock))]
        amounts += ["1"] if name.endswith("AT") else []  # long past
        rows += [
            [*STATES[2], (name, each, "new") if name.islower() else ("set", "new", name, each)]
            for each in amounts
        ]
    await _compare(target, clock, rows)


@check("KEY-CMD-3", "ttl returns the nearest second, halves upwards", needs={"clock"})
async def halves(target: Target) -> None:
    clock = await _begun(target)
    for amounts in ((499, 500, 501, 1000, 1499), (1500, 1501, 2499, 2500, 2501, 4500, 100_499, 100_500)):
        rows: list[Row] = [[("set", "v"), ("pexpire", str(each)), ("ttl",)] for each in amounts]
        await _compare(target, clock, rows)


async def _begun(target: Target) -> GameClock:
    clock = GameClock(target)
    await clock.begin()
    await clock.advance(959)  # so that no time is a whole second
    return clock


def _amount(name: str, milliseconds: int, clock: GameClock) -> str:
    """Return a time in `milliseconds` from now, in the unit and base of a command or an option."""
    amount = milliseconds + (_milliseconds(clock) if name.lower().endswith("at") else 0)
    return str(amount if name.lower().startswith("p") else amount // 1000)


def _edges(name: str, clock: GameClock) -> Iterator[int]:
    """Yield the largest amount that fits 64 bits as milliseconds since 1970, the next one, likewise the smallest."""
    absolute = name.lower().endswith("at")
    scale = 1 if name.lower().startswith("p") else 1000
    since = 0 if absolute else _milliseconds(clock)
    margin = 0 if absolute or clock.exact else MARGIN
    largest = (LARGEST - since) // scale
    yield largest - margin
    if largest < LARGEST:
        yield largest + 1 + margin
    yield LARGEST // scale + 1 if scale > 1 else -LARGEST - 1
    yield -(LARGEST // scale) - 1


def _milliseconds(clock: GameClock) -> int:
    return math.floor(clock.now * 1000)


async def _compare(target: Target, clock: GameClock, rows: Sequence[Row]) -> None:
    """Run rows, each on its own key, and compare the result of every command, the type that is left and the remaining
    time.
    """
    store, prefix, keys = Keystore(target), target.identity(), Keys()
    played: list[tuple[str, Words]] = []
    for number, row in enumerate(rows):
        key = f"{prefix} {number}"
        played += [(key, each) for each in (*row, ("type",), ("pttl",))]
    for first in range(0, len(played), AT_ONCE):
        batch = played[first : first + AT_ONCE]
        calls = [
            {
                "service": "Keystore",
                "operation": "command",
                "parameters": {"command": words[0], "key": key, "args": [*words[1:]]},
            }
            for key, words in batch
        ]
        found = await store.ask("POST", "/calls", json=calls)
        for (key, words), each in zip(batch, found, strict=True):
            _same(keys, key, words, each["result"], clock)
    await store.call("Keystore", "clear", {"match": prefix})


def _same(keys: Keys, key: str, words: Words, found: Any, clock: GameClock) -> None:
    name, *args = words
    what = " ".join(words)
    try:
        wanted = plain(keys.run(name.lower(), key, args, _milliseconds(clock)))
    except Refused as refused:
        if found.get("status") != 400 or str(refused) not in str(found.get("error")):
            raise Mismatch(what, f"an error of status 400: {refused}", found) from None
        return
    value = found.get("value", None if "error" not in found else found)
    if (
        name == "pttl"
        and isinstance(value, int)
        and isinstance(wanted, int)
        and value > 0
        and not clock.exact
    ):
        near = wanted - SLACK <= value <= wanted + SLACK
        value = wanted if near else value
    if name == "pttl" and isinstance(
        wanted, str
    ):  # hundreds of millions of years, for which a float is not exact to the millisecond
        value = wanted
    if value != wanted or type(value) is not type(wanted):
        raise Mismatch(what, wanted, value)


CHANGES: tuple[
    tuple[tuple[str, ...], tuple[tuple[object, ...], ...]], ...
] = (  # the command that creates a key, the commands that change it
    (
        ("set", "5"),
        (
            *(("append", "1"), ("incr",), ("decr",), ("incrby", 2), ("decrby", 2)),
            *(("incrbyfloat", "0.5"), ("setbit", 1, 1), ("setnx", "x")),
        ),
    ),
    (
        ("rpush", "a", "b", "c"),
        (
            *(
                ("lpush", "x"),
                ("rpush", "x"),
                ("lpushx", "x"),
                ("rpushx", "x"),
                ("linsert", "before", "a", "y"),
            ),
            *(("lset", 0, "z"), ("lrem", 0, "a"), ("ltrim", 0, 1), ("lpop",)),
        ),
    ),
    (("sadd", "a", "b", "c"), (("sadd", "x"), ("srem", "a"), ("spop",))),
    (
        ("hset", "f", "1"),
        (
            ("hset", "g", "2"),
            ("hmset", "h", "3"),
            ("hincrby", "f", 1),
            ("hincrbyfloat", "f", "0.5"),
            ("hdel", "g"),
        ),
    ),
    (
        ("zadd", "1", "a", "2", "b", "3", "c"),
        (("zadd", "4", "d"), ("zincrby", "1", "a"), ("zrem", "b"), ("zremrangebyrank", 0, 0)),
    ),
)


@check(
    "KEY-CMD-3 KEY-SET-4",
    "a command that changes a value keeps its expiry, and one that stores a new value ends it",
)
async def ends_stay(target: Target) -> None:
    store = Keystore(target)
    for make, changes in CHANGES:
        key = target.identity()
        await store.command(key, *make)
        await store.command(key, "expire", 5000)
        for name, *args in changes:
            await store.command(key, str(name), *args)
            left = await store.command(key, "ttl")
            store.same(f"does {name} leave the end?", 4900 < left <= 5000, True)
    for name, *args in (("set", "x"), ("getset", "x")):
        await store.command(key := target.identity(), "setex", 5000, "old")
        await store.command(key, name, *args)
        store.same(f"ttl after {name}", await store.command(key, "ttl"), -1)
    await store.command(key := target.identity(), "setex", 5000, "old")
    await store.done("mset", values={key: "x"})
    store.same("ttl after mset", await store.command(key, "ttl"), -1)
