"""Arguments of Keystore operations: validation, limits and encoding for Redis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Annotated, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    PlainValidator,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from labkit.core.bounded import LARGEST_BITS
from labkit.core.errors import ServiceError
from labkit.services.arguments import json_number
from labkit.services.keystore.commands import COMMANDS
from labkit.services.operation import OneOf
from labkit.services.redaction import MOST_ITEMS, InJournal, lengths, names

# Commands by the reason for which they are refused.
_BY_REASON = {
    "a call never waits for another one": (
        "blpop brpop brpoplpush blmove blmpop bzpopmin bzpopmax bzmpop wait waitaof"
    ),
    "a solution has no scripts within the store": (
        "eval evalsha eval_ro evalsha_ro fcall fcall_ro function script"
    ),
    "a call is a transaction of its own": "multi exec discard watch unwatch",
    "there are no subscriptions": (
        "subscribe unsubscribe psubscribe punsubscribe ssubscribe sunsubscribe publish spublish pubsub"
    ),
    "use the operations list and clear": "keys scan randomkey dbsize flushall flushdb",
    "a solution has one database": "select move swapdb migrate",
    "it is a matter of the server": (
        "acl auth bgrewriteaof bgsave client cluster command config debug echo failover hello info lastsave latency "
        "memory module monitor object ping psync quit readonly readwrite replicaof reset role save shutdown slaveof "
        "slowlog sync time"
    ),
    "its binary form is that of another store": "dump restore restore-asking",
    "Redis 7.0 has no times for fields of a hash": (
        "hexpire hpexpire hexpireat hpexpireat httl hpttl hexpiretime hpexpiretime hpersist hgetex hsetex hgetdel"
    ),
    "the embedded store cannot restore the newest id of a stream": (
        "xack xadd xautoclaim xclaim xdel xgroup xinfo xlen xpending xrange xread xreadgroup xrevrange xsetid xtrim"
    ),
}
UNAVAILABLE: Mapping[str, str] = MappingProxyType(
    {name: reason for reason, names in _BY_REASON.items() for name in names.split()}
)


LONGEST_KEY = 200
LONGEST_LIST = 1000  # keys that one call of `list` returns
MOST_ARGUMENTS = 10_000  # arguments of a command; keys or pairs of an operation
LONGEST_VALUE = 2**20  # bytes
FEW = 20  # arguments or characters up to which a quicker check is worthwhile
_SCALARS = frozenset({str, int, float, bool})


def checked_key(value: object) -> str:
    """Return a key among the arguments of a command. Raises ServiceError 400 if it is not a valid key."""
    try:
        return _key(value)
    except ValueError as error:
        raise ServiceError(400, f"Parameter args validation failed: {error}.") from None


def _key(value: object) -> str:
    if not isinstance(value, str):
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise ValueError("expected a string")
        value = number(value)
    if not 1 <= len(value) <= LONGEST_KEY:
        raise ValueError(f"expected 1 to {LONGEST_KEY} characters, not {len(value)}")
    if not value.isprintable():
        raise ValueError("expected printable characters")
    return value


def _value(value: object) -> object:
    if value is not None and not isinstance(value, (str, int, float)):
        raise ValueError("expected a string, a number, a boolean or null")
    return value


def _argument(value: object) -> object:
    if not isinstance(value, (str, int, float)):
        raise ValueError("expected a string, a number or a boolean")
    return value


def _command(value: object) -> str:
    name = value.lower() if isinstance(value, str) else ""
    if name in UNAVAILABLE:
        raise ValueError(f"the command {name} is not available: {UNAVAILABLE[name]}")
    if name not in COMMANDS:
        raise ValueError(f"expected one of: {', '.join(COMMANDS)}")
    return name


def _listed(value: object) -> object:
    """Return a list: [] for an empty table, which may arrive as an object, and [value] for a single value."""
    if value == {} or value is None:
        return []
    return [value] if isinstance(value, (str, int, float)) else value


def _plain(value: object, check: ValidatorFunctionWrapHandler) -> object:
    """Return a short list of texts and numbers, the usual case, without pydantic's check of every item."""
    if type(value) is list and len(value) <= FEW and _SCALARS.issuperset(map(type, value)):
        return value
    return check(value)


