"""Recorder of a real Redis' results for the checks: python -m tests.services.keystore.record URL.

Records random commands, and commands at edges that had faults before.

Omits results that depend on time or chance, and known differences (test_differential.py).
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from labkit.conformance.keystore.operations import checks_recorded
from labkit.labtime.clock import Clock
from tests.services.keystore.played import FORMS, KEYS, CommandGenerator, RandomCommand
from tests.services.keystore.stores import opened
from tests.services.keystore.test_differential import Outcome, Pair, arranged, is_equal, is_known

SEED = 7
COUNT = 2000
NEVER = {"spop", "srandmember", *(name for name in FORMS if "expire" in name or "ttl" in name)}
NEVER |= {"persist", "setex", "psetex"}
DIGITS = ("1", "-7", "12345", "1.2345678901234567", "-9.007199254740993")
LENGTHS = (
    "9",
    "98",
    "987654321",
    "-98765432109876543",
)  # the format of a number depends on its count of digits
EDGES = tuple(str(2**power + more) for power in (52, 53, 63, 64) for more in (-1, 0, 1, 2))
EDGES += (
    "-0",
    "0.1",
    "5e-324",
    "1.7976931348623157e308",
    "2.2250738585072014e-308",
    "123456789012345680000",
    "-4503599627370497",
)
FORMS_OF_LISTS = tuple(name for name in FORMS if name[0] in "lr")
SUMS = 60  # sums of random numbers
SUMS_OF = (
    (str(2**64 - 1), "1"),
    (str(2**64 - 1), "0.5"),
    (str(2**64 + 1), "1"),
    (str(-(2**63)), "-0.25"),
    ("0", "0.00000000000000001"),
    ("0", "0.000000000000000004"),
    ("0", "0.000000000000000005"),
    ("0", "-0.000000000000000015"),
    ("0.1", "0.2"),
    ("1e300", "-1e300"),
    ("0e999999999", "1"),
    ("0." + "1" * 40, "1e40"),
    ("1e9999999999999999999", "1"),
    ("1.e1", ".5E+1"),
    ("+1", "1e"),
    ("-0", "-0"),
)
TIMES = {"EX", "PX", "EXAT", "PXAT", "ex"}
AT_EDGES = [
    RandomCommand(name, key, args)
    for name, key, args in (
        ("set", "number", ["5"]),
        ("zadd", "sorted", ["0", "a", "0", "b"]),
        ("hset", "hash", ["f", "1"]),
        ("hset", "hash", ["word", "word"]),
        ("zrevrange", "sorted", ["0", "-1", "BYSCORE"]),
        ("zrevrange", "sorted", ["0", "-1", "BYLEX"]),
        ("zrevrange", "sorted", ["0", "-1", "REV"]),
        ("zrevrange", "sorted", ["(1", "5"]),
        ("zrange", "sorted", ["0", "1.5"]),
        ("zrange", "sorted", ["0", "-1", "BYSCORE", "BYLEX"]),
        ("zrange", "sorted", ["0", "-1", "LIMIT", "0"]),
        ("zrange", "sorted", ["0", "-1", "LIMIT", "0", "1"]),
        ("zrange", "sorted", ["-", "+", "BYLEX", "WITHSCORES"]),
        ("zrevrangebylex", "sorted", ["+", "-", "WITHSCORES"]),
        ("zrangebyscore", "sorted", ["0", "1", "REV"]),
        ("zrangebyscore", "nothing", ["0", "1", "LIMIT", "x", "1"]),
        ("decrby", "number", ["-9223372036854775808"]),
        ("incrbyfloat", "number", ["inf"]),
        ("incrbyfloat", "number", ["nan"]),
        ("incrbyfloat", "number", ["1e5000"]),
        ("incrbyfloat", "number", ["1e99999999999999999999"]),
        ("hincrbyfloat", "hash", ["f", "-inf"]),
        ("hincrbyfloat", "hash", ["word", "1"]),
        ("hincrbyfloat", "number", ["f", "1"]),
        ("hscan", "hash", ["-x"]),
        ("hscan", "hash", ["18446744073709551616"]),
        ("hscan", "hash", ["0", "COUNT", "0"]),
        ("hscan", "hash", ["0", "COUNT", "x"]),
        ("hscan", "hash", ["18446744073709551616\0"]),
        ("hscan", "hash", ["x\0"]),
        ("hscan", "hash", [" \0" + "00"]),
        ("hscan", "hash", ["0", "MATCH"]),
        ("get", "number", []),
        ("zrange", "sorted", ["0", "-1", "LIMIT", "0", "-1"]),
        ("zrange", "sorted", ["+", "-", "bylex", "rev", "limit", "0", "1"]),
        ("zrevrange", "sorted", ["0", "-1", "withscores"]),
        ("zrevrangebyscore", "sorted", ["1", "(-1", "LIMIT", "1", "5", "WITHSCORES"]),
        ("decrby", "nothing", ["-9223372036854775807"]),
        ("del", "nothing", []),
        ("incrbyfloat", "number", ["1e-400"]),
        ("incrbyfloat", "nothing", ["1e400"]),
        ("del", "nothing", []),
        ("incrbyfloat", "number", ["+1.5e0"]),
        ("hscan", "hash", [""]),
        ("hscan", "hash", ["\0"]),
        ("hscan", "hash", ["0\0"]),
        ("hscan", "hash", ["-5\0" + "00x"]),
        ("hscan", "hash", ["0", "COUNT", "1"]),
        ("hscan", "nothing", ["-5", "COUNT", "0"]),
    )
]


async def record(url: str) -> list[list[Any]]:
    """Return the rows: command, key, arguments, and a list with the value, or an error's text (None if it may vary)."""
    clock = Clock()
    rows: list[list[Any]] = []
    async with (
        opened(clock=clock) as embedded,
        opened(clock=clock, url=url, domain="record.localhost") as real,
    ):
        await real.call("clear")
        pair = Pair(embedded.keystore, real.keystore, clock.seconds())
        for played in (*CommandGenerator(SEED, pair.now).play(COUNT), *AT_EDGES):
            if played.name.lower() in NEVER or TIMES & {*played.args}:
                continue
            one, other = await pair.outcomes_of(played.name, played.key, *played.args)
            if is_equal(played.name.lower(), one, other):
                rows.append([played.name, played.key, played.args, _shown(played, one, other)])
            else:
                assert is_known(played, one, other), f"{played}: embedded {one}, real {other}"
                await pair.outcomes_of("del", played.key)
                rows.append(["del", played.key, [], None])  # whatever its value
        for row in (*numbers(), *arities()):
            one, other = await pair.outcomes_of(*row)
            if not is_equal(row[0], one, other):
                assert is_known(RandomCommand(row[0], row[1], [*row[2:]]), one, other), (
                    f"{row}: embedded {one}, real {other}"
                )
                continue
            rows.append(
                [row[0], row[1], [*row[2:]], _shown(RandomCommand(row[0], row[1], [*row[2:]]), one, other)]
            )
        for key in KEYS:
            kind, _ = await pair.outcomes_of("type", key)
            rows.append(["type", key, [], [kind.value]])
        await real.call("clear")
    return rows


