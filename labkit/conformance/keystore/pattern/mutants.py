"""Faults of the commands that the metrics pattern uses, and of some others."""

from __future__ import annotations

import asyncio
from typing import Any

from labkit.conformance.mutant import patch
from labkit.services.keystore.commands import Command
from labkit.services.keystore.embedded import Embedded

ANSWER = "labkit.services.keystore.embedded:Embedded.answer"


@patch("KEY-INCR-1", ANSWER)
def not_kept(original: Any, self: Embedded, command: Command) -> Any:
    """incrby returns the sum, but does not store it"""
    answer = original(self, command)
    if command[0] == b"INCRBY":
        original(self, (b"INCRBY", command[1], str(-int(command[2])).encode()))
    return answer


@patch("KEY-INCR-2", ANSWER)
def created_with_nothing(original: Any, self: Embedded, command: Command) -> Any:
    """incrby creates a key with 0"""
    if command[0] == b"INCRBY" and not original(self, (b"EXISTS", command[1]))[0]:
        command = (b"INCRBY", command[1], b"0")
    return original(self, command)


@patch("KEY-INCR-3", ANSWER)
def read_then_written(original: Any, self: Embedded, command: Command) -> Any:
    """incrby reads, and writes once other calls have run"""
    if command[0] != b"INCRBY":
        return original(self, command)
    sum = int(original(self, (b"GET", command[1]))[0] or 0) + int(command[2])
    written = (b"SET", command[1], str(sum).encode(), b"KEEPTTL")
    asyncio.get_running_loop().call_soon(original, self, written)
    return sum, ()


@patch("KEY-EXP-3", ANSWER)
def dead_at_the_second(original: Any, self: Embedded, command: Command) -> Any:
    """a key is gone at the second of its expiry"""
    if command[0] in (b"EXPIRE", b"EXPIREAT"):
        command = (b"P" + command[0], command[1], str(int(command[2]) * 1000 - 1).encode())
    return original(self, command)


@patch("KEY-CMD-6", ANSWER)
def empty_sets(original: Any, self: Embedded, command: Command) -> Any:
    """a set that lost its last member still exists"""
    answer = original(self, command)
    if command[0] in (b"SREM", b"SPOP") and not original(self, (b"EXISTS", command[1]))[0]:
        original(self, (b"SET", command[1], b""))
    return answer
