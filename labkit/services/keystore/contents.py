"""Commands that read and write the whole value of a key, by its type."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from labkit.services.keystore.commands import Command, Reply

_READ: Mapping[bytes, tuple[bytes, ...]] = MappingProxyType(
    {
        b"string": (b"GET",),
        b"list": (b"LRANGE", b"0", b"-1"),
        b"set": (b"SMEMBERS",),
        b"hash": (b"HGETALL",),
        b"zset": (b"ZRANGE", b"0", b"-1", b"WITHSCORES"),
    }
)
_WRITE: Mapping[bytes, bytes] = MappingProxyType(
    {b"string": b"SET", b"list": b"RPUSH", b"set": b"SADD", b"hash": b"HSET", b"zset": b"ZADD"}
)


def read_command(kind: bytes, key: bytes) -> Command:
    """Return the command that reads the whole value of a key. kind: its type, as TYPE replies it."""
    name, *rest = _READ[kind]
    return name, key, *rest


def write_command(kind: bytes, key: bytes, reply: Reply) -> Command:
    """Return the command that stores a reply to `read_command` under a key of the same type."""
    return _WRITE[kind], key, *reply_values(reply)


def reply_values(reply: Reply) -> list[bytes]:
    """Return the values in a reply to `read_command` as arguments of `write_command`: a score before its member."""
    if isinstance(reply, bytes):
        return [reply]
    if isinstance(reply, dict):
        return [item for pair in reply.items() for item in pair if isinstance(item, bytes)]
    if not isinstance(reply, list):
        return []
    values: list[bytes] = []
    for item in reply:
        if isinstance(item, list):
            values += [repr(part).encode() if isinstance(part, float) else part for part in reversed(item)]  # type: ignore[misc]
        elif isinstance(item, bytes):
            values.append(item)
    return values
