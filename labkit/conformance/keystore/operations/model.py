"""Reference model of the Keystore: the keys of one solution, and the effects of Redis' commands on them.

Written from the documents, the requirements and Redis' own description of each command. Times are milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

Stored = bytes | list[bytes] | set[bytes] | dict[bytes, bytes]
S = TypeVar("S", bytes, list[bytes], set[bytes], dict[bytes, bytes])
Result = int | bytes | None | str | list[bytes] | list[bytes | None] | dict[bytes, bytes]
WRONG_TYPE = "wrong kind of value"
NO_INTEGER = "not an integer or out of range"
NO_KEY = "no such key"
NO_INDEX = "out of range"
NO_END = "invalid expire time in"
UNITS = {
    b"EX": (1000, True),
    b"PX": (1, True),
    b"EXAT": (1000, False),
    b"PXAT": (1, False),
}  # milliseconds; whether relative to now
FLAGS = {b"NX", b"XX", b"GET", b"KEEPTTL"}
NAMES = {bytes: "string", list: "list", set: "set", dict: "hash"}


class Refused(Exception):
    """A command that Redis refuses, with a part of its error text."""


@dataclass(slots=True)
class Keys:
    """The keys of a solution. now: milliseconds since 1970."""

    kept: dict[str, Stored] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)  # the last millisecond at which a key exists

    def expire(self, now: int) -> None:
        for key in [key for key, end in self.ends.items() if now > end]:
            self.remove(key)

    def remove(self, key: str) -> int:
        self.ends.pop(key, None)
        return int(self.kept.pop(key, None) is not None)

    def run(self, command: str, key: str, args: Sequence[str | int], now: int) -> Result:
        """Return the result of a command. Raises Refused."""
        self.expire(now)
        words = [str(each).encode() for each in args]
        if command in TIMED:
            return TIMED[command](self, key, words, now)
        result = COMMANDS[command](self, key, words)
        if not self.kept.get(key, b"-") and not isinstance(self.kept[key], bytes):
            self.remove(key)  # its last member was removed
        return result

    # ---- values by type

    def text(self, key: str) -> bytes | None:
        return self._of(key, bytes)

    def items(self, key: str) -> list[bytes]:
        return self._of(key, list) or []

    def members(self, key: str) -> set[bytes]:
        return self._of(key, set) or set()

    def fields(self, key: str) -> dict[bytes, bytes]:
        return self._of(key, dict) or {}

    def _of(self, key: str, kind: type[S]) -> S | None:
        found = self.kept.get(key)
        if found is not None and not isinstance(found, kind):
            raise Refused(WRONG_TYPE)
        return found

    def put(self, key: str, value: bytes, *, keep: bool = False) -> None:
        """Store a text. keep: keep its expiry, which else ends."""
        self.kept[key] = value
        if not keep:
            self.ends.pop(key, None)


def integer(text: bytes) -> int:
    """Return a whole number of 64 bits, in the form in which Redis writes it. Raises Refused."""
    try:
        number = int(text)
    except ValueError:
        raise Refused(NO_INTEGER) from None
    if str(number).encode() != text or not -(2**63) <= number < 2**63:
        raise Refused(NO_INTEGER)
    return number


def incrby(keys: Keys, key: str, number: int) -> int:
    before = keys.text(key)
    sum = within((0 if before is None else integer(before)) + number)  # an empty text is no number
    keys.put(key, str(sum).encode(), keep=True)
    return sum


def within(sum: int) -> int:
    """Return a sum that fits in 64 bits. Raises Refused."""
    if not -(2**63) <= sum < 2**63:
        raise Refused("overflow")
    return sum


def lrange(items: Sequence[bytes], words: Sequence[bytes]) -> list[bytes]:
    """Return the items from start to stop, both included; negative positions count from the end."""
    start, stop = (integer(each) for each in words)
    start = max(0, start + len(items) if start < 0 else start)
    stop = stop + len(items) if stop < 0 else stop
    return list(items[start : stop + 1]) if stop >= start else []


def getrange(text: bytes, words: Sequence[bytes]) -> bytes:
    """Return bytes as `lrange` returns items; but an end before the first byte counts as the first one, unless it is
    before the given start.
    """
    start, stop = (integer(each) for each in words)
    if start < 0 and stop < 0 and start > stop:
        return b""
    start, stop = (max(0, each + len(text) if each < 0 else each) for each in (start, stop))
    return text[start : stop + 1]


def push(keys: Keys, key: str, words: Sequence[bytes], *, head: bool, known: bool = False) -> int:
    items = keys.items(key)
    if known and not items:
        return 0
    for each in words:
        items.insert(0, each) if head else items.append(each)
    keys.kept[key] = items
    return len(items)


def pop(keys: Keys, key: str, index: int) -> bytes | None:
    items = keys.items(key)
    return items.pop(index) if items else None


def ltrim(keys: Keys, key: str, words: Sequence[bytes]) -> str:
    if items := keys.items(key):
        keys.kept[key] = lrange(items, words)
    return "OK"


def lindex(keys: Keys, key: str, words: Sequence[bytes]) -> bytes | None:
    items, index = keys.items(key), integer(words[0])
    return items[index] if -len(items) <= index < len(items) else None


def lset(keys: Keys, key: str, words: Sequence[bytes]) -> str:
    items, index = keys.items(key), integer(words[0])
    if not items:
        raise Refused(NO_KEY)
    if not -len(items) <= index < len(items):
        raise Refused(NO_INDEX)
    items[index] = words[1]
    return "OK"


def lrem(keys: Keys, key: str, words: Sequence[bytes]) -> int:
    items, count = keys.items(key), integer(words[0])
    places = [place for place, item in enumerate(items) if item == words[1]]
    places = places[count:] if count < 0 else places[: count or None]
    for place in reversed(places):
        del items[place]
    return len(places)


def linsert(keys: Keys, key: str, words: Sequence[bytes]) -> int:
    items = keys.items(key)
    if not items:
        return 0
    if words[1] not in items:
        return -1
    items.insert(items.index(words[1]) + (words[0].upper() == b"AFTER"), words[2])
    return len(items)


def sadd(keys: Keys, key: str, words: Sequence[bytes]) -> int:
    members = keys.members(key)
    count = len(set(words) - members)
    keys.kept[key] = members | set(words)
    return count


def srem(keys: Keys, key: str, words: Sequence[bytes]) -> int:
    members = keys.members(key)
    count = len(members & set(words))
    members -= set(words)
    return count


def hset(keys: Keys, key: str, words: Sequence[bytes], *, new: bool = False) -> int:
    fields = keys.fields(key)
    fresh = words[0] not in fields
    if fresh or not new:
        fields[words[0]] = words[1]
        keys.kept[key] = fields
    return int(fresh)


def hincrby(keys: Keys, key: str, words: Sequence[bytes]) -> int:
    fields = keys.fields(key)
    try:
        number = integer(fields.get(words[0], b"0"))
    except Refused:
        raise Refused("not an integer") from None
    fields[words[0]] = str(within(number + integer(words[1]))).encode()
    keys.kept[key] = fields
    return int(fields[words[0]])


def hdel(keys: Keys, key: str, words: Sequence[bytes]) -> int:
    fields = keys.fields(key)
    return sum(fields.pop(each, None) is not None for each in words)


def setnx(keys: Keys, key: str, words: Sequence[bytes]) -> int:
    if key in keys.kept:
        return 0
    keys.put(key, words[0])
    return 1


def getset(keys: Keys, key: str, words: Sequence[bytes]) -> bytes | None:
    before = keys.text(key)
    keys.put(key, words[0])
    return before


def append(keys: Keys, key: str, words: Sequence[bytes]) -> int:
    keys.put(key, (keys.text(key) or b"") + words[0], keep=True)
    return len(keys.text(key) or b"")


def expire_after(keys: Keys, key: str, words: Sequence[bytes], now: int, scale: int, since: int) -> int:
    """Set a key's expiry to a number of units of `scale` milliseconds after `since`; remove the key if that is past.

    Options: NX only if it has none, XX only if it has one, GT or LT only if the new one is later or earlier, where
    none counts as the latest.
    """
    options = {each.upper() for each in words[1:]}
    if options - {b"NX", b"XX", b"GT", b"LT"}:
        raise Refused("Unsupported option")
    if options >= {b"GT", b"LT"} or (b"NX" in options and len(options) > 1):
        raise Refused("options at the same time are not compatible")
    end = since + integer(words[0]) * scale
    if not -(2**63) <= end < 2**63 or end - since < -(2**63):
        raise Refused(NO_END)
    if key not in keys.kept:
        return 0
    before = keys.ends.get(key)
    if (
        (b"NX" in options and before is not None)
        or (b"XX" in options and before is None)
        or (b"GT" in options and (before is None or end <= before))
        or (b"LT" in options and before is not None and end >= before)
    ):
        return 0
    if end <= now:
        keys.remove(key)
    else:
        keys.ends[key] = end
    return 1


def persist(keys: Keys, key: str, words: Sequence[bytes]) -> int:
    return int(keys.ends.pop(key, None) is not None)


def pttl(keys: Keys, key: str, now: int) -> int:
    return -2 if key not in keys.kept else -1 if key not in keys.ends else keys.ends[key] - now


def ttl(keys: Keys, key: str, now: int) -> int:
    found = pttl(keys, key, now)
    return found if found < 0 else (found + 500) // 1000


def setex(keys: Keys, key: str, words: Sequence[bytes], now: int, scale: int) -> str:
    end = moment(words[0], scale, now)
    keys.put(key, words[1])
    keys.ends[key] = end
    return "OK"


def moment(amount: bytes, scale: int, since: int) -> int:
    """Return the millisecond at which a text ends. Raises Refused unless it is after the time that it counts from."""
    number = integer(amount)
    if number <= 0 or since + number * scale >= 2**63:
        raise Refused(NO_END)
    return since + number * scale


def set_text(keys: Keys, key: str, words: Sequence[bytes], now: int) -> str | bytes | None:
    """Run SET with its options, in any order and letter case."""
    flags, end, left = set[bytes](), None, [*words[1:]]
    while left:
        word = left.pop(0).upper()
        if word in UNITS and left and end is None:
            scale, relative = UNITS[word]
            end = (left.pop(0), scale, now if relative else 0)
        elif word in FLAGS:
            flags.add(word)
        else:
            raise Refused("syntax error")
    if flags >= {b"NX", b"XX"} or (end is not None and b"KEEPTTL" in flags):
        raise Refused("syntax error")
    until = None if end is None else moment(*end)
    before = keys.text(key) if b"GET" in flags else None
    there = key in keys.kept
    if not (b"NX" in flags and there) and not (b"XX" in flags and not there):
        keys.put(key, words[0], keep=b"KEEPTTL" in flags)
        if until is not None:
            keys.ends[key] = until
            keys.expire(now)
    elif b"GET" not in flags:
        return None
    return before if b"GET" in flags else "OK"


def type_name(keys: Keys, key: str, words: Sequence[bytes]) -> str:
    return NAMES[type(keys.kept[key])] if key in keys.kept else "none"


Function = Callable[[Keys, str, Sequence[bytes]], Result]
COMMANDS: dict[str, Function] = {
    "get": lambda keys, key, words: keys.text(key),
    "setnx": setnx,
    "getset": getset,
    "append": append,
    "strlen": lambda keys, key, words: len(keys.text(key) or b""),
    "getrange": lambda keys, key, words: getrange(keys.text(key) or b"", words),
    "incr": lambda keys, key, words: incrby(keys, key, 1),
    "incrby": lambda keys, key, words: incrby(keys, key, integer(words[0])),
    "decr": lambda keys, key, words: incrby(keys, key, -1),
    "decrby": lambda keys, key, words: incrby(keys, key, -integer(words[0])),
    "del": lambda keys, key, words: keys.remove(key),
    "exists": lambda keys, key, words: int(key in keys.kept),
    "type": type_name,
    "lpush": lambda keys, key, words: push(keys, key, words, head=True),
    "rpush": lambda keys, key, words: push(keys, key, words, head=False),
    "lpushx": lambda keys, key, words: push(keys, key, words, head=True, known=True),
    "rpushx": lambda keys, key, words: push(keys, key, words, head=False, known=True),
    "lpop": lambda keys, key, words: pop(keys, key, 0),
    "rpop": lambda keys, key, words: pop(keys, key, -1),
    "lrange": lambda keys, key, words: lrange(keys.items(key), words),
    "ltrim": ltrim,
    "llen": lambda keys, key, words: len(keys.items(key)),
    "lindex": lindex,
    "lset": lset,
    "lrem": lrem,
    "linsert": linsert,
    "sadd": sadd,
    "srem": srem,
    "scard": lambda keys, key, words: len(keys.members(key)),
    "smembers": lambda keys, key, words: sorted(keys.members(key)),
    "sismember": lambda keys, key, words: int(words[0] in keys.members(key)),
    "hset": hset,
    "hsetnx": lambda keys, key, words: hset(keys, key, words, new=True),
    "hget": lambda keys, key, words: keys.fields(key).get(words[0]),
    "hdel": hdel,
    "hgetall": lambda keys, key, words: dict(keys.fields(key)),
    "hlen": lambda keys, key, words: len(keys.fields(key)),
    "hexists": lambda keys, key, words: int(words[0] in keys.fields(key)),
    "hmget": lambda keys, key, words: [keys.fields(key).get(each) for each in words],
    "hincrby": hincrby,
    "persist": persist,
}
TIMED: dict[str, Callable[[Keys, str, Sequence[bytes], int], Result]] = {
    "set": set_text,
    "expire": lambda keys, key, words, now: expire_after(keys, key, words, now, 1000, now),
    "pexpire": lambda keys, key, words, now: expire_after(keys, key, words, now, 1, now),
    "expireat": lambda keys, key, words, now: expire_after(keys, key, words, now, 1000, 0),
    "pexpireat": lambda keys, key, words, now: expire_after(keys, key, words, now, 1, 0),
    "ttl": lambda keys, key, words, now: ttl(keys, key, now),
    "pttl": lambda keys, key, words, now: pttl(keys, key, now),
    "setex": lambda keys, key, words, now: setex(keys, key, words, now, 1000),
    "psetex": lambda keys, key, words, now: setex(keys, key, words, now, 1),
}


def plain(result: Result) -> Any:
    """Return a result in its JSON form. Whole numbers beyond 2**53 become text, since scripts cannot represent them."""
    if isinstance(result, int) and abs(result) > 2**53:
        return str(result)
    if isinstance(result, bytes):
        return result.decode(errors="replace")
    if isinstance(result, list):
        return [plain(each) for each in result]
    if isinstance(result, dict):
        return {each.decode(errors="replace"): item.decode(errors="replace") for each, item in result.items()}
    return result
