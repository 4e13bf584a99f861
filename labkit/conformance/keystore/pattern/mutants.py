"""Faults of the commands that the metrics pattern uses, and of some others."""

from __future__ import annotations

import asyncio
from typing import Any

from labkit.conformance.mutant import instead
from labkit.services.keystore.commands import Command
from labkit.services.keystore.embedded import Embedded

EXECUTE = "labkit.services.keystore.embedded:Embedded.execute"


@instead("KEY-INCR-1", EXECUTE)
async def not_kept(original: Any, self: Embedded, command: Command) -> Any:
    """incrby returns the sum, but does not store it"""
    reply = await original(self, command)
    if command[0] == b"INCRBY":
        await original(self, (b"INCRBY", command[1], str(-int(command[2])).encode()))
    return reply


@instead("KEY-INCR-2", EXECUTE)
async def created_with_nothing(original: Any, self: Embedded, command: Command) -> Any:
    """incrby creates a key with 0"""
    if command[0] == b"INCRBY" and not await original(self, (b"EXISTS", command[1])):
        command = (b"INCRBY", command[1], b"0")
    return await original(self, command)


@instead("KEY-INCR-3", EXECUTE)
async def read_then_written(original: Any, self: Embedded, command: Command) -> Any:
    """incrby reads, yields to other calls, and then writes"""
    if command[0] != b"INCRBY":
        return await original(self, command)
    sum = int(await original(self, (b"GET", command[1])) or 0) + int(command[2])
    await asyncio.sleep(0)
    await original(self, (b"SET", command[1], str(sum).encode(), b"KEEPTTL"))
    return sum


@instead("KEY-EXP-3", EXECUTE)
async def dead_at_the_second(original: Any, self: Embedded, command: Command) -> Any:
    """a key is gone at the second of its expiry"""
    if command[0] in (b"EXPIRE", b"EXPIREAT"):
        command = (b"P" + command[0], command[1], str(int(command[2]) * 1000 - 1).encode())
    return await original(self, command)


@instead("KEY-CMD-6", EXECUTE)
async def empty_sets(original: Any, self: Embedded, command: Command) -> Any:
    """a set that lost its last member still exists"""
    reply = await original(self, command)
    if command[0] in (b"SREM", b"SPOP") and not await original(self, (b"EXISTS", command[1])):
        await original(self, (b"SET", command[1], b""))
    return reply
