"""Redis commands that scripts may use, and the conversion of their replies.

The table does not describe the effects of commands, only which arguments are keys, and whether they may change or
create a key. `unavailable` has those that are not offered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TypeAlias

from labkit.core.errors import ServiceError
from labkit.services.keystore.floats import format_double

Command: TypeAlias = tuple[bytes, ...]
Reply: TypeAlias = "bytes | int | float | list[Reply] | dict[bytes, Reply] | None"
Plain: TypeAlias = "str | int | list[Plain] | dict[str, Plain] | None"

NOT_AN_INTEGER = "value is not an integer or out of range"  # texts of refusals, without ERR
SYNTAX = "syntax error"
INTEGER_LIMIT = 2**63  # integers of Redis are from -INTEGER_LIMIT to INTEGER_LIMIT - 1
SLICE = 1000  # keys that one turn of the event loop counts or removes


def refusal(text: str) -> ServiceError:
    """Return the error of a command that Redis refuses. text: Redis' own, without ERR."""
    return ServiceError(400, f"ERR {text}")


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
# Those of Redis beyond the platform's list.
_FURTHER = """
    mget mset+ msetnx+ getdel! getex! setrange+ substr lcs bitop+ bitfield+ bitfield_ro
    unlink! touch rename! renamenx! copy+ expiretime pexpiretime
    lpos lmove+ rpoplpush+ lmpop!
    smove+ smismember sdiff sdiffstore+ sinter sinterstore+ sintercard sunion sunionstore+ sscan
    zmscore zpopmin! zpopmax! zmpop! zrandmember zrangestore+ zscan zdiff zdiffstore+ zinter zinterstore+
    zintercard zunion zunionstore+
    hrandfield
    pfadd+ pfcount pfmerge+
    sort+ sort_ro
    geoadd+ geodist geohash geopos geosearch geosearchstore+ georadius+ georadius_ro georadiusbymember+
    georadiusbymember_ro
"""


class Layout(Enum):
    """Positions of keys among the arguments after the first key.

    An argument before the first key, a number of keys or an operation, is the first of the arguments. STORED: the
    number of keys follows the first key, which is the destination. WORDS: keys follow words of SORT;
    PLACES: they follow STORE and STOREDIST.
    """

    NONE = ""
    ALL = (
        "del exists mget unlink touch sdiff sdiffstore sinter sinterstore sunion sunionstore pfcount pfmerge"
    )
    FIRST = "rename renamenx copy lmove rpoplpush smove zrangestore geosearchstore lcs"
    PAIRS = "mset msetnx"
    COUNTED = "lmpop sintercard zmpop zdiff zinter zintercard zunion"
    STORED = "zdiffstore zinterstore zunionstore"
    OPERATION = "bitop"
    WORDS = "sort sort_ro"
    PLACES = "georadius georadiusbymember"


_LAYOUTS = {name: layout for layout in Layout for name in layout.value.split()}
_UNORDERED = frozenset({"smembers", "sdiff", "sinter", "sunion"})
# Options that lead outside of a solution's keys.
_REFUSED_OPTIONS = {"copy": frozenset({b"DB"})}
_NESTED = frozenset(
    "lcs geopos geosearch georadius georadius_ro georadiusbymember georadiusbymember_ro".split()
)  # lists of lists in its reply stay as they are


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """Properties of a command.

    changes: may change a value; grows: may create a key; layout: positions of keys among its arguments; unordered: the
    order of its reply is undefined, so the reply is sorted, for exact replays; nested: its reply keeps lists of lists;
    refused: options that lead outside of a solution's keys.
    """

    name: bytes
    changes: bool
    grows: bool
    layout: Layout
    unordered: bool
    nested: bool
    refused: frozenset[bytes]

    def key_positions(self, args: Sequence[bytes]) -> Sequence[int]:
        """Return the positions of the keys among the encoded arguments.

        Raises ServiceError 400 for a number of keys that is no number, since the keys are not known then.
        """
        layout, count = self.layout, len(args)
        if layout is Layout.ALL:
            return range(count)
        if layout is Layout.FIRST:
            return range(min(1, count))
        if layout is Layout.PAIRS:
            return range(1, count, 2)
        if layout is Layout.OPERATION:
            return range(1, count)
        if layout is Layout.WORDS:
            return sort_keys(args)
        if layout is Layout.PLACES:
            return [each + 1 for each in range(3, count - 1) if args[each].upper() in _STORE]
        if layout is Layout.NONE or not args:
            return ()
        number = integer(args[0])
        if number is None:
            raise refusal(_NO_NUMBER.get(self.name, NOT_AN_INTEGER))
        return range(1, min(count, max(0, number) + (layout is Layout.STORED)))

    def request(self, key: bytes, args: Sequence[bytes]) -> Command:
        """Return the command with its key and arguments in the order of Redis. key, args: with full names of keys.

        Raises ServiceError 400 for an option that leads outside of a solution's keys.
        """
        if self.refused and any(each.upper() in self.refused for each in args):
            raise refusal(SYNTAX)
        # compared by identity: the hash of a member of an enumeration is a call
        if (self.layout is Layout.COUNTED or self.layout is Layout.OPERATION) and args:
            return (self.name, args[0], key, *args[1:])
        return (self.name, key, *args)

    def created(self, request: Command) -> list[bytes]:
        """Return the keys that a request may create."""
        if self.layout is Layout.PAIRS:
            return [*dict.fromkeys(request[1::2])]
        if self.layout is Layout.WORDS:
            rest = request[2:]
            stored = [rest[each + 1 : each + 2] for word, each in sort_words(rest) if word == b"STORE"]
            return [*stored[-1]] if stored else []
        if self.layout is Layout.PLACES:
            rest = request[2:]
            return [rest[each] for each in self.key_positions(rest)][-1:]
        if self.name in _STORES_FIRST:
            return [request[1]]
        return (
            [*request[2:3]]
            if self.layout is Layout.FIRST or self.layout is Layout.OPERATION
            else [request[1]]
        )


