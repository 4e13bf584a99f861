"""Redis commands that scripts may use, and the conversion of their replies.

The first argument of every command is its key. The table does not describe the effects of commands, only whether they
may change or create a key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from labkit.services.keystore.floats import format_double

Command: TypeAlias = tuple[bytes, ...]
Reply: TypeAlias = "bytes | int | float | list[Reply] | dict[bytes, Reply] | None"
Plain: TypeAlias = "str | int | list[Plain] | dict[str, Plain] | None"

# In the order in which the platform lists them. `!`: may change a value; `+`: may also create its key.
_LISTED = """
    get set+ del! setnx+ strlen type exists append+ bitcount bitpos getbit setbit+ getrange incr+ incrby+
    decr+ decrby+ getset+ incrbyfloat+
    lpush+ lpushx! lindex llen linsert! lrange lrem! lset! ltrim! lpop! rpop! rpush+ rpushx!
    sadd+ srem! scard smembers sismember srandmember spop!
    setex+ psetex+ expire! pexpireat! pexpire! expireat! pttl ttl persist!
    zadd+ zcard zcount zincrby+ zlexcount zrange zrangebylex zrangebyscore zrank zrem! zremrangebylex!
    zremrangebyscore! zremrangebyrank! zrevrange zrevrangebylex zrevrangebyscore zrevrank zscore
    hdel! hexists hget hgetall hincrby+ hincrbyfloat+ hkeys hlen hmget hstrlen hvals hscan hset+ hmset+
    hsetnx+
"""
_ONLY_KEYS = frozenset({"del", "exists"})
_UNORDERED = frozenset({"smembers"})


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """Properties of a command.

    changes: may change a value; grows: may create its key; only_keys: all its arguments are keys;
    unordered: the order of its reply is undefined, so the reply is sorted, for exact replays.
    """

    name: bytes
    changes: bool
    grows: bool
    only_keys: bool
    unordered: bool


def _spec(listed: str) -> CommandSpec:
    name = listed.rstrip("!+")
    return CommandSpec(
        name.upper().encode(), listed != name, listed.endswith("+"), name in _ONLY_KEYS, name in _UNORDERED
    )


COMMANDS: Mapping[str, CommandSpec] = MappingProxyType(
    {listed.rstrip("!+"): _spec(listed) for listed in _LISTED.split()}
)
# Commands that change something and so are logged: those listed above and those that the other operations use.
WRITE_COMMANDS = frozenset({kind.name for kind in COMMANDS.values() if kind.changes} | {b"MSET"})


def plain(reply: Reply) -> Plain:
    """Return a reply as the value that scripts receive.

    Bytes that are not UTF-8 become U+FFFD. Members and scores are in one flat list, as in RESP2, with scores
    formatted as by Redis.
    """
    if reply is None or type(reply) is int:
        return reply
    if isinstance(reply, bytes):
        return reply.decode("utf-8", "replace")
    if isinstance(reply, float):
        return format_double(reply)
    if isinstance(reply, dict):
        return {field.decode("utf-8", "replace"): plain(value) for field, value in reply.items()}
    if isinstance(reply, list):
        if reply and isinstance(reply[0], list):
            return [plain(item) for pair in reply if isinstance(pair, list) for item in pair]
        return [plain(item) for item in reply]
    return reply
