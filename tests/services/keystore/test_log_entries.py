"""The log of a durable Keystore: a command is one entry, whatever number of keys it changes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from labkit.labtime.clock import Clock
from tests.services.keystore.stores import Lab, opened

Step = tuple[str, str, list[Any]]

FILLED: list[Step] = [
    ("set", "text", ["ab"]),
    ("set", "other", ["\0ü"]),
    ("expire", "text", [100_000]),
    ("rpush", "list", ["x", "y", "z", "x"]),
    ("rpush", "more", ["1"]),
    ("sadd", "set", ["a", "b", "ü"]),
    ("sadd", "also", ["b", "c"]),
    ("expire", "set", [200_000]),
    ("zadd", "sorted", [1, "a", 2.5, "b", "-inf", "c"]),
    ("zadd", "ranked", [7, "b"]),
    ("geoadd", "sicily", ["13.361389", "38.115556", "Palermo", "15.087269", "37.502669", "Catania"]),
    ("pfadd", "sketch", ["x", "y"]),
    ("pfadd", "second", ["y", "z"]),
]
# Commands on two keys or more, each of which changes something.
STEPS: list[Step] = [
    ("mset", "one", ["1", "two", "2"]),
    ("msetnx", "three", ["3", "four", "4"]),
    ("copy", "text", ["copied"]),
    ("copy", "set", ["other", "REPLACE"]),
    ("rename", "text", ["renamed"]),
    ("renamenx", "copied", ["text"]),
    ("bitop", "bits", ["XOR", "renamed", "one"]),
    ("rpoplpush", "list", ["more"]),
    ("lmove", "list", ["more", "LEFT", "RIGHT"]),
    ("lmpop", "missing", [2, "list", "RIGHT", "COUNT", 2]),
    ("smove", "set", ["also", "a"]),
    ("sinterstore", "common", ["set", "also"]),
    ("sunionstore", "all", ["set", "also"]),
    ("sdiffstore", "rest", ["set", "also"]),
    ("zrangestore", "top", ["sorted", 0, 1]),
    ("zrangestore", "also", ["sorted", 0, -1, "REV"]),  # a sorted set in place of a set
    ("zunionstore", "both", [2, "sorted", "ranked", "WEIGHTS", 2, 1]),
    ("zinterstore", "shared", [2, "sorted", "ranked", "AGGREGATE", "MAX"]),
    ("zdiffstore", "apart", [2, "sorted", "ranked"]),
    ("zmpop", "missing", [2, "sorted", "MAX", "COUNT", 2]),
    ("pfmerge", "merged", ["sketch", "second"]),
    ("sort", "also", ["BY", "nosort", "STORE", "sorted list"]),
    ("georadius", "sicily", [15, 37, 200, "km", "STORE", "near"]),
    ("geosearchstore", "around", ["sicily", "FROMMEMBER", "Catania", "BYRADIUS", 1, "m"]),
    ("unlink", "one", ["two", "more"]),
    ("del", "three", ["four"]),
]
READS: dict[str, tuple[str, list[Any]]] = {
    "string": ("get", []),
    "list": ("lrange", [0, -1]),
    "set": ("smembers", []),
    "zset": ("zrange", [0, -1, "WITHSCORES"]),
}
SKETCHES = ("sketch", "second", "merged")  # whose bytes are others in Redis, see `hyperloglog.py`


async def entries(lab: Lab) -> list[Any]:
    """Return what the table of the log has, oldest first."""

    def read(connection: Connection) -> list[str]:
        return list(connection.execute(text("SELECT command FROM keystore_log ORDER BY sequence")).scalars())

    return [json.loads(each) for each in await lab.database.run(read)]


async def contents(lab: Lab) -> dict[str, Any]:
    """Return type, value and remaining hours of every key."""
    found = {}
    for key in (await lab.call("list"))["keys"]:
        kind = await lab.command("type", key)
        name, args = ("pfcount", []) if key in SKETCHES else READS[kind]
        found[key] = kind, await lab.command(name, key, *args), await lab.command("ttl", key) // 3600
    return found


async def test_each_command_on_several_keys_is_one_entry(tmp_path: Path) -> None:
    async with opened(tmp_path / "lab.db") as lab:
        for name, key, args in FILLED:
            await lab.command(name, key, *args)
        for name, key, args in STEPS:
            before = await entries(lab)
            await lab.command(name, key, *args)
            after = await entries(lab)
            assert after[:-1] == before, name


async def test_the_contents_are_those_of_redis_after_a_restart_and_a_kill(
    tmp_path: Path, redis_url: str
) -> None:
    domain = f"entries-{os.getpid()}.localhost"
    clock = Clock()
    async with opened(clock=clock, url=redis_url, domain=domain) as real:
        await real.call("clear")
        for name, key, args in FILLED + STEPS:
            await real.command(name, key, *args)
        expected = await contents(real)
        await real.call("clear")
    assert len(expected) > 15
    killed = tmp_path / "killed.db"
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, str(killed))
    assert await child.wait() == -signal.SIGKILL
    async with opened(tmp_path / "lab.db", clock) as lab:
        for name, key, args in FILLED + STEPS:
            await lab.command(name, key, *args)
        assert await contents(lab) == expected
        await lab.keystore.crash()
        await lab.keystore.recover()  # from every entry
        assert await contents(lab) == expected
    for file in (tmp_path / "lab.db", killed, killed):  # from the compacted log, and twice after the kill
        async with opened(file, clock) as lab:
            assert await contents(lab) == expected, file


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from labkit.labtime.clock import Clock
from tests.services.keystore.stores import opened
from tests.services.keystore.test_log_entries import FILLED, STEPS

async def main():
    async with opened(Path(sys.argv[1]), Clock()) as lab:
        for name, key, args in FILLED + STEPS:
            await lab.command(name, key, *args)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""

ABSOLUTE: list[tuple[list[Step], list[Any]]] = [
    ([("copy", "text", ["t2"])], [["DEL", "t2"], ["SET", "t2", "ab"], ["PEXPIREAT", "t2", "1100000000"]]),
    (
        [("zrangestore", "set", ["sorted", 0, 0])],
        [["DEL", "set"], ["ZRANGESTORE", "set", "sorted", "0", "0"]],
    ),
    ([("sort", "list", ["ALPHA", "STORE", "l2"])], [["DEL", "l2"], ["RPUSH", "l2", "x", "x", "y", "z"]]),
    ([("lmpop", "missing", [2, "list", "LEFT"])], ["LPOP", "list", "1"]),
    ([("getex", "other", ["EX", 50])], ["PEXPIREAT", "other", "1000050000"]),
]


@pytest.mark.parametrize(("steps", "logged"), ABSOLUTE)
async def test_an_entry_is_absolute(tmp_path: Path, steps: list[Step], logged: list[Any]) -> None:
    async with opened(tmp_path / "lab.db", Clock(rate=0, start=1_000_000.0)) as lab:
        for name, key, args in FILLED + steps:
            await lab.command(name, key, *args)
        last = (await entries(lab))[-1]
        plain = json.dumps(last).replace("acme:", "")
        assert json.loads(plain) == logged


async def test_entries_of_earlier_versions_are_read(tmp_path: Path) -> None:
    rows = [["DEL", "acme:z"], ["SET", "acme:z", "v"], ["APPEND", "acme:z", "w"]]

    def write(connection: Connection) -> None:
        for row in rows:
            connection.execute(
                text("INSERT INTO keystore_log (time, command) VALUES (1000, :row)"), {"row": json.dumps(row)}
            )

    async with opened(tmp_path / "lab.db") as lab:
        await lab.database.run(write)
        await lab.keystore.crash()
        await lab.keystore.recover()
        assert await lab.command("get", "z") == "vw"


@pytest.mark.parametrize("size", [0, 1, 9_999])
async def test_an_entry_may_have_many_commands(tmp_path: Path, size: int) -> None:
    async with opened(tmp_path / "lab.db") as lab:
        await lab.command("pfadd", "p", *range(size))
        assert len(await entries(lab)) == 1
        count = await lab.command("pfcount", "p")
        await lab.keystore.crash()
        await lab.keystore.recover()
        assert await lab.command("pfcount", "p") == count
