"""Redis within the process, on lab time: the only file that uses fakeredis' private classes.

The database reads the lab's clock, and commands run directly on fakeredis' socket, at a sixth of the cost of its
clients. Two tables correct differences between fakeredis and Redis: `WORDINGS` here, and `REWRITES` in `rewrites`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappop
from itertools import chain, cycle, islice
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

import redis
import sortedcontainers
from fakeredis import FakeServer
from fakeredis._command_args_parsing import Int
from fakeredis._commands import Key, Signature
from fakeredis._core import CommandItem
from fakeredis._core import Database as FakeDatabase
from fakeredis._core._database import Item
from fakeredis._helpers import SimpleError
from fakeredis._msgs import (
    FLAG_DO_NOT_CREATE,
    FLAG_LEAVE_EMPTY_VAL,
    INVALID_INT_MSG,
    OVERFLOW_MSG,
    WRONGTYPE_MSG,
)
from fakeredis._socket import FakeSocket
from fakeredis.model import ExpiringMembersSet, Hash, ZSet

from labkit.core.errors import ServiceError
from labkit.services.keystore.commands import SLICE, Command, Reply

VERSION = (7,)  # of Redis, whose errors and arguments apply
# Error texts of fakeredis, and Redis' texts for the same errors; {0} is the command.
WORDINGS: Mapping[str, str] = MappingProxyType(
    {
        "ERR Wrong number of args calling Redis command from script": (
            "ERR wrong number of arguments for '{0}' command"
        ),
        "ERR invalid expire time in {0}": "ERR invalid expire time in '{0}' command",
        "ERR min or max not a valid string range item": "ERR min or max not valid string range item",
    }
)
LONGEST = 2**63  # whole numbers are less
MOST_ARGUMENTS = 8  # of a command whose plan is cached
_PLAIN = frozenset({bytes, int, float, type(None)})  # types of replies that need no conversion
# Commands that change no members but those among their arguments.
_MEMBERWISE = frozenset(b"SADD SREM HSET HSETNX HMSET HDEL HINCRBY HINCRBYFLOAT ZADD ZREM ZINCRBY".split())
# Bytes of a value by its type: members, fields with values, and scores as they are written.
_BYTES: Mapping[type[Any], Callable[[Any], int]] = MappingProxyType(
    {
        bytes: len,
        list: lambda value: sum(map(len, value)),
        ExpiringMembersSet: lambda value: sum(map(len, value)),
        Hash: lambda value: sum(len(field) + len(each) for field, each in value.items()),
        ZSet: lambda value: sum(len(member) + len(repr(score)) for member, score in value.items()),
    }
)


class CommandClock(Protocol):
    """Clock of the running command. now: lab time in milliseconds."""

    @property
    def now(self) -> int: ...


class SolutionKeys:
    """Keys of one solution. names: sorted; size: bytes of keys and values, less the values of the keys in `changed`."""

    __slots__ = ("changed", "names", "prefix", "size")

    def __init__(self, prefix: bytes) -> None:
        self.prefix = prefix
        self.names: Any = sortedcontainers.SortedList()
        self.size = 0
        self.changed: set[bytes] = set()


class _Entry(Item):
    """Value of a key. order: sorted members, None until they are asked for.

    size: as it counts in its solution's; None while the key is among those that have `changed`.
    """

    __slots__ = ("order", "size", "solution")

    def __init__(self) -> None:
        super().__init__(None)
        self.solution: SolutionKeys
        self.size: int | None = None
        self.order: Any = None

    def resize(self, key: bytes, size: int | None) -> None:
        """Count the value by another size, or with None later."""
        keys = self.solution
        keys.size += (size or 0) - (self.size or 0)
        self.size = size
        if size is None:
            keys.changed.add(key)
        else:
            keys.changed.discard(key)


class _LabTimeDatabase(FakeDatabase):
    """Database whose keys expire by the time of the running command, and which keeps sums and orders of them.

    Only one connection uses it, so no client watches a key or waits for one. solutions: keys by the prefix that ends
    with their first colon.
    """

    def __init__(self, timed: CommandClock, lock: Any) -> None:
        self._timed = timed
        self.solutions: dict[bytes, SolutionKeys] = {}
        super().__init__(lock)

    @property
    def time(self) -> float:
        return self._timed.now / 1000

    @time.setter
    def time(self, value: float) -> None:
        pass

    def notify_watch(self, key: bytes) -> None:
        """Note that the value of a key changes. fakeredis calls it before it stores the new one."""
        entry = self._dict.get(key)
        if entry is not None:
            entry.order = None
            if entry.size is not None:
                entry.resize(key, None)

    def settle(self, keys: SolutionKeys, most: int) -> bool:
        """Add the sizes of at most so many changed values to the sum; return whether there are more."""
        for key in [*islice(keys.changed, most)]:
            entry = self._dict[key]
            entry.resize(key, _BYTES[type(entry.value)](entry.value))
        return bool(keys.changed)

    def expire(self, most: int) -> bool:
        """Remove at most so many expired keys; return whether there are more."""
        heap = self._expiry_heap
        for _ in range(most):
            if not self.due:
                break
            self.get(heappop(heap)[1])
        return self.due > 0

    @property
    def due(self) -> int:
        """Number of times to expire, of which the first one has passed; 0 if none has."""
        heap = self._expiry_heap
        return len(heap) if heap and heap[0][0] < self.time else 0

    def _remove_expired(self) -> None:
        self.expire(len(self._expiry_heap))

    def clear(self) -> None:
        self.solutions.clear()
        self._dict.clear()
        self._expiry_heap.clear()

    # The methods of Mapping would call __getitem__, which is slow and raises an exception for a missing key.

    def get(self, key: bytes, default: Any = None) -> Any:
        item = self._dict.get(key)
        if item is None:
            return default
        expires = item.expireat
        if expires is not None and expires < self._timed.now / 1000:  # the same as fakeredis' `expired`
            del self[key]
            return default
        return item

    def __getitem__(self, key: bytes) -> Any:
        item = self.get(key)
        if item is None:
            raise KeyError(key)
        return item

    def __contains__(self, key: object) -> bool:
        return self.get(key) is not None  # type: ignore[arg-type]

    def setdefault(self, key: bytes, default: Any = None) -> Any:
        item = self.get(key)
        if item is None:
            item = self.create(key)
        return item

    def create(self, key: bytes) -> _Entry:
        """Return the entry of a new key, whose value is stored next."""
        prefix = key[: key.find(b":") + 1]
        keys = self.solutions.get(prefix)
        if keys is None:
            keys = self.solutions[prefix] = SolutionKeys(prefix)
        keys.names.add(key)
        keys.size += len(key) - len(prefix)
        self._dict[key] = entry = _Entry()
        entry.solution = keys
        keys.changed.add(key)
        return entry

    def put(self, key: bytes, entry: _Entry | None, value: Any) -> _Entry:
        """Store the value of a key and return its entry. entry: None for a new key."""
        if entry is None:
            entry = self.create(key)
        entry.value, entry.order = value, None
        if type(value) is not bytes:
            if entry.size is not None:
                entry.resize(key, None)
        elif entry.size != (size := len(value)):
            entry.resize(key, size)
        return entry

    def __setitem__(self, key: bytes, item: Any) -> None:
        entry = self.setdefault(key)
        self.notify_watch(key)
        entry.value, entry.expireat = item.value, item.expireat
        self.schedule_expiry(key, entry.expireat)

    def __delitem__(self, key: bytes) -> None:
        entry = self._dict.pop(key)
        keys = entry.solution
        keys.names.remove(key)
        keys.changed.discard(key)
        keys.size -= len(key) - len(keys.prefix) + (entry.size or 0)
        if not keys.names:
            del self.solutions[keys.prefix]


class _Item(CommandItem):
    """Key and value that a command works on; quick to read, and written back without notifying watchers."""

    value = property(attrgetter("_value"), CommandItem.value.fset)  # type: ignore[attr-defined]
    expireat = property(attrgetter("_expireat"), CommandItem.expireat.fset)  # type: ignore[attr-defined]

    def writeback(self, remove_empty_val: bool = True) -> None:
        if not self._modified:
            super().writeback(remove_empty_val)
            return
        value, expireat = self._value, self._expireat
        database: Any = self.db
        if value is None or (remove_empty_val and not value and not isinstance(value, bytes)):
            database.pop(self.key, None)
            return
        # The entry is not an expired one, which the command's first look has removed.
        entry = database.put(self.key, database._dict.get(self.key), value)
        known, entry.expireat = entry.expireat, expireat
        if expireat is not None and expireat != known:
            database.schedule_expiry(self.key, expireat)


class _CommandPlan:
    """Compiled signature of a command for one number of arguments, which `Signature.apply` would analyse at every call.

    conversions: (index, decoder, None) of an argument to decode, and (index, None, reply) of a key with the command's
    reply if that key is missing, in the order of the arguments; keys: (index, type, creates) of the keys, with the type
    that their value must have and whether a missing key gets an empty value of that type; memberwise: whether it has
    one key, and changes no members but those among its arguments.
    """

    __slots__ = ("conversions", "function", "keys", "memberwise", "remove_empty")

    def __init__(self, function: Any, signature: Signature, count: int, *, memberwise: bool) -> None:
        self.function = function
        self.memberwise = memberwise
        self.remove_empty = FLAG_LEAVE_EMPTY_VAL not in signature.flags
        self.conversions: list[tuple[int, Callable[[bytes], Any] | None, Any]] = []
        self.keys: list[tuple[int, type[Any] | None, bool]] = []
        creates = FLAG_DO_NOT_CREATE not in signature.flags
        kinds: Iterator[Any] = chain(signature.fixed, cycle(signature.repeat))
        for index, kind in enumerate(islice(kinds, count)):
            if isinstance(kind, Key):
                if kind.missing_return is not Key.UNSPECIFIED:
                    self.conversions.append((index, None, kind.missing_return))
                self.keys.append((index, kind.type_, creates and kind.type_ not in (None, bytes)))
            elif kind is not bytes:
                self.conversions.append((index, _integer if kind is Int else kind.decode, None))

    def run(self, arguments: Sequence[bytes], database: FakeDatabase) -> Any:
        """Run the command and return its reply, which is a SimpleError if the command failed while it ran.

        Raises SimpleError if it is refused before.
        """
        given: list[Any] = list(arguments)
        for index, decode, missing in self.conversions:
            if decode is not None:
                given[index] = decode(given[index])
            elif database.get(given[index]) is None:
                return missing
        items: list[_Item] = []
        item: Any = None
        for index, kind, creates in self.keys:
            key = given[index]
            item = database.get(key)
            if kind is not None and item is not None and type(item.value) is not kind:
                raise SimpleError(WRONGTYPE_MSG)
            default = kind() if creates and item is None and kind is not None else None
            given[index] = found = _Item(key, database, item, default)
            items.append(found)
        kept = item.order if self.memberwise and item is not None else None
        try:
            reply = self.function(*given)
        except SimpleError as error:
            reply = error
        for each in items:
            each.writeback(self.remove_empty)
        if kept is not None and item.order is None and len(arguments) <= len(kept):
            for member in arguments[1:]:
                if member in item.value:
                    kept.add(member)
                else:
                    kept.discard(member)
            item.order = kept
        return reply


def _integer(text: bytes) -> int:
    """Read a whole number as fakeredis' `Int.decode`, in half its time. Raises SimpleError."""
    try:
        number = int(text)
    except ValueError:
        number = LONGEST
    if -LONGEST <= number < LONGEST and b"%d" % number == text:
        return number
    raise SimpleError(INVALID_INT_MSG)


