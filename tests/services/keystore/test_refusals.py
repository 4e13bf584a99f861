"""What commands refuse before they look at anything, in Redis' own words; test_differential.py compares with one."""

from __future__ import annotations

from typing import Any

from tests.cases import cases
from tests.services.keystore.stores import Lab, opened

SYNTAX = "ERR syntax error"
INTEGER = "ERR value is not an integer or out of range"
LIMIT = f"{SYNTAX}, LIMIT is only supported in combination with either BYSCORE or BYLEX"
LEXICAL = f"{SYNTAX}, WITHSCORES not supported in combination with BYLEX"


async def filled(lab: Lab) -> None:
    await lab.command("set", "number", 5)
    await lab.command("zadd", "sorted", 0, "a", 0, "b")
    await lab.command("hset", "hash", "f", 1, "word", "word")


@cases(
    ("command", "text"),
    [
        (["zrevrange", "sorted", 0, -1, "BYSCORE"], SYNTAX),
        (["zrevrange", "sorted", 0, -1, "BYLEX"], SYNTAX),
        (["zrevrange", "sorted", 0, -1, "REV"], SYNTAX),
        (["zrevrange", "sorted", "(1", 5], INTEGER),
        (["zrange", "sorted", 0, "1.5"], INTEGER),
        (["zrange", "sorted", 0, -1, "BYSCORE", "BYLEX"], SYNTAX),
        (["zrange", "sorted", 0, -1, "LIMIT", 0], SYNTAX),
        (["zrange", "sorted", 0, -1, "LIMIT", 0, 1], LIMIT),
        (["zrange", "sorted", "-", "+", "BYLEX", "WITHSCORES"], LEXICAL),
        (["zrevrangebylex", "sorted", "+", "-", "WITHSCORES"], LEXICAL),
        (["zrangebyscore", "sorted", 0, 1, "REV"], SYNTAX),
        (["zrangebyscore", "missing", 0, 1, "LIMIT", "x", 1], INTEGER),
        (["decrby", "number", str(-(2**63))], "ERR decrement would overflow"),
        (["incrbyfloat", "number", "inf"], "ERR increment would produce NaN or Infinity"),
        (["incrbyfloat", "number", "nan"], "ERR value is not a valid float"),
        (["incrbyfloat", "number", "1e5000"], "ERR value is not a valid float"),
        (["incrbyfloat", "number", "1e99999999999999999999"], "ERR value is not a valid float"),
        (["hincrbyfloat", "hash", "f", "-inf"], "ERR value is NaN or Infinity"),
        (["hincrbyfloat", "hash", "word", 1], "ERR hash value is not a float"),
        (
            ["hincrbyfloat", "number", "f", 1],
            "WRONGTYPE Operation against a key holding the wrong kind of value",
        ),
        (["hscan", "hash", "-x"], "ERR invalid cursor"),
        (["hscan", "hash", str(2**64)], "ERR invalid cursor"),
        (["hscan", "hash", 0, "COUNT", 0], SYNTAX),
        (["hscan", "hash", 0, "COUNT", "x"], INTEGER),
        (["hscan", "hash", f"{2**64}\0"], "ERR invalid cursor"),
        (["hscan", "hash", "x\0"], "ERR invalid cursor"),
        (["hscan", "hash", " \0000"], "ERR invalid cursor"),
        (["hscan", "hash", 0, "MATCH"], SYNTAX),
    ],
)
async def test_redis_refuses_in_these_words(command: list[Any], text: str) -> None:
    async with opened() as lab:
        await filled(lab)
        assert await lab.refused(*command) == (400, text)
        assert await lab.command("get", "number") == "5"


@cases(
    ("command", "value"),
    [
        (["zrange", "sorted", 0, -1, "LIMIT", 0, -1], ["a", "b"]),
        (["zrange", "sorted", "+", "-", "bylex", "rev", "limit", 0, 1], ["b"]),
        (["zrevrange", "sorted", 0, -1, "withscores"], ["b", "0", "a", "0"]),
        (["zrevrangebyscore", "sorted", 1, "(-1", "LIMIT", 1, 5, "WITHSCORES"], ["a", "0"]),
        (["decrby", "missing", str(1 - 2**63)], None),
        (["incrbyfloat", "number", "1e-400"], "5"),
        (["incrbyfloat", "missing", "1e400"], None),
        (["incrbyfloat", "number", "+1.5e0"], "6.5"),
        (["hscan", "hash", ""], ["0", ["f", "1", "word", "word"]]),
        (["hscan", "hash", "\0"], ["0", ["f", "1", "word", "word"]]),
        (["hscan", "hash", "0\0"], ["0", ["f", "1", "word", "word"]]),
        (["hscan", "hash", "-5\0000x"], ["0", ["f", "1", "word", "word"]]),
        (["hscan", "hash", 0, "COUNT", 1], ["0", ["f", "1", "word", "word"]]),
        (["hscan", "missing", -5, "COUNT", 0], ["0", []]),
    ],
)
async def test_redis_takes_these(command: list[Any], value: object) -> None:
    async with opened() as lab:
        await filled(lab)
        if value is None:
            assert "status" not in await lab.call(
                "command", command=command[0], key=command[1], args=command[2:]
            )
        else:
            assert await lab.command(*command) == value
