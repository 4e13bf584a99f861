"""Commands on two keys: sequences as in a real Redis, and the same contents after a restart."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.labtime.clock import Clock
from labkit.services.keystore.arguments import UNAVAILABLE
from labkit.services.keystore.commands import COMMANDS
from labkit.services.operation import Caller
from tests.cases import cases
from tests.services.keystore.stores import Lab, opened
from tests.sizes import size

KEYS = ("one", "two")
READS: dict[str, tuple[str, ...]] = {
    "string": ("get",),
    "list": ("lrange", "0", "-1"),
    "set": ("smembers",),
    "hash": ("hgetall",),
    "zset": ("zrange", "0", "-1", "WITHSCORES"),
}
Step = tuple[str, str, list[str]]

keys = st.sampled_from(KEYS)
items = st.sampled_from(["a", "b", "ü", "", "5"])
ends = st.sampled_from(["LEFT", "RIGHT"])
digits = st.sampled_from(["1", "5", "12"])
patterns = st.sampled_from(["#", "*", "one*", "one->*", "*->5", "nosort"])
scores = st.sampled_from(["1", "2", "-1.5", "inf"])


def step(name: str, *args: st.SearchStrategy[str] | str) -> st.SearchStrategy[Step]:
    """Return a command on one of the keys."""
    given = [st.just(each) if isinstance(each, str) else each for each in args]
    return st.tuples(st.just(name), keys, st.tuples(*given).map(list))


STEPS = st.one_of(
    step("set", items),
    step("rpush", items, items),
    step("lpush", items),
    step("sadd", items, items),
    step("zadd", scores, items, scores, items),
    step("hset", items, items),
    step("expire", "100000"),
    step("del"),
    step("rename", keys),
    step("renamenx", keys),
    step("copy", keys),
    step("copy", keys, "REPLACE"),
    step("rpoplpush", keys),
    step("lmove", keys, ends, ends),
    step("lmpop", "2", keys, ends),
    step("smove", keys, items),
    step("sdiffstore", keys, keys),
    step("sinterstore", keys, keys),
    step("sunionstore", keys, keys),
    step("zunionstore", "2", keys, keys),
    step("zinterstore", "2", keys, keys, "AGGREGATE", "MAX"),
    step("zdiffstore", "2", keys, keys),
    step("zrangestore", keys, "0", "1"),
    step("zmpop", "2", keys, st.sampled_from(["MIN", "MAX"])),
    step("mset", items, keys, items),
    step("msetnx", items, keys, items),
    step("bitop", st.sampled_from(["AND", "OR", "XOR", "NOT"]), keys),
    step("getdel"),
    step("getex", "EX", "200000"),
    step("setrange", "3", items),
    step("bitfield", "OVERFLOW", "FAIL", "INCRBY", "u4", "#3", "9"),
    step("zpopmin"),
    step("lpos", items),
    step("sdiff", keys),
    step("sunion", keys),
    step("mget", keys),
    step("zunion", "2", keys, "WITHSCORES"),
    step("lcs", keys),
    step("rpush", digits, digits),
    step("hset", digits, digits),
    step("sort", "ALPHA", "STORE", keys),
    step("sort", "DESC", "LIMIT", "0", "2", "GET", "#", "GET", patterns, "STORE", keys),
    step("sort", "BY", patterns, "STORE", keys),
    step("sort", "BY", "w*", "GET", patterns),
)


async def outcome(lab: Lab, made: Step) -> Any:
    """Return the result of a command, or the text of its refusal without names of keys."""
    name, key, args = made
    result = await lab.call("command", command=name, key=key, args=args)
    return result.get("error", result.get("value"))


async def contents(lab: Lab) -> dict[str, Any]:
    """Return type, value and remaining hours of each key."""
    found: dict[str, Any] = {}
    for key in KEYS:
        kind = await outcome(lab, ("type", key, []))
        if kind != "none":
            name, *args = READS[kind]
            left = await outcome(lab, ("ttl", key, []))
            found[key] = kind, await outcome(lab, (name, key, args)), left // 100
    return found


@pytest.mark.timeout(300)
def test_sequences_on_two_keys_are_as_in_redis(redis_url: str) -> None:
    domain = f"two-keys-{os.getpid()}.localhost"

    @settings(max_examples=size(60, 600), deadline=None, database=None, derandomize=True)
    @given(steps=st.lists(STEPS, min_size=4, max_size=30))
    def play(steps: list[Step]) -> None:
        asyncio.run(_compare(steps, redis_url, domain))

    play()


async def _compare(steps: list[Step], url: str, domain: str) -> None:
    clock = Clock()
    async with opened(clock=clock) as ours, opened(clock=clock, url=url, domain=domain) as real:
        await real.call("clear")
        for made in steps:
            one, other = await outcome(ours, made), await outcome(real, made)
            both_refuse = str(one).startswith("WRONGTYPE") and str(other).startswith("ERR")
            assert one == other or both_refuse, made
        assert await contents(ours) == await contents(real)


@pytest.mark.timeout(300)
def test_sequences_on_two_keys_survive_a_restart() -> None:
    @settings(max_examples=size(40, 200), deadline=None, database=None, derandomize=True)
    @given(steps=st.lists(STEPS, min_size=4, max_size=30))
    def play(steps: list[Step]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(_restart(steps, Path(folder) / "lab.db"))

    play()


async def _restart(steps: list[Step], path: Path) -> None:
    async with opened(path) as lab:
        for made in steps:
            await outcome(lab, made)
        before = await contents(lab)
        await lab.keystore.crash()
        await lab.keystore.recover()  # from the log of every command
        assert await contents(lab) == before
    async with opened(path) as lab:  # from the compacted log
        assert await contents(lab) == before


REFUSED: list[tuple[str, list[Any], str]] = [
    ("copy", ["two", "DB", "1"], "ERR syntax error"),
    ("copy", ["two", "db", 0, "REPLACE"], "ERR syntax error"),
    ("mset", ["v", "", "w"], "Parameter args validation failed: expected 1 to 200 characters, not 0."),
    ("rename", ["a\nb"], "Parameter args validation failed: expected printable characters."),
    ("zunion", ["+2", "two"], "ERR value is not an integer or out of range"),
    ("sintercard", ["02", "two"], "ERR numkeys should be greater than 0"),
    ("lmpop", ["3", "two", "LEFT"], "ERR syntax error"),
    ("bitop", ["NAND", "two"], "ERR syntax error"),
    ("bitfield", ["SET", "u8", str(2**23), "1"], "ERR bit offset is not an integer or out of range"),
    ("setrange", [2**20, "x"], "ERR string exceeds maximum allowed size (proto-max-bulk-len)"),
    ("sort", ["STORE"], "ERR syntax error"),
    ("sort", ["BY", ""], "Parameter args validation failed: expected 1 to 200 characters, not 0."),
    ("sort", ["LIMIT", "0"], "ERR syntax error"),
    ("hrandfield", ["-100001"], f"ERR value is out of range, value must between -100000 and {2**63 - 1}"),
]


@cases(("command", "args", "text"), REFUSED)
async def test_what_is_refused_changes_nothing(command: str, args: list[Any], text: str) -> None:
    async with opened() as lab:
        await lab.command("set", "one", "x")
        assert await lab.refused(command, "one", *args) == (400, text)
        assert (await lab.call("list"))["keys"] == ["one"]
        assert await lab.command("get", "one") == "x"


async def test_a_popped_key_has_its_own_name() -> None:
    async with opened() as lab:
        await lab.command("rpush", "two", "x", "y")
        assert await lab.command("lmpop", "one", 2, "two", "RIGHT") == ["two", ["y"]]
        await lab.command("zadd", "one", 1, "x", 2, "y")
        assert await lab.command("zmpop", "one", 1, "MAX", "COUNT", 2) == ["one", ["y", "2", "x", "1"]]
        assert await lab.call("command", command="zmpop", key="one", args=[1, "MAX"]) == {}


async def test_draws_are_repeated_by_the_seed() -> None:
    drawn = []
    for _ in range(2):
        async with opened() as lab:
            for number in range(20):
                await lab.command("hset", "hash", number, number)
                await lab.command("zadd", "sorted", number, number)
            drawn.append(
                [
                    await lab.command("hrandfield", "hash", 5, "WITHVALUES"),
                    await lab.command("zrandmember", "sorted", -5),
                ]
            )
    assert drawn[0] == drawn[1]
    assert len(drawn[0][0]) == 10


async def test_the_longest_common_subsequence_has_a_limit() -> None:
    async with opened() as lab:
        await lab.command("set", "one", "x" * 1_400)
        await lab.command("set", "two", "x" * 1_400)
        assert await lab.command("lcs", "one", "two", "LEN") == 1_400
        await lab.command("append", "two", "x" * 100)
        assert (await lab.refused("lcs", "one", "two"))[0] == 400


async def test_sort_looks_up_keys_of_its_own_solution_alone() -> None:
    other = Caller("other")
    async with opened() as lab:
        for number, weight in enumerate((3, 1, 2)):
            await lab.command("sadd", "ids", number)
            await lab.command("set", f"weight {number}", weight)
            await lab.command("hset", f"data {number}", "name", f"n{number}")
            await lab.call("command", other, command="set", key=f"weight {number}", args=[10 - weight])
        by = ["BY", "weight *", "GET", "data *->name"]
        assert await lab.command("sort", "ids", *by) == ["n1", "n2", "n0"]
        await lab.call("command", other, command="sadd", key="ids", args=[0, 1, 2])
        found = await lab.call("command", other, command="sort", key="ids", args=by)
        assert found == {"value": [None, None, None]}
        found = await lab.call("command", other, command="sort", key="ids", args=by[:2])
        assert found == {"value": ["0", "2", "1"]}


async def test_sort_of_a_set_without_an_order_is_repeated() -> None:
    async with opened() as lab:
        await lab.command("sadd", "set", *range(50))
        expected = sorted(map(str, range(50)))
        assert await lab.command("sort", "set", "BY", "nosort") == expected
        assert await lab.command("sort", "set", "BY", "none*", "ALPHA") == expected
        assert await lab.command("sort_ro", "set", "ALPHA", "LIMIT", 1, 2) == expected[1:3]


async def test_sort_has_a_limit() -> None:
    async with opened() as lab:
        await lab.command("rpush", "list", *range(9_000))
        await lab.command("set", "long0", "x" * 2**20)
        for _ in range(30):
            await lab.command("rpush", "zeros", 0)
        gets = ["GET", "long*"] * 200
        assert (await lab.refused("sort", "list", *gets))[0] == 400
        status, text = await lab.refused("sort", "zeros", "GET", "long*", "STORE", "to")
        assert (status, text) == (400, f"ERR the values have {30 * 2**20} bytes, more than 20000000")
        assert await lab.command("exists", "to") == 0


async def test_a_quota_counts_the_key_that_sort_stores() -> None:
    async with opened(limits={"keystore_keys": 1}) as lab:
        await lab.command("rpush", "list", 2, 1)
        assert (await lab.refused("sort", "list", "STORE", "more"))[0] == 403
        assert await lab.command("sort", "list", "STORE", "list") == 2
        assert await lab.command("lrange", "list", 0, -1) == ["1", "2"]


@cases(
    ("command", "reason"),
    [
        (
            "XAdd",
            "the command xadd is not available: the embedded store cannot restore the newest id of a stream",
        ),
        ("blpop", "the command blpop is not available: a call never waits for another one"),
        ("hexpire", "the command hexpire is not available: Redis 7.0 has no times for fields of a hash"),
    ],
)
async def test_commands_that_are_not_available_say_why(command: str, reason: str) -> None:
    async with opened() as lab:
        assert await lab.refused(command, "k", "x") == (
            400,
            f"Parameter command validation failed: {reason}.",
        )


async def test_no_command_is_both_available_and_not() -> None:
    assert not UNAVAILABLE.keys() & COMMANDS.keys()


async def test_places_are_stored_among_the_solutions_own_keys() -> None:
    other = Caller("other")
    async with opened(limits={"keystore_keys": 3}) as lab:
        await lab.command("geoadd", "sicily", 13.361389, 38.115556, "Palermo", "15.087269", "37.502669", "ü")
        assert await lab.command("zscore", "sicily", "Palermo") == "3479099956230698"
        around = (15, 37, 200, "km")
        assert await lab.command("georadius", "sicily", *around, "STORE", "near") == 2
        assert await lab.command("georadius", "sicily", *around, "storedist", "other:near") == 2
        assert await lab.command("georadiusbymember", "sicily", "ü", 1, "m", "STORE", "near") == 1
        assert (await lab.refused("georadius", "sicily", *around, "STORE", "fourth"))[0] == 403
        args = ["sicily", "FROMMEMBER", "ü", "BYBOX", 400, 400, "km", "STOREDIST"]
        assert (await lab.refused("geosearchstore", "fourth", *args))[0] == 403
        assert (await lab.refused("zrangestore", "fourth", "sicily", 0, -1))[0] == 403
        assert await lab.command("geosearchstore", "near", *args) == 2
        assert [round(float(each)) for each in await lab.command("zmscore", "near", "ü", "Palermo")] == [
            0,
            166,
        ]
        assert (await lab.call("list"))["keys"] == ["near", "other:near", "sicily"]
        assert (await lab.call("list", other))["keys"] == []
        assert await lab.refused("georadius_ro", "sicily", *around, "STORE", "near") == (
            400,
            "ERR syntax error",
        )
