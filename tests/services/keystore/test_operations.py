"""The operations of the Keystore: results and refusals."""

from __future__ import annotations

import asyncio
import inspect
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
async def test_values_are_returned_as_text(value: object, stored: str) -> None:
    async with opened() as lab:
        assert await lab.call("set", key="k", value=value) == {}
        assert await lab.call("get", key="k") == {"value": stored}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_keep_their_value(value: float) -> None:
    assert float(number(value)) == value


async def test_text_that_is_not_utf_8() -> None:
    async with opened() as lab:
        await lab.command("setbit", "bits", 0, 1)
        assert await lab.call("get", key="bits") == {"value": "\ufffd"}
        raw = b"\xff\x00".decode("utf-8", "surrogateescape")  # bytes as a script passes them
        assert await lab.call("set", key="raw", value=raw) == {}
        assert await lab.command("strlen", "raw") == 2
        assert await lab.command("getbit", "raw", 7) == 1


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
        "Parameter command validation failed: the command flushall is not available: use the operations",
    ),
    (
        "command",
        {"command": "eval", "key": "k"},
        "Parameter command validation failed: the command eval is not available: a solution has no scripts",
    ),
    (
        "command",
        {"command": "nothing", "key": "k"},
        "Parameter command validation failed: expected one of: get,",
    ),
    ("command", {"command": 5, "key": "k"}, "Parameter command validation failed: expected one of: get,"),
    (
        "command",
        {"command": "randomkey", "key": "k"},
        "Parameter command validation failed: the command randomkey is not available: use the operations",
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
        assert (await lab.call("list"))["keys"] == []


async def test_unusual_input_that_is_accepted() -> None:
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


async def test_a_seed_reproduces_drawn_members() -> None:
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
    assert draws[0][2] != draws[0][3]  # each key has its own stream


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


async def test_a_closed_store_raises() -> None:
    async with opened() as lab:
        pass
    with pytest.raises(LabError, match="closed"):
        await lab.keystore.get(ACME, "k")


def test_the_docstrings_of_operations_describe_their_results() -> None:
    assert set(Keystore.operations) == {
        *("get", "set", "delete", "command", "list", "mget", "mset", "mdelete", "clear", "info")
    }
    assert all(inspect.getdoc(each.function) for each in Keystore.operations.values())
