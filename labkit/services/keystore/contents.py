"""Commands that read and write the whole contents of a key, by type."""

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


def reading(kind: bytes, key: bytes) -> Command:
    """Return the command that reads the whole contents of a key of this type."""
    name, *rest = _READ[kind]
    return name, key, *rest


def writing(kind: bytes, key: bytes, held: Reply) -> Command:
    """Return the command that writes the reply to the command of `reading`."""
    return _WRITE[kind], key, *items(held)


def items(held: Reply) -> list[bytes]:
    """Return the values of a reply in the order of the writing command: a score before its member."""
    if isinstance(held, bytes):
        return [held]
    if isinstance(held, dict):
        return [item for pair in held.items() for item in pair if isinstance(item, bytes)]
    if not isinstance(held, list):
        return []
    values: list[bytes] = []
    for item in held:
        if isinstance(item, list):
            values += [repr(part).encode() if isinstance(part, float) else part for part in reversed(item)]  # type: ignore[misc]
        elif isinstance(item, bytes):
            values.append(item)
    return values
