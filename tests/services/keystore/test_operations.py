"""The operations of the Keystore: what they give, what they refuse, and whose keys they see."""

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

from labkit.core.clock import Clock
from labkit.core.errors import LabError
from labkit.services.keystore import Keystore
from labkit.services.keystore.arguments import number
from labkit.services.keystore.commands import COMMANDS
from labkit.services.operation import Caller
from tests.services.keystore.played import KEYS, Player
from tests.services.keystore.stores import ACME, opened

OTHER = Caller("other")


async def test_set_get_and_delete() -> None:
    async with opened() as lab:
        assert await lab.call("set", key="greeting", value="hello") == {}
        assert await lab.call("get", key="greeting") == {"value": "hello"}
        assert await lab.call("delete", key="greeting") == {}
        assert await lab.call("get", key="greeting") == {}
        assert await lab.call("delete", key="greeting") == {}


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(("operation", "parameters", "text"), BAD)
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


async def test_list_matches_what_a_key_contains() -> None:
    async with opened() as lab:
        for key in ("device.1", "Device.2", "a*b", "[x]"):
            await lab.call("set", key=key, value=1)
        assert await lab.call("list", match="evice") == {"keys": ["Device.2", "device.1"]}
        assert await lab.call("list", match="device") == {"keys": ["device.1"]}
        assert await lab.call("list", match="*") == {"keys": ["a*b"]}
        assert await lab.call("list", match="[x") == {"keys": ["[x]"]}
        assert await lab.call("list", match="acme") == {"keys": []}  # the namespace is no part of a key


async def test_list_goes_on_at_its_cursor() -> None:
    async with opened() as lab:
        names = {f"key{number}" for number in range(2500)}
        await lab.call("mset", values=dict.fromkeys(names, 1))
        found: list[str] = []
        page = await lab.call("list")
        while "cursor" in page:
            assert 1000 <= len(page["keys"]) <= 2000
            found += page["keys"]
            page = await lab.call("list", cursor=page["cursor"])
        found += page["keys"]
        assert set(found) == names
        first = await lab.call("list", match="9", count=10)
        assert len(first["keys"]) >= 10
        assert first["cursor"]


async def test_clear() -> None:
    async with opened() as lab:
        await lab.call("mset", values=dict.fromkeys((f"key{number}" for number in range(2500)), 1))
        await lab.call("set", OTHER, key="key1", value="stays")
        assert await lab.call("clear", match="key24") is None
        assert await lab.call("list", match="key24") == {"keys": []}
        before = (await lab.call("info"))["usage"]["keys"]
        await lab.call("clear", count=100)
        assert before - 200 <= (await lab.call("info"))["usage"]["keys"] <= before - 100
        await lab.call("clear")
        assert await lab.call("list") == {"keys": []}
        assert await lab.call("get", OTHER, key="key1") == {"value": "stays"}


async def test_info_counts_keys_and_bytes() -> None:
    async with opened(quota=10) as lab:
        await lab.call("set", key="k", value="12345")
        await lab.command("rpush", "list", "ab", "c")
        await lab.command("hset", "h", "field", "ü")
        await lab.command("sadd", "s", "abc")
        await lab.command("zadd", "z", 1.5, "m")
        await lab.call("set", OTHER, key="k", value="1")
        size = len("k12345") + len("listabc") + len("hfield") + 2 + len("sabc") + len("z1.5m")
        assert await lab.call("info") == {"quota": {"keys": 10}, "usage": {"keys": 5, "size": size}}
    async with opened() as lab:
        assert await lab.call("info") == {"quota": {}, "usage": {"keys": 0, "size": 0}}


async def test_a_quota_holds_new_keys_back() -> None:
    async with opened(quota=2) as lab:
        await lab.call("set", key="a", value=1)
        await lab.command("lpush", "l", "x")
        full = {
            "type": "QueryError",
            "status": 403,
            "error": "Key count quota reached: 2 of 2 keys are in use.",
        }
        assert await lab.call("set", key="b", value=1) == full
        assert await lab.call("mset", values={"a": 2, "b": 2}) == full
        assert await lab.call("get", key="a") == {"value": "1"}
        for command, kind in COMMANDS.items():
            result = await lab.call("command", command=command, key="new", args=[])
            assert (result.get("status") == 403) == kind.grows, command
        assert await lab.command("lpush", "l", "y") == 2  # what is there may grow
        assert await lab.call("set", key="a", value=3) == {}
        assert await lab.call("set", OTHER, key="a", value=1) == {}  # a quota for each solution
        await lab.call("delete", key="a")
        assert await lab.call("set", key="b", value=1) == {}


async def test_a_key_that_expired_frees_its_place() -> None:
    async with opened(quota=1) as lab:
        await lab.command("set", "a", 1, "EX", 10)
        assert (await lab.refused("set", "b", 1))[0] == 403
        await lab.clock.advance(seconds=11)
        assert await lab.command("set", "b", 1) == "OK"


@pytest.mark.parametrize(("one", "other"), [("acme", "other"), ("a", "a:b"), ("a:", "a"), ("a%3A", "a:")])
async def test_solutions_never_share_a_key(one: str, other: str) -> None:
    async with opened() as lab:
        await lab.call("set", Caller(one), key="b:k", value="one")
        for key in ("k", "b:k", ":b:k", "b:b:k"):
            assert await lab.call("get", Caller(other), key=key) == {}
        await lab.call("clear", Caller(other))
        assert await lab.call("get", Caller(one), key="b:k") == {"value": "one"}
        assert await lab.call("list", Caller(other)) == {"keys": []}


async def test_no_command_reaches_another_solution() -> None:
    """Random commands, with every key and argument that could name the other's."""
    async with opened() as lab:
        for key in KEYS:
            await lab.call("set", OTHER, key=key, value="secret")
        for played in Player(3, int(lab.clock.now())).play(1500):
            for key in (played.key, f"other:{played.key}"):
                args = [f"other:{arg}" if arg in KEYS else arg for arg in played.args]
                result = await lab.call("command", command=played.name, key=key, args=args)
                assert "secret" not in str(result)
        for key in KEYS:
            assert await lab.call("get", OTHER, key=key) == {"value": "secret"}
        assert sorted((await lab.call("list", OTHER))["keys"]) == sorted(KEYS)


async def test_two_labs_share_nothing() -> None:
    early, late = Clock(rate=0, start=1000), Clock(rate=0, start=2000)
    async with opened(clock=early) as one, opened(clock=late) as other:
        await one.command("set", "k", "one", "EX", 100)
        assert await other.call("get", key="k") == {}
        await other.command("set", "k", "other", "EX", 100)
        await early.advance(seconds=1000)
        assert await one.call("get", key="k") == {}
        assert await other.call("get", key="k") == {"value": "other"}


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
