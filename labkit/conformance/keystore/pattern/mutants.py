"""Faults of the commands that the metrics pattern uses, and of some others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.core.errors import ServiceError
from labkit.services.keystore.commands import Command
from labkit.services.keystore.embedded import Embedded

EXECUTE = "labkit.services.keystore.embedded:Embedded.execute"


# ---- counting


@mutant("KEY-INCR-1 KEY-INCR-2", EXECUTE)
def always_one(original: Any) -> Any:
    """incrby adds 1, whatever n is"""
    return _as(original, b"INCRBY", lambda key, *args: (b"INCRBY", key, b"1"))


@mutant("KEY-INCR-1", EXECUTE)
def old_value(original: Any) -> Any:
    """incrby gives what was there before"""
    return _giving(original, b"INCRBY", lambda reply, command: reply - int(command[2]))


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


# ---- expiry


@mutant("KEY-EXP-1 SOL-MET-3", EXECUTE)
def expireat_ignored(original: Any) -> Any:
    """expireat does nothing"""
    return _as(original, b"EXPIREAT", lambda key, when: (b"EXISTS", key))


@mutant("KEY-EXP-1 SOL-MET-3", EXECUTE)
def expireat_from_now(original: Any) -> Any:
    """expireat counts from now on"""
    return _as(original, b"EXPIREAT", lambda key, when: (b"EXPIRE", key, when))


@mutant("KEY-EXP-1 SOL-MET-2 SOL-MET-3", EXECUTE)
def expireat_in_milliseconds(original: Any) -> Any:
    """expireat takes milliseconds"""
    return _as(original, b"EXPIREAT", lambda key, when: (b"PEXPIREAT", key, when))


@mutant("KEY-EXP-1 KEY-EXP-2 SOL-MET-3", "labkit.services.keystore.settled:expire")
def early(original: Any) -> Any:
    """a key is gone some seconds early"""

    def broken(store: Any, command: Command) -> Any:
        return original(store, (*command[:2], str(int(command[2]) - 5).encode(), *command[3:]))

    return broken


@mutant("KEY-EXP-2", EXECUTE)
def expire_ignored(original: Any) -> Any:
    """EXPIRE does nothing"""
    return _as(original, b"EXPIRE", lambda key, seconds: (b"EXISTS", key))


@mutant("KEY-EXP-2", EXECUTE)
def expire_from_1970(original: Any) -> Any:
    """EXPIRE counts from 1970 on"""
    return _as(original, b"EXPIRE", lambda key, seconds: (b"EXPIREAT", key, seconds))


@mutant("KEY-EXP-2", EXECUTE)
def minutes(original: Any) -> Any:
    """EXPIRE counts minutes"""
    return _as(original, b"EXPIRE", lambda key, n: (b"EXPIRE", key, str(60 * int(n)).encode()))


@mutant("KEY-EXP-3", EXECUTE)
def dead_at_the_second(original: Any) -> Any:
    """a key is gone at the second of its expiry"""

    async def broken(self: Embedded, command: Command) -> Any:
        if command[0] in (b"EXPIRE", b"EXPIREAT"):
            command = (b"P" + command[0], command[1], str(int(command[2]) * 1000 - 1).encode())
        return await original(self, command)

    return broken


@mutant("KEY-EXP-5", EXECUTE)
def cut_to_the_range(original: Any) -> Any:
    """a time out of range is the past or the far future"""
    near = 2**40
    return _as(
        original, b"EXPIRE", lambda key, n: (b"EXPIRE", key, str(max(-near, min(near, int(n)))).encode())
    )


@mutant("KEY-EXP-4", EXECUTE)
def past_refused(original: Any) -> Any:
    """an expiry in the past is refused"""

    async def broken(self: Embedded, command: Command) -> Any:
        if command[0] in (b"EXPIRE", b"EXPIREAT") and int(command[2]) <= 0:
            raise ServiceError(400, "ERR invalid expire time")
        return await original(self, command)

    return broken


# ---- lists


@mutant("KEY-LIST-1 KEY-LIST-4 SOL-MET-4", EXECUTE)
def at_the_tail(original: Any) -> Any:
    """lpush puts items at the tail"""
    return _as(original, b"LPUSH", lambda key, *items: (b"RPUSH", key, *items))


@mutant("KEY-LIST-4", EXECUTE)
def first_at_the_head(original: Any) -> Any:
    """lpush of several items leaves the first one at the head"""
    return _as(original, b"LPUSH", lambda key, *items: (b"LPUSH", key, *items[::-1]))


@mutant("KEY-LIST-2 SOL-MET-4", EXECUTE)
def not_trimmed(original: Any) -> Any:
    """ltrim keeps everything"""
    return _as(original, b"LTRIM", lambda key, start, stop: (b"LTRIM", key, b"0", b"-1"))


@mutant("KEY-LIST-2 SOL-MET-4", EXECUTE)
def trimmed_before_stop(original: Any) -> Any:
    """ltrim does not keep the item at stop"""
    return _as(original, b"LTRIM", lambda key, start, stop: (b"LTRIM", key, start, _plus(stop, -1)))


@mutant("KEY-LIST-2", EXECUTE)
def trimmed_from_one(original: Any) -> Any:
    """ltrim counts items from 1"""
    return _as(
        original, b"LTRIM", lambda key, start, stop: (b"LTRIM", key, _plus(start, -1), _plus(stop, -1))
    )


@mutant("KEY-LIST-3", EXECUTE)
def range_before_stop(original: Any) -> Any:
    """lrange does not give the item at stop"""
    return _as(original, b"LRANGE", lambda key, start, stop: (b"LRANGE", key, start, _plus(stop, -1)))


@mutant("KEY-LIST-3 KEY-LIST-1 SOL-MET-4", EXECUTE)
def range_turned_round(original: Any) -> Any:
    """lrange gives the oldest first"""
    return _giving(original, b"LRANGE", lambda reply, command: reply[::-1])


# ---- the rest


@mutant("KEY-CMD-3", EXECUTE)
def upwards(original: Any) -> Any:
    """zrevrange goes upwards"""
    return _as(original, b"ZREVRANGE", lambda *args: (b"ZRANGE", *args))


@mutant("KEY-CMD-6", EXECUTE)
def empty_sets(original: Any) -> Any:
    """a set that lost its last member is still there"""

    async def broken(self: Embedded, command: Command) -> Any:
        reply = await original(self, command)
        if command[0] in (b"SREM", b"SPOP") and not await original(self, (b"EXISTS", command[1])):
            await original(self, (b"SET", command[1], b""))
        return reply

    return broken


def _plus(number: bytes, more: int) -> bytes:
    return str(int(number) + more).encode()


def _as(original: Any, name: bytes, instead: Callable[..., Command]) -> Any:
    """Run another command instead of this one."""

    async def broken(self: Embedded, command: Command) -> Any:
        return await original(self, instead(*command[1:]) if command[0] == name else command)

    return broken


def _giving(original: Any, name: bytes, change: Callable[[Any, Command], Any]) -> Any:
    """Change what this command gives."""

    async def broken(self: Embedded, command: Command) -> Any:
        reply = await original(self, command)
        return change(reply, command) if command[0] == name else reply

    return broken
