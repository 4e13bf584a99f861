"""Redis within the process, on lab time: the one file that rests on fakeredis' inner classes.

A Database has the clock of the lab, and a socket below fakeredis' clients answers within the call, at a sixth of their
cost. What departs from Redis all the same stands in tables: `WORDINGS` here, `REWRITES` of `settled`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, cycle, islice
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Protocol

import redis
from fakeredis import FakeServer
from fakeredis._commands import Key, Signature
from fakeredis._core import CommandItem
from fakeredis._core import Database as FakeDatabase
from fakeredis._core._database import Item
from fakeredis._helpers import SimpleError
from fakeredis._msgs import FLAG_DO_NOT_CREATE, FLAG_LEAVE_EMPTY_VAL, WRONGTYPE_MSG
from fakeredis._socket import FakeSocket

from labkit.core.errors import ServiceError
from labkit.services.keystore.commands import Command, Reply

VERSION = (7,)  # of Redis, whose errors and arguments are followed
# Refusals in fakeredis' words, and in those of Redis; {0} is the command.
WORDINGS: Mapping[str, str] = MappingProxyType(
    {
        "ERR Wrong number of args calling Redis command from script": (
            "ERR wrong number of arguments for '{0}' command"
        ),
        "ERR invalid expire time in {0}": "ERR invalid expire time in '{0}' command",
        "ERR min or max not a valid string range item": "ERR min or max not valid string range item",
    }
)
FEW = 8  # arguments of a command whose plan is kept
_PLAIN = frozenset({bytes, int, float, type(None)})  # replies that hold no others


class Timed(Protocol):
    """now: the time of the command that is running, in milliseconds."""

    @property
    def now(self) -> int: ...


class _LabDatabase(FakeDatabase):
    """Contents whose time is the time of the command that is running. The server's own clock is ignored.

    One connection alone uses them, so nobody watches a key or waits for one.
    """

    def __init__(self, timed: Timed, lock: Any) -> None:
        self._timed = timed
        super().__init__(lock)

    @property
    def time(self) -> float:
        return self._timed.now / 1000

    @time.setter
    def time(self, value: float) -> None:
        pass

    def notify_watch(self, key: bytes) -> None:
        pass

    # A mapping's own methods would look each key up through Python, with exceptions for those that are missing.

    def get(self, key: bytes, default: Any = None) -> Any:
        item = self._dict.get(key)
        if item is None:
            return default
        expires = item.expireat
        if expires is not None and expires < self._timed.now / 1000:  # as `expired`
            del self._dict[key]
            return default
        return item

    def __contains__(self, key: object) -> bool:
        return self.get(key) is not None  # type: ignore[arg-type]

    def setdefault(self, key: bytes, default: Any = None) -> Any:
        item = self.get(key)
        if item is None:
            self[key] = item = default
        return item


class _Item(CommandItem):
    """What a command has of a key; read without calls of Python's, and written back without notice to watchers."""

    value = property(attrgetter("_value"), CommandItem.value.fset)  # type: ignore[attr-defined]
    expireat = property(attrgetter("_expireat"), CommandItem.expireat.fset)  # type: ignore[attr-defined]

    def writeback(self, remove_empty_val: bool = True) -> None:
        if not self._modified:
            super().writeback(remove_empty_val)
            return
        value, expireat, database = self._value, self._expireat, self.db
        if value is None or (remove_empty_val and not value and not isinstance(value, bytes)):
            database.pop(self.key, None)
            return
        item = database.get(self.key)
        if item is None:
            database[self.key] = item = Item(None)
        known, item.value, item.expireat = item.expireat, value, expireat
        if expireat is not None and expireat != known:
            database.schedule_expiry(self.key, expireat)


