"""Limits of one call, and no call that blocks others for long."""

from __future__ import annotations

import time

from tests.cases import cases
from tests.services.keystore.stores import opened

MIB = 2**20


async def test_a_value_may_have_one_mebibyte() -> None:
    async with opened() as lab:
        assert await lab.call("set", key="k", value="é" * (MIB // 2)) == {}
        refused = await lab.call("set", key="k", value="é" * (MIB // 2) + "x")
        assert (refused["status"], refused["error"]) == (400, f"a value may have {MIB} bytes, not {MIB + 1}")
        assert await lab.refused("lpush", "l", "x" * (MIB + 1)) == (400, refused["error"])
        assert (await lab.call("mset", values={"k": "x" * (MIB + 1)}))["status"] == 400
        text = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
        assert await lab.refused("append", "k", "x") == (400, text)
        assert await lab.command("append", "k", "") == MIB
        assert await lab.command("append", "m", "x" * MIB) == MIB


@cases(
    "pattern",
    ["*" + "?" * 200 + "b*", "a*" * 500 + "b", "[" * 10**6, "*" + "[a-z]" * 200 + "!", "x" * MIB],
)
async def test_no_pattern_blocks_others(pattern: str) -> None:
    async with opened() as lab:
        await lab.command("hset", "h", "a" * MIB, 1)
        await lab.command("hset", "small", "a" * 1000, 1)
        began = time.process_time()
        refused = await lab.call("command", command="hscan", key="h", args=[0, "MATCH", pattern])
        answered = await lab.call("command", command="hscan", key="small", args=[0, "MATCH", pattern])
        assert time.process_time() - began < 1
        assert "is too long to look for in 1048576 bytes of fields" in refused["error"]
        assert ("status" in answered) == (len(pattern) > 1024)


async def test_common_patterns_search_ten_thousand_fields() -> None:
    async with opened() as lab:
        for start in range(0, 10_000, 5_000):
            fields = [
                item for number in range(start, start + 5_000) for item in (f"device:{number:06}", number)
            ]
            await lab.command("hset", "h", *fields)
        cursor, found = await lab.command("hscan", "h", 0, "MATCH", "device:*42", "COUNT", 10_000)
        assert (cursor, len(found)) == ("0", 200)
