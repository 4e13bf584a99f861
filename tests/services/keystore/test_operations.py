"""The operations of the Keystore: what they give, and what they refuse."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.core.errors import LabError
from labkit.services.keystore import Keystore
from labkit.services.keystore.arguments import number
from tests.cases import cases
from tests.services.keystore.stores import ACME, opened


async def test_set_get_and_delete() -> None:
    async with opened() as lab:
        assert await lab.call("set", key="greeting", value="hello") == {}
        assert await lab.call("get", key="greeting") == {"value": "hello"}
        assert await lab.call("delete", key="greeting") == {}
        assert await lab.call("get", key="greeting") == {}
        assert await lab.call("delete", key="greeting") == {}


@cases(
    ("value", "stored"),
    [
        (1, "1"),
        (1.0, "1"),
        (-2.0, "-2"),
        (-0.0, "0"),
        (0.5, "0.5"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (2**70, str(2**70)),
        (True, "true"),
        (False, "false"),
        (None, "null"),
        ("", ""),
        ("nul\0 and ünï 🎈", "nul\0 and ünï 🎈"),
    ],
)
async def test_values_come_back_as_text(value: object, stored: str) -> None:
    async with opened() as lab:
        assert await lab.call("set", key="k", value=value) == {}
        assert await lab.call("get", key="k") == {"value": stored}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_keep_their_value(value: float) -> None:
    assert float(number(value)) == value


async def test_whole_numbers_of_scripts_reach_redis_as_whole() -> None:
    async with opened() as lab:
        assert await lab.command("incrby", "n", 1.0) == 1
        assert await lab.command("lpush", "logs", 7.0, "x", True) == 3
        assert await lab.command("lrange", "logs", 0.0, -1.0) == ["true", "x", "7"]


async def test_the_metrics_pattern() -> None:
    async with opened() as lab:
        midnight = (int(lab.clock.now()) // 86_400 + 1) * 86_400.0
        for count in range(1, 13):
            assert await lab.command("incrby", "dailyCount", 1.0) == count
            assert await lab.command("expireat", "dailyCount", midnight) == 1
            await lab.command("lpush", "logs", f"message {count}")
            assert await lab.command("ltrim", "logs", 0, 9) == "OK"
        assert await lab.call("get", key="dailyCount") == {"value": "12"}
        assert await lab.command("lrange", "logs", 0, -1) == [f"message {n}" for n in range(12, 2, -1)]


async def test_replies_by_kind() -> None:
    async with opened() as lab:
        assert await lab.command("SET", "k", "v", "EX", 60) == "OK"
        assert await lab.command("Type", "k") == "string"
        assert await lab.command("hset", "h", "a", 1, "b", 0.5) == 2
        assert await lab.command("hgetall", "h") == {"a": "1", "b": "0.5"}
        assert await lab.command("hgetall", "missing") == {}
        assert await lab.command("hmget", "h", "a", "gone", "b") == ["1", None, "0.5"]
        assert await lab.command("hscan", "h", 0) == ["0", ["a", "1", "b", "0.5"]]
        assert await lab.command("zadd", "z", 3.2, "c", 1, "a", "inf", "z") == 3
        assert await lab.command("zrange", "z", 0, -1, "WITHSCORES") == ["a", "1", "c", "3.2", "z", "inf"]
        assert await lab.command("zscore", "z", "c") == "3.2"
        assert await lab.command("sadd", "s", "b", "a", "c") == 3
        assert await lab.command("smembers", "s") == ["a", "b", "c"]


@cases(
    ("command", "args"), [("get", []), ("hget", ["f"]), ("lpop", []), ("zscore", ["m"]), ("set", ["v", "XX"])]
)
async def test_nil_is_an_absent_value(command: str, args: list[object]) -> None:
    async with opened() as lab:
        assert await lab.call("command", command=command, key="missing", args=args) == {}


async def test_text_that_is_not_utf_8() -> None:
    async with opened() as lab:
        await lab.command("setbit", "bits", 0, 1)
        assert await lab.call("get", key="bits") == {"value": "\ufffd"}
        raw = b"\xff\x00".decode("utf-8", "surrogateescape")  # how a script's bytes arrive
        assert await lab.call("set", key="raw", value=raw) == {}
        assert await lab.command("strlen", "raw") == 2
        assert await lab.command("getbit", "raw", 7) == 1


async def test_refusals_are_error_objects_with_redis_own_text() -> None:
    async with opened() as lab:
        await lab.call("set", key="word", value="abc")
        assert await lab.call("command", command="incrby", key="word", args=[1]) == {
            "type": "QueryError",
            "status": 400,
            "error": "ERR value is not an integer or out of range",
        }
        wrong = "WRONGTYPE Operation against a key holding the wrong kind of value"
        assert await lab.refused("lpush", "word", "x") == (400, wrong)
        assert await lab.refused("lpush", "l") == (400, "ERR wrong number of arguments for 'lpush' command")
        await lab.command("lpush", "l", "x")
        assert (await lab.call("get", key="l"))["error"] == wrong


BAD: list[tuple[str, Mapping[str, object], str]] = [
    ("get", {}, "Parameter key is required."),
    ("set", {"key": "k"}, "Parameter value is required."),
    (
        "set",
        {"key": "k", "value": {"a": 1}},
        "Parameter value validation failed: expected a string, a number",
    ),
    ("set", {"key": "k", "value": ["a"]}, "Parameter value validation failed: expected a string, a number"),
    ("set", {"key": "k", "value": float("nan")}, "nan is not a number that can be stored"),
    ("set", {"key": "k", "value": float("inf")}, "inf is not a number that can be stored"),
    ("set", {"key": "k", "value": "\ud800"}, "text that is not valid Unicode cannot be stored"),
    ("get", {"key": ""}, "Parameter key validation failed: expected 1 to 200 characters, not 0."),
    ("get", {"key": "k" * 201}, "Parameter key validation failed: expected 1 to 200 characters, not 201."),
    ("get", {"key": "a\nb"}, "Parameter key validation failed: expected printable characters."),
    ("get", {"key": "\udcff"}, "Parameter key validation failed: expected printable characters."),
    ("get", {"key": True}, "Parameter key validation failed: expected a string."),
    ("get", {"key": None}, "Parameter key validation failed: expected a string."),
    ("get", {"key": ["k"]}, "Parameter key validation failed: expected a string."),
    ("command", {"key": "k"}, "Parameter command is required."),
    ("command", {"command": "get"}, "Parameter key is required."),
    (
        "command",
        {"command": "flushall", "key": "k"},
        "Parameter command validation failed: expected one of: get,",
    ),
    (
        "command",
        {"command": "eval", "key": "k"},
        "Parameter command validation failed: expected one of: get,",
    ),
    ("command", {"command": 5, "key": "k"}, "Parameter command validation failed: expected one of: get,"),
    (
        "command",
        {"command": "mget", "key": "k"},
        "Parameter command validation failed: expected one of: get,",
    ),
    (
        "command",
        {"command": "set", "key": "k", "args": [None]},
        "Parameter args.0 validation failed: expected",
    ),
    (
        "command",
        {"command": "set", "key": "k", "args": [[1]]},
        "Parameter args.0 validation failed: expected",
    ),
    ("command", {"command": "set", "key": "k", "args": {"a": 1}}, "Parameter args validation failed: "),
    (
        "command",
        {"command": "del", "key": "k", "args": [""]},
        "Parameter args validation failed: expected 1 to",
    ),
    ("mget", {"keys": ["k", ""]}, "Parameter keys.1 validation failed: expected 1 to 200 characters"),
    ("mget", {}, "Parameter keys is required."),
    ("mset", {"values": [{"key": "k"}]}, "Parameter values.0.value validation failed: "),
    (
        "mset",
        {"values": {"k": []}},
        "Parameter values.0.value validation failed: expected a string, a number",
    ),
    ("list", {"count": 0}, "Parameter count validation failed: "),
    ("list", {"count": 1001}, "Parameter count validation failed: "),
    ("list", {"cursor": -1}, "Parameter cursor validation failed: "),
    ("list", {"match": 5}, "Parameter match validation failed: "),
]


@cases(("operation", "parameters", "text"), BAD)
async def test_bad_input_is_refused_and_changes_nothing(
    operation: str, parameters: Mapping[str, object], text: str
) -> None:
    async with opened() as lab:
        result = await lab.call(operation, **parameters)
        assert (result["type"], result["status"]) == ("QueryError", 400)
        assert result["error"].startswith(text)
        assert await lab.call("list") == {"keys": []}


async def test_what_is_granted() -> None:
    async with opened() as lab:
        await lab.call("set", key=5, value="numbers name keys too", unknown="is ignored")
        assert await lab.call("get", key="5") == {"value": "numbers name keys too"}
        assert await lab.call("get", key=5.0) == {"value": "numbers name keys too"}
        await lab.call("command", command="rpush", key="l", args="one")
        assert await lab.call("command", command="llen", key="l", args={}) == {"value": 1}  # an empty table
        assert await lab.call("mget", keys="5") == {"values": ["numbers name keys too"]}
        longest = "k" * 200
        assert await lab.call("set", key=longest, value=1) == {}
        assert await lab.call("get", key=longest) == {"value": "1"}


async def test_several_at_once() -> None:
    async with opened() as lab:
        assert await lab.call("mset", values=[{"key": "a", "value": 1}, {"key": "b", "value": True}]) == {}
        assert await lab.call("mset", values={"c": "see"}) == {}
        await lab.command("lpush", "list", "x")
        assert await lab.call("mget", keys=["c", "missing", "a", "list", "b"]) == {
            "values": ["see", None, "1", None, "true"]
        }
        assert await lab.call("mdelete", keys=["a", "missing", "c"]) == {}
        assert await lab.call("list") == {"keys": ["b", "list"]}
        assert await lab.call("mget", keys=[]) == {"values": []}
        assert await lab.call("mset", values=[]) == {}
        assert await lab.call("mdelete", keys=[]) == {}


async def test_a_seed_draws_the_same_members_again() -> None:
    draws = []
    for _ in range(2):
        async with opened() as lab:
            await lab.command("sadd", "s", *range(100))
            await lab.command("sadd", "t", *range(100))
            draws.append(
                [
                    await lab.command(name, key, *args)
                    for name, args in (
                        ("srandmember", []),
                        ("srandmember", [5]),
                        ("srandmember", [-5]),
                        ("spop", [3]),
                    )
                    for key in "st"
                ]
            )
    assert draws[0] == draws[1]
    assert draws[0][2] != draws[0][3]  # each key has a stream of its own


async def test_members_are_drawn_evenly() -> None:
    async with opened() as lab:
        await lab.command("sadd", "s", *range(10))
        drawn = await lab.command("srandmember", "s", -5000)
        assert set(drawn) == {str(number) for number in range(10)}
        assert all(400 < drawn.count(member) < 600 for member in set(drawn))


def test_an_embedded_call_completes_without_a_turn_of_the_loop() -> None:
    def completed(coroutine: Any) -> Any:
        with pytest.raises(StopIteration) as stopped:
            coroutine.send(None)
        return stopped.value.value

    async def main() -> None:
        async with opened() as lab:
            assert completed(lab.call("command", command="incr", key="n")) == {"value": 1}
            assert completed(lab.call("get", key="n")) == {"value": "1"}

    asyncio.run(main())


async def test_a_store_that_was_closed_says_so() -> None:
    async with opened() as lab:
        pass
    with pytest.raises(LabError, match="closed"):
        await lab.keystore.get(ACME, "k")


def test_importing_it_brings_its_table_and_what_a_start_would_wait_for() -> None:
    """fakeredis takes a third of a second to import: that is not to be part of starting a lab."""
    program = """
import sys, labkit.services.keystore, labkit.core.tables
assert "keystore_log" in labkit.core.tables.metadata.tables
assert "fakeredis" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_docstrings_of_operations_tell_what_they_give() -> None:
    assert set(Keystore.operations) == {
        *("get", "set", "delete", "command", "list", "mget", "mset", "mdelete", "clear", "info")
    }
    assert all(inspect.getdoc(each.function) for each in Keystore.operations.values())