def _incrby(arguments: Sequence[bytes], database: _LabTimeDatabase) -> int:
    key, by = arguments
    amount, entry = _integer(by), database.get(key)
    if entry is not None:
        if type(entry.value) is not bytes:
            raise SimpleError(WRONGTYPE_MSG)
        amount += _integer(entry.value)
        if not -LONGEST <= amount < LONGEST:
            raise SimpleError(OVERFLOW_MSG)
    database.put(key, entry, b"%d" % amount)
    return amount


def _lpush(arguments: Sequence[bytes], database: _LabTimeDatabase) -> int:
    key, value = arguments
    entry = database.get(key)
    if entry is not None and type(entry.value) is not list:
        raise SimpleError(WRONGTYPE_MSG)
    values = [] if entry is None else entry.value
    values.insert(0, value)
    database.put(key, entry, values)
    return len(values)


def _ltrim(arguments: Sequence[bytes], database: _LabTimeDatabase) -> bytes:
    key, start, stop = arguments
    first, last, entry = _integer(start), _integer(stop), database.get(key)
    if entry is not None:
        if type(entry.value) is not list:
            raise SimpleError(WRONGTYPE_MSG)
        if kept := entry.value[first : None if last == -1 else last + 1]:
            database.put(key, entry, kept)
        else:
            del database[key]
    return b"OK"