def _at_most(most: int) -> BeforeValidator:
    """Return a validator that refuses lists longer than `most` before their items are checked."""

    def check(value: object) -> object:
        if isinstance(value, list | tuple | Mapping) and len(value) > most:
            raise ValueError(f"expected at most {most}, not {len(value)}")
        return value

    return BeforeValidator(check)


Scalar: TypeAlias = str | int | float | bool
Key = Annotated[str, PlainValidator(_key), InJournal(names)]
Value = Annotated[Scalar | None, PlainValidator(_value), InJournal(lengths)]
Argument = Annotated[Scalar, PlainValidator(_argument)]
CommandName = Annotated[str, PlainValidator(_command), OneOf("command", COMMANDS)]
Keys = Annotated[Sequence[Key], BeforeValidator(_listed), _at_most(MOST_ARGUMENTS), InJournal(names)]
Arguments = Annotated[
    Sequence[Argument],
    BeforeValidator(_listed),
    _at_most(MOST_ARGUMENTS),
    WrapValidator(_plain),
    InJournal(lengths),
]
Count = Annotated[int, Field(ge=1, le=LONGEST_LIST)]
Cursor = Annotated[int, Field(ge=0, lt=2**64)]


class Pair(BaseModel):
    """Entry of mset."""

    key: Key
    value: Value


def _pairs(value: object) -> object:
    if isinstance(value, Mapping):
        return [{"key": key, "value": item} for key, item in value.items()]
    return value


def _pair_lengths(value: object) -> object:
    """Return the arguments of mset for the journal: keys as they are, and the lengths of the values."""
    if isinstance(value, Mapping):
        return {names(name): lengths(each) for name, each in islice(value.items(), MOST_ITEMS)}
    if not isinstance(value, list | tuple):
        return lengths(value)
    return [
        {
            name: names(each) if name == "key" else lengths(each)
            for name, each in islice(pair.items(), MOST_ITEMS)
        }
        if isinstance(pair, Mapping)
        else lengths(pair)
        for pair in islice(value, MOST_ITEMS)
    ]


Pairs = Annotated[list[Pair], BeforeValidator(_pairs), _at_most(MOST_ARGUMENTS), InJournal(_pair_lengths)]


def number(value: int | float) -> str:
    """Return a number as JSON text, whole floats without a decimal point. Raises ServiceError 400 for NaN, infinity."""
    if not isinstance(value, int) and not math.isfinite(value):
        raise ServiceError(400, f"{value} is not a number that can be stored")
    return json_number(value)


def encoded(value: Scalar | None) -> bytes:
    """Return a value encoded for Redis: text unchanged, other values as JSON.

    Raises ServiceError 400 for values without a JSON form (NaN, infinities, lone surrogates other than those of
    undecodable bytes), and for more than LONGEST_VALUE bytes.
    """
    if isinstance(value, str):
        return value.encode() if len(value) <= FEW and value.isascii() else _text(value)
    if type(value) is int and value.bit_length() <= LARGEST_BITS:
        return b"%d" % value
    if value is None:
        return b"null"
    if isinstance(value, bool):
        return b"true" if value else b"false"
    return number(value).encode()


def _text(value: str) -> bytes:
    try:
        data = value.encode("utf-8", "surrogateescape")  # restores bytes that are not UTF-8
    except UnicodeEncodeError as error:
        raise ServiceError(400, f"text that is not valid Unicode cannot be stored: {error.reason}") from None
    if len(data) > LONGEST_VALUE:
        raise ServiceError(400, f"a value may have {LONGEST_VALUE} bytes, not {len(data)}")
    return data
