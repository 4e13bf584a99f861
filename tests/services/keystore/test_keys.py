"""The keys of a solution: listed, counted, limited, cleared, and separate from other solutions."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, cast

from labkit.core.coroutines import result_of
from labkit.core.errors import ServiceError
from labkit.core.identifiers import Identifiers
from labkit.labtime.clock import Clock
from labkit.services.keystore.commands import COMMANDS, Layout
from labkit.services.keystore.contents import read_command, reply_values
from labkit.services.keystore.embedded import Embedded
from labkit.services.operation import Caller
from tests.cases import cases
from tests.services.keystore.forms import FURTHER
from tests.services.keystore.played import FORMS, KEYS, CommandGenerator
from tests.services.keystore.stores import opened

OTHER = Caller("other")
# Arguments with which commands on places store their result.
PLACES = {
    "georadius": [1, 1, 1, "m", "STORE", "new"],
    "georadiusbymember": ["a", 1, "m", "STORE", "new"],
}


async def test_list_continues_at_its_cursor() -> None:
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
        assert (await lab.call("list", match="key24"))["keys"] == []
        before = (await lab.call("info"))["usage"]["keys"]
        await lab.call("clear", count=100)
        assert before - 200 <= (await lab.call("info"))["usage"]["keys"] <= before - 100
        await lab.call("clear")
        assert (await lab.call("list"))["keys"] == []
        assert await lab.call("get", OTHER, key="key1") == {"value": "stays"}


async def test_info_counts_keys_and_bytes() -> None:
    async with opened(limits={"keystore_keys": 10}) as lab:
        await lab.call("set", key="k", value="12345")
        await lab.command("rpush", "list", "ab", "c")
        await lab.command("hset", "h", "field", "ü")
        await lab.command("sadd", "s", "abc")
        await lab.command("zadd", "z", 1.5, "m")
        await lab.call("set", OTHER, key="k", value="1")
        size = len("k12345") + len("listabc") + len("hfield") + 2 + len("sabc") + len("z1.5m")
        assert await lab.call("info") == {"quota": {"keys": 10}, "usage": {"keys": 5, "size": size}}
    async with opened() as lab:
        assert await lab.call("info") == {"quota": {"keys": 2**32}, "usage": {"keys": 0, "size": 0}}


async def test_kept_sums_and_orders_follow_every_command() -> None:
    clock = Clock(rate=0, start=1_767_225_600)
    store = Embedded(clock, Identifiers(7), None)
    forms = {**FORMS, **FURTHER}
    ordered = 0
    for number, played in enumerate(CommandGenerator(5, int(clock.now()), forms=forms).play(4000)):
        command = (played.name.upper(), played.key, *played.args)
        with suppress(ServiceError):
            await store.execute(tuple(each.encode() for each in command))
        if number % 500 == 0:
            await clock.advance(seconds=86_400)
        size = count = 0
        for key in sorted(cast("list[bytes]", await store.execute((b"KEYS", b"*")))):
            kind = cast("bytes", await store.execute((b"TYPE", key)))
            value = await store.execute(read_command(kind, key))
            count, size = count + 1, size + len(key) + sum(map(len, reply_values(value)))
            if kind in (b"set", b"hash", b"zset") and number % 3:  # now and then the order falls behind
                given = cast("list[Any]", value)
                names = [each[0] for each in given] if kind == b"zset" else [*given]
                assert [*store.members(key)] == sorted(names), played
                ordered += 1
        if number % 2:
            assert await store.usage(b"") == (count, size), played
    assert ordered > 1000


async def test_a_scan_goes_on_after_what_was_deleted() -> None:
    async with opened() as lab:
        names = [f"m{number:04}" for number in range(1000)]
        await lab.command("sadd", "s", *names)
        await lab.call("mset", values=dict.fromkeys(names, 1))
        cursor, found = await lab.command("sscan", "s", 0, "COUNT", 100)
        page = await lab.call("list", count=100)
        await lab.command("srem", "s", *found)
        await lab.call("mdelete", keys=page["keys"])
        assert (await lab.command("sscan", "s", cursor, "COUNT", 2))[1] == names[100:102]
        assert (await lab.call("list", cursor=page["cursor"], count=2))["keys"] == names[100:102]


async def test_a_walk_over_many_keys_lets_others_run() -> None:
    async with opened() as lab:
        for begin in range(0, 5000, 1000):
            await lab.call("mset", values={f"k{begin + number}": 1 for number in range(1000)})
            await lab.call("mset", OTHER, values={"k": 1})
        for operation in ("list", "clear"):
            match = {"match": "none"} if operation == "list" else {}
            turns, walking = 0, asyncio.ensure_future(lab.call(operation, **match))
            while not walking.done():
                turns += 1
                await asyncio.sleep(0)
            assert turns > 4
            assert not lab.keystore.may_wait(OTHER, operation)
        assert (await lab.call("list", OTHER, count=1))["keys"] == ["k"]


@cases("number", [1000, 1001, 2500])
async def test_keys_that_expire_together_are_removed_in_parts(number: int) -> None:
    async with opened() as lab:
        for at in range(number):
            await lab.command("set", f"k{at}", 1, "EX", 10)
        await lab.call("set", key="stays", value="1")
        await lab.clock.advance(seconds=11)
        assert lab.keystore.may_wait(OTHER, "info") == (number > 1000)
        walk = lab.call("info", OTHER)
        found = await walk if number > 1000 else result_of(walk)
        assert found["usage"] == {"keys": 0, "size": 0}
        assert not lab.keystore.may_wait(OTHER, "info")
        assert (await lab.call("info"))["usage"] == {"keys": 1, "size": 6}


async def test_a_quota_refuses_new_keys() -> None:
    async with opened(limits={"keystore_keys": 2}) as lab:
        await lab.call("set", key="a", value=1)
        await lab.command("lpush", "l", "x")
        full = {
            "type": "QueryError",
            "status": 403,
            "status_code": 403,
            "error": "Key count quota reached: 2 of 2 keys are in use, by limits.keystore_keys.",
        }
        assert await lab.call("set", key="b", value=1) == full
        assert await lab.call("mset", values={"a": 2, "b": 2}) == full
        assert await lab.call("get", key="a") == {"value": "1"}
        for command, kind in COMMANDS.items():
            args = {"bitop": ["AND", "new"], "sort": ["STORE", "new"], **PLACES}.get(
                command, ["new"] if kind.layout is Layout.FIRST else []
            )
            result = await lab.call("command", command=command, key="new", args=args)
            assert (result.get("status") == 403) == kind.grows, command
        two = await lab.call("command", command="msetnx", key="l", args=[1, "l", 1])
        assert two == {"value": 0}
        assert await lab.call("command", command="rename", key="l", args=["m"]) == {"value": "OK"}
        assert await lab.call("command", command="rename", key="m", args=["l"]) == {"value": "OK"}
        assert await lab.command("lpush", "l", "y") == 2  # existing values may grow
        assert await lab.call("set", key="a", value=3) == {}
        assert await lab.call("set", OTHER, key="a", value=1) == {}  # a quota for each solution
        await lab.call("delete", key="a")
        assert await lab.call("set", key="b", value=1) == {}


async def test_an_expired_key_no_longer_counts() -> None:
    async with opened(limits={"keystore_keys": 1}) as lab:
        await lab.command("set", "a", 1, "EX", 10)
        assert (await lab.refused("set", "b", 1))[0] == 403
        await lab.clock.advance(seconds=11)
        assert await lab.command("set", "b", 1) == "OK"


@cases(("one", "other"), [("acme", "other"), ("a", "a:b"), ("a:", "a"), ("a%3A", "a:")])
async def test_solutions_never_share_a_key(one: str, other: str) -> None:
    async with opened() as lab:
        await lab.call("set", Caller(one), key="b:k", value="one")
        for key in ("k", "b:k", ":b:k", "b:b:k"):
            assert await lab.call("get", Caller(other), key=key) == {}
        await lab.call("clear", Caller(other))
        assert await lab.call("get", Caller(one), key="b:k") == {"value": "one"}
        assert (await lab.call("list", Caller(other)))["keys"] == []


async def test_no_command_reaches_another_solution() -> None:
    """Random commands, with every key and argument that could address the other's keys."""
    async with opened() as lab:
        for key in KEYS:
            await lab.call("set", OTHER, key=key, value="secret")
        forms = {**FORMS, **FURTHER}
        for played in CommandGenerator(3, int(lab.clock.now()), forms=forms).play(3000):
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


async def test_a_scaled_clock_expires_in_its_own_time() -> None:
    clock = Clock(rate=1000)
    async with opened(clock=clock) as lab:
        await lab.command("psetex", "k", 5_000, "v")
        await clock.sleep_until(clock.now() + 6)
        assert await lab.command("exists", "k") == 0
