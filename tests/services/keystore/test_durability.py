"""The embedded Keystore with a data file: every answered write survives a regular stop and a crash."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from labkit.labtime.clock import Clock
from labkit.services.keystore.log import CommandLog
from labkit.storage.database import Database
from labkit.storage.schema import metadata
from tests.services.keystore.played import KEYS, CommandGenerator
from tests.services.keystore.stores import Lab, opened
from tests.sizes import size

START = 1_000_000.0


async def log_of(lab: Lab) -> list[list[str]]:
    """Return the commands in the log, without the solution's name."""

    def read(connection: Connection) -> list[str]:
        return list(connection.execute(text("SELECT command FROM keystore_log ORDER BY sequence")).scalars())

    rows = [json.loads(row) for row in await lab.database.run(read)]
    return [[item.removeprefix("acme:") for item in row] for row in rows]


async def contents(lab: Lab) -> dict[str, tuple[str, Any, int]]:
    """Return type, value and remaining milliseconds of every key."""
    reads: dict[str, list[Any]] = {"string": ["get"], "list": ["lrange", 0, -1], "set": ["smembers"]}
    reads |= {"hash": ["hgetall"], "zset": ["zrange", 0, -1, "WITHSCORES"]}
    held = {}
    for key in (await lab.call("list"))["keys"]:
        kind = await lab.command("type", key)
        name, *args = reads[kind]
        held[key] = (kind, await lab.command(name, key, *args), await lab.command("pttl", key))
    return held


def copied(path: Path, name: str = "copy.db") -> Path:
    """Copy the data file in its current state, as a crash would leave it."""
    copy = path.with_name(name)
    for suffix in ("", "-wal"):
        source = path.with_name(path.name + suffix)
        if source.exists():
            shutil.copy(source, copy.with_name(copy.name + suffix))
    return copy


LOGGED: list[tuple[list[Any], list[Any], list[list[str]]]] = [
    (["incrby", "n", 5], [], [["INCRBY", "n", "5"]]),
    (["expire", "k", 10], [["set", "k", "v"]], [["PEXPIREAT", "k", "1000010000"]]),
    (["pexpire", "k", 10], [["set", "k", "v"]], [["PEXPIREAT", "k", "1000000010"]]),
    (["expireat", "k", 1_000_060], [["set", "k", "v"]], [["PEXPIREAT", "k", "1000060000"]]),
    (["expire", "k", 10, "NX"], [["set", "k", "v"]], [["PEXPIREAT", "k", "1000010000", "NX"]]),
    (["setex", "k", 10, "v"], [], [["SET", "k", "v", "PXAT", "1000010000"]]),
    (["psetex", "k", 10, "v"], [], [["SET", "k", "v", "PXAT", "1000000010"]]),
    (["set", "k", "v", "EX", 10], [], [["SET", "k", "v", "PXAT", "1000010000"]]),
    (["set", "k", "v", "nx", "px", 10], [], [["SET", "k", "v", "nx", "PXAT", "1000000010"]]),
    (["set", "k", "EX"], [], [["SET", "k", "EX"]]),
    (["spop", "s"], [["sadd", "s", "only"]], [["SREM", "s", "only"]]),
    (["spop", "s", 5], [["sadd", "s", "b", "a"]], [["SREM", "s", "a", "b"]]),
    (["incrbyfloat", "f", 0.2], [["set", "f", 0.1]], [["SET", "f", "0.3", "KEEPTTL"]]),
    (["hincrbyfloat", "h", "f", 0.2], [["hset", "h", "f", 0.1]], [["HSET", "h", "f", "0.3"]]),
    (["spop", "missing"], [], []),
    (["srandmember", "s"], [["sadd", "s", "a"]], []),
    (["get", "k"], [["set", "k", "v"]], []),
    (["ttl", "k"], [["set", "k", "v"]], []),
    (["hscan", "h", 0], [["hset", "h", "f", "v"]], []),
]


@pytest.mark.parametrize(("command", "before", "logged"), LOGGED, ids=str)
async def test_the_log_has_commands_that_can_be_replayed(
    tmp_path: Path, command: list[Any], before: list[list[Any]], logged: list[list[str]]
) -> None:
    async with opened(tmp_path / "lab.db", Clock(rate=0, start=START)) as lab:
        for earlier in before:
            await lab.command(*earlier)
        await lab.command(*command)
        assert (await log_of(lab))[len(before) :] == logged


async def test_reads_and_refusals_are_not_logged(tmp_path: Path) -> None:
    async with opened(tmp_path / "lab.db") as lab:
        await lab.call("set", key="word", value="abc")
        logged = await log_of(lab)
        assert logged == [["MSET", "word", "abc"]]
        await lab.refused("incr", "word")
        await lab.refused("lpush", "word", "x")
        await lab.refused("set", "word", "x", "EX", 0)
        await lab.refused("hincrbyfloat", "word", "f", 1)
        await lab.call("get", key="word")
        await lab.call("info")
        await lab.call("delete", key="")
        assert await log_of(lab) == logged