def _pexpireat(arguments: Sequence[bytes], database: _LabTimeDatabase) -> int:
    key, time = arguments
    when, entry = _integer(time) / 1000, database.get(key)
    if entry is None:
        return 0
    if entry.expireat != when:
        entry.expireat = when
        database.schedule_expiry(key, when)
    return 1


_Run: TypeAlias = Callable[[Sequence[bytes], _LabTimeDatabase], Any]
# Commands of the platform's metrics pattern, which handlers repeat with every event, without fakeredis' items: they do
# what a `_CommandPlan` of these numbers of arguments does, in a third of its calls.
DIRECT: Mapping[tuple[bytes, int], _Run] = MappingProxyType(
    {
        (b"INCRBY", 2): _incrby,
        (b"LPUSH", 2): _lpush,
        (b"LTRIM", 3): _ltrim,
        (b"PEXPIREAT", 2): _pexpireat,
    }
)


class Socket(FakeSocket):
    """Connection to a new, empty database. It has no locks, users, transactions or subscriptions.

    Replies are those of RESP3, with Redis' own error text.
    """

    _db: _LabTimeDatabase

    def __init__(self, timed: CommandClock, direct: Mapping[tuple[bytes, int], _Run] = DIRECT) -> None:
        server = FakeServer(version=VERSION)
        server.dbs = defaultdict(lambda: _LabTimeDatabase(timed, server.lock))
        super().__init__(server, 0, client_class=redis.Redis, client_info={"resp": 3})
        self._plans = {**direct}  # by command and number of arguments

    def answer(self, command: Command) -> Reply:
        """Run a command and return its reply. Raises ServiceError 400 with Redis' error text if it is refused."""
        name, *arguments = command
        reply: Any
        try:
            try:
                run = self._plans[name, len(arguments)]
            except KeyError:
                run = self._planned(name, arguments)
            reply = run(arguments, self._db)
        except SimpleError as error:
            reply = error
        if type(reply) in _PLAIN:
            return reply  # type: ignore[no-any-return]
        if isinstance(reply, SimpleError):
            raise ServiceError(400, _redis_wording(reply.value, name.decode().lower()))
        return self._decode_result(reply)  # type: ignore[no-any-return]

    def _planned(self, name: bytes, arguments: Sequence[bytes]) -> _Run:
        """Return what runs a command. Raises SimpleError for a wrong number of arguments."""
        function, signature = self._name_to_func(name.decode().lower())
        signature.check_arity(arguments, VERSION)
        run = _CommandPlan(function, signature, len(arguments), memberwise=name in _MEMBERWISE).run
        if len(arguments) <= MOST_ARGUMENTS:
            self._plans[name, len(arguments)] = run
        return run

    def members(self, key: bytes) -> Sequence[bytes]:
        """Return the members of a set, the fields of a hash or the members of a sorted set, sorted by their bytes."""
        entry = self._db.get(key)
        if entry is None:
            return ()
        if entry.order is None:
            entry.order = sortedcontainers.SortedSet(entry.value)
        return entry.order  # type: ignore[no-any-return]

    def scores(self, key: bytes) -> Any:
        """Return the pairs of score and member of a sorted set, in their order."""
        entry = self._db.get(key)
        return sortedcontainers.SortedList() if entry is None else entry.value._byscore

    def solution_keys(self, prefix: bytes) -> SolutionKeys:
        """Return the keys that begin with a prefix whose only colon is its last byte."""
        return self._db.solutions.get(prefix) or SolutionKeys(prefix)

    @property
    def due(self) -> int:
        """Number of times to expire, of which the first one has passed; 0 if none has."""
        return self._db.due

    def sweep(self) -> bool:
        """Remove a slice of the expired keys; return whether there are more."""
        return self._db.expire(SLICE)

    def settle(self, keys: SolutionKeys) -> bool:
        """Add a slice of the changed values to the size of a solution's keys; return whether there are more."""
        return self._db.settle(keys, SLICE)

    def add_subkey_event(self, event: bytes, key: bytes, subkeys: Sequence[bytes]) -> None:
        pass

    def _decode_error(self, error: SimpleError) -> SimpleError:  # type: ignore[override]
        return error  # redis-py's exceptions would shorten the text


def _redis_wording(text: str, name: str) -> str:
    """Return Redis' text of an error. text: fakeredis' text; name: the command."""
    for theirs, ours in WORDINGS.items():
        if text == theirs.format(name):
            return ours.format(name)
    return text