def numbers() -> Iterator[tuple[str, ...]]:
    """Return scores and sums of every size, which differ in the format, the digits and the end of the number."""
    scores = [
        *EDGES,
        *(f"{digits}e{power}" for digits, power in product(DIGITS, (*range(-30, 31, 3), -7, -5, 308))),
    ]
    scores += [f"{digits}e{power}" for digits in LENGTHS for power in range(-12, 13)]
    yield "del", "missing"
    for score in scores:
        yield "zadd", "missing", score, "m"
        yield "zscore", "missing", "m"
    for number in ("-0.0", "0", "-1", "1", "-0.0"):
        yield "zincrby", "missing", number, "of zero"
    chance = random.Random(SEED)
    for turn in range(SUMS):
        held, amount = (_decimal(chance) for _ in range(2))
        name = ("incrbyfloat", "hincrbyfloat")[turn % 2]
        field = ("f",) * (turn % 2)
        yield "del", "missing"
        yield "hset" if field else "set", "missing", *field, held
        yield name, "missing", *field, amount
        yield name, "missing", *field, held.removeprefix("-") if held[:1] == "-" else f"-{held}"
    for held, amount in SUMS_OF:
        yield "set", "missing", held
        yield "incrbyfloat", "missing", amount
    yield "del", "missing"


def arities() -> Iterator[tuple[str, ...]]:
    """Return every command with few arguments, on a key of its own and on one of the wrong type."""
    yield "rpush", "items", "a", "b"
    for name in FORMS:
        for count in range(4):
            yield name, f"of {name}", *("x",) * count
        if name not in ("del", "set", "setex", "psetex", *FORMS_OF_LISTS):
            yield name, "items", *("1",) * len(FORMS[name].split("|")[0].split())


def _decimal(chance: random.Random) -> str:
    digits = "".join(chance.choice("0123456789") for _ in range(chance.randint(1, 24)))
    point = chance.randint(0, len(digits))
    sign = chance.choice(["", "", "-"])
    power = chance.choice(["", "", f"e{chance.randint(-20, 20)}"])
    return (
        f"{sign}{digits[:point] or '0'}.{digits[point:]}{power}"
        if point < len(digits)
        else f"{sign}{digits}{power}"
    )


def _shown(played: RandomCommand, one: Outcome, other: Outcome) -> Any:
    if other.kind == "value":
        return [arranged(played.name.lower(), other.value)]
    return other.text if one.text == other.text else ""


if __name__ == "__main__":
    lines = (
        json.dumps(each, ensure_ascii=False, sort_keys=True) for each in asyncio.run(record(sys.argv[1]))
    )
    path = Path(checks_recorded.__file__).with_name(checks_recorded.FILE)
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