_STORE = frozenset({b"STORE", b"STOREDIST"})
# Commands whose first key is the one that they store, though FIRST of their arguments is a key, too.
_STORES_FIRST = frozenset({b"ZRANGESTORE", b"GEOSEARCHSTORE"})
# Words of SORT, each with the number of arguments that it takes, itself included.
SORT_WORDS = {b"ASC": 1, b"DESC": 1, b"ALPHA": 1, b"LIMIT": 3, b"BY": 2, b"GET": 2, b"STORE": 2}


def sort_words(args: Sequence[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield the words of SORT among its arguments after the key, in capitals, with their positions."""
    position = 0
    while position < len(args):
        word = args[position].upper()
        yield word, position
        position += SORT_WORDS.get(word, 1)


def sort_keys(args: Sequence[bytes]) -> list[int]:
    """Return the positions of the keys and patterns of keys in the arguments of SORT; `GET #` is the item itself."""
    positions = [each + 1 for word, each in sort_words(args) if word in (b"BY", b"GET", b"STORE")]
    return [
        each
        for each in positions
        if each < len(args) and (args[each] != b"#" or args[each - 1].upper() != b"GET")
    ]


# Redis' text for a number of keys that is no number, of the commands with a text of their own.
_NO_NUMBER = dict.fromkeys((b"SINTERCARD", b"LMPOP", b"ZMPOP"), "numkeys should be greater than 0")


def _spec(listed: str) -> CommandSpec:
    name = listed.rstrip("!+")
    return CommandSpec(
        name.upper().encode(),
        listed != name,
        listed.endswith("+"),
        _LAYOUTS.get(name, Layout.NONE),
        name in _UNORDERED,
        name in _NESTED,
        _REFUSED_OPTIONS.get(name, frozenset()),
    )


COMMANDS: Mapping[str, CommandSpec] = MappingProxyType(
    {listed.rstrip("!+"): _spec(listed) for listed in (_LISTED + _FURTHER).split()}
)
LISTED = frozenset(listed.rstrip("!+") for listed in _LISTED.split())  # by the platform
# Commands that change something and so are logged.
WRITE_COMMANDS = frozenset({kind.name for kind in COMMANDS.values() if kind.changes})


def integer(text: bytes) -> int | None:
    """Return an integer as Redis parses it, decimal without plus sign, spaces or leading zeros; None if invalid."""
    try:
        number = int(text)
    except ValueError:
        return None
    return number if -INTEGER_LIMIT <= number < INTEGER_LIMIT and b"%d" % number == text else None


def plain(reply: Reply, nested: bool = False) -> Plain:
    """Return a reply as the value that scripts receive.

    Bytes that are not UTF-8 become U+FFFD. Members and scores are in one flat list, as in RESP2, with scores
    formatted as by Redis. nested: keep lists of lists.
    """
    if reply is None or type(reply) is int:
        return reply
    if isinstance(reply, bytes):
        return reply.decode("utf-8", "replace")
    if isinstance(reply, float):
        return format_double(reply)
    if isinstance(reply, dict):
        return {field.decode("utf-8", "replace"): plain(value, nested) for field, value in reply.items()}
    if isinstance(reply, list):
        if nested:
            return [plain(item, nested) for item in reply]
        if reply and isinstance(reply[0], list):
            return [plain(item) for pair in reply if isinstance(pair, list) for item in pair]
        return [plain(item) for item in reply]
    return reply