class _Plan:
    """How a command with so many arguments runs: what `Signature.apply` finds out with each call.

    first: places of arguments in order, each with what reads it, or with None for a key and what is replied where that
    is missing; keys: their places, each with the type of its value, and whether there is one of that type where
    it is missing.
    """

    __slots__ = ("first", "function", "keys", "remove_empty")

    def __init__(self, function: Any, signature: Signature, count: int) -> None:
        self.function = function
        self.remove_empty = FLAG_LEAVE_EMPTY_VAL not in signature.flags
        self.first: list[tuple[int, Callable[[bytes], Any] | None, Any]] = []
        self.keys: list[tuple[int, type[Any] | None, bool]] = []
        creates = FLAG_DO_NOT_CREATE not in signature.flags
        kinds: Iterator[Any] = chain(signature.fixed, cycle(signature.repeat))
        for place, kind in enumerate(islice(kinds, count)):
            if isinstance(kind, Key):
                if kind.missing_return is not Key.UNSPECIFIED:
                    self.first.append((place, None, kind.missing_return))
                self.keys.append((place, kind.type_, creates and kind.type_ not in (None, bytes)))
            elif kind is not bytes:
                self.first.append((place, kind.decode, None))

    def run(self, arguments: Sequence[bytes], database: FakeDatabase) -> Any:
        """The reply. Raises SimpleError for one that is refused before it ran."""
        given: list[Any] = list(arguments)
        for place, read, missing in self.first:
            if read is not None:
                given[place] = read(given[place])
            elif database.get(given[place]) is None:
                return missing
        items: list[_Item] = []
        for place, kind, creates in self.keys:
            key = given[place]
            item = database.get(key)
            if kind is not None and item is not None and type(item.value) is not kind:
                raise SimpleError(WRONGTYPE_MSG)
            default = kind() if creates and item is None and kind is not None else None
            given[place] = found = _Item(key, database, item, default)
            items.append(found)
        try:
            reply = self.function(*given)
        except SimpleError as error:
            reply = error
        for each in items:
            each.writeback(self.remove_empty)
        return reply


class Socket(FakeSocket):
    """A connection that runs commands, without what a server does around them for others: locks, users, transactions,
    subscriptions. Replies are those of RESP3, with Redis' own error text. Its contents are empty at first.
    """

    def __init__(self, timed: Timed) -> None:
        server = FakeServer(version=VERSION)
        server.dbs = defaultdict(lambda: _LabDatabase(timed, server.lock))
        super().__init__(server, 0, client_class=redis.Redis, client_info={"resp": 3})
        self._plans: dict[
            tuple[bytes, int], _Plan
        ] = {}  # of commands that ran, by name and number of arguments

    def answer(self, command: Command) -> Reply:
        """Run a command. Raises ServiceError 400 where it is refused."""
        name, *arguments = command
        plan = self._plans.get((name, len(arguments)))
        reply: Any
        try:
            if plan is None:
                plan = self._planned(name, arguments)
            reply = plan.run(arguments, self._db)
        except SimpleError as error:
            reply = error
        if type(reply) in _PLAIN:
            return reply  # type: ignore[no-any-return]
        if isinstance(reply, SimpleError):
            raise ServiceError(400, _worded(reply.value, name.decode().lower()))
        return self._decode_result(reply)  # type: ignore[no-any-return]

    def _planned(self, name: bytes, arguments: Sequence[bytes]) -> _Plan:
        """Raises SimpleError where the command takes no such number of arguments."""
        function, signature = self._name_to_func(name.decode().lower())
        signature.check_arity(arguments, VERSION)
        plan = _Plan(function, signature, len(arguments))
        if len(arguments) <= FEW:
            self._plans[name, len(arguments)] = plan
        return plan

    def add_subkey_event(self, event: bytes, key: bytes, subkeys: Sequence[bytes]) -> None:
        pass

    def _decode_error(self, error: SimpleError) -> SimpleError:  # type: ignore[override]
        return error  # not one of redis-py's exceptions, which cut the text


def _worded(text: str, name: str) -> str:
    """Return a refusal of a command in the words of Redis."""
    for theirs, ours in WORDINGS.items():
        if text == theirs.format(name):
            return ours.format(name)
    return text
