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

from labkit.core.clock import Clock
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
