"""Faults of the commands that the metrics pattern uses, and of some others."""

from __future__ import annotations

import asyncio
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.core.errors import ServiceError
from labkit.services.keystore.commands import Command
from labkit.services.keystore.embedded import Embedded

EXECUTE = "labkit.services.keystore.embedded:Embedded.execute"


@mutant("KEY-INCR-1", EXECUTE)
def not_kept(original: Any) -> Any:
    """incrby gives the sum, and does not store it"""

    async def broken(self: Embedded, command: Command) -> Any:
        reply = await original(self, command)
        if command[0] == b"INCRBY":
            await original(self, (b"INCRBY", command[1], str(-int(command[2])).encode()))
        return reply

    return broken


@mutant("KEY-INCR-2", EXECUTE)
def created_with_nothing(original: Any) -> Any:
    """incrby creates a key with 0"""

    async def broken(self: Embedded, command: Command) -> Any:
        if command[0] == b"INCRBY" and not await original(self, (b"EXISTS", command[1])):
            command = (b"INCRBY", command[1], b"0")
        return await original(self, command)

    return broken


@mutant("KEY-INCR-2", EXECUTE)
def not_created(original: Any) -> Any:
    """incrby on a key that is not there is refused"""

    async def broken(self: Embedded, command: Command) -> Any:
        if command[0] == b"INCRBY" and not await original(self, (b"EXISTS", command[1])):
            raise ServiceError(400, "no such key")
        return await original(self, command)

    return broken


@mutant("KEY-INCR-3", EXECUTE)
def read_then_written(original: Any) -> Any:
    """incrby reads, leaves the loop to others, and writes"""

    async def broken(self: Embedded, command: Command) -> Any:
        if command[0] != b"INCRBY":
            return await original(self, command)
        sum = int(await original(self, (b"GET", command[1])) or 0) + int(command[2])
        await asyncio.sleep(0)
        await original(self, (b"SET", command[1], str(sum).encode(), b"KEEPTTL"))
        return sum

    return broken


@mutant("KEY-EXP-3", EXECUTE)
def dead_at_the_second(original: Any) -> Any:
    """a key is gone at the second of its expiry"""

    async def broken(self: Embedded, command: Command) -> Any:
        if command[0] in (b"EXPIRE", b"EXPIREAT"):
            command = (b"P" + command[0], command[1], str(int(command[2]) * 1000 - 1).encode())
        return await original(self, command)

    return broken


@mutant("KEY-CMD-6", EXECUTE)
def empty_sets(original: Any) -> Any:
    """a set that lost its last member is still there"""

    async def broken(self: Embedded, command: Command) -> Any:
        reply = await original(self, command)
        if command[0] in (b"SREM", b"SPOP") and not await original(self, (b"EXISTS", command[1])):
            await original(self, (b"SET", command[1], b""))
        return reply

    return broken