async def test_every_operation_survives(tmp_path: Path) -> None:
    path = tmp_path / "lab.db"
    async with opened(path) as lab:
        await lab.call("mset", values={"a": 1, "b": 2, "c": 3, "d": 4})
        await lab.call("delete", key="a")
        await lab.call("mdelete", keys=["b"])
        await lab.call("set", key="raw", value=b"\xff\x00".decode("utf-8", "surrogateescape"))
        await lab.call("clear", match="c")
        copy = copied(path)
    for file in (path, copy):
        async with opened(file) as lab:
            assert (await lab.call("list"))["keys"] == ["d", "raw"]
            assert await lab.command("bitcount", "raw") == 8


@pytest.mark.parametrize("seed", range(3))
async def test_random_commands_survive_a_crash_and_a_regular_stop(tmp_path: Path, seed: int) -> None:
    """Also if time passed between the commands: each is replayed at its own time."""
    path = tmp_path / "lab.db"
    clock = Clock(rate=0, start=START)
    async with opened(path, clock) as lab:
        for number, played in enumerate(CommandGenerator(seed, int(START)).play(size(400, 4_000))):
            await lab.call("command", command=played.name, key=played.key, args=played.args)
            if number % 20 == 0:
                await clock.advance(seconds=9_000.123)
        held = await contents(lab)
        assert len(held) > len(KEYS) // 3
        copy = copied(path)
    for file in (copy, path, path):
        async with opened(file, Clock(rate=0, start=clock.now())) as lab:
            assert await contents(lab) == held


async def test_an_earlier_clock_does_not_revive_expired_keys(tmp_path: Path) -> None:
    path, clock = tmp_path / "lab.db", Clock(rate=0, start=START)
    async with opened(path, clock) as lab:
        await lab.command("setex", "n", 10, 100)
        await clock.advance(seconds=11)
        assert await lab.command("incr", "n") == 1
        copy = copied(path)
    async with opened(copy, Clock(rate=0, start=START)) as lab:
        assert await lab.call("get", key="n") == {"value": "1"}


async def test_a_regular_stop_leaves_the_shortest_log(tmp_path: Path) -> None:
    path, clock = tmp_path / "lab.db", Clock(rate=0, start=START)
    async with opened(path, clock) as lab:
        for _ in range(50):
            await lab.command("incr", "n")
            await lab.command("rpush", "l", "x")
            await lab.command("ltrim", "l", 0, 2)
        await lab.command("setex", "gone", 5, "v")
        await lab.command("psetex", "t", 60_001, "v")
        await lab.command("zadd", "z", 0.1, "a", "-inf", "b")
        await lab.command("hset", "h", "f", "v")
        await lab.command("sadd", "s", "m")
        await clock.advance(seconds=6)
        held = await contents(lab)
    async with opened(path, clock) as lab:
        assert sorted(await log_of(lab)) == [
            ["HSET", "h", "f", "v"],
            ["PEXPIREAT", "t", "1000060001"],
            ["RPUSH", "l", "x", "x", "x"],
            ["SADD", "s", "m"],
            ["SET", "n", "50"],
            ["SET", "t", "v"],
            ["ZADD", "z", "-inf", "b", "0.1", "a"],
        ]
        assert await contents(lab) == held


async def test_a_log_that_is_too_long_is_rewritten_while_the_lab_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labkit.services.keystore.log._GROWTH", 50)
    path = tmp_path / "lab.db"
    async with opened(path) as lab:
        await lab.call("set", key="k", value="v")
        for _ in range(200):
            await lab.command("incr", "n")
        assert len(await log_of(lab)) < 100
        copy = copied(path)
    async with opened(copy) as lab:
        assert await lab.call("get", key="n") == {"value": "200"}
        assert await lab.call("get", key="k") == {"value": "v"}


async def test_a_write_and_a_read_of_it_return_after_its_commit(tmp_path: Path) -> None:
    path = tmp_path / "lab.db"

    async def committed(operation: str, **parameters: object) -> str:
        """Call it, and look for the write in the file as soon as it is answered."""
        await lab.call(operation, key="k", **parameters)
        other = Database(copied(path, f"{operation}.db"))
        other.start(metadata)
        entries = await CommandLog(other).entries()
        other.close()
        return str(entries)

    async with opened(path) as lab:
        async with asyncio.TaskGroup() as group:
            write = group.create_task(committed("set", value="written"))
            read = group.create_task(committed("get"))
        assert "written" in write.result()
        assert "written" in read.result()


async def test_in_memory_nothing_is_logged() -> None:
    async with opened() as lab:
        await lab.call("set", key="k", value="v")
        assert await log_of(lab) == []
