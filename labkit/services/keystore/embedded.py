"""The embedded store: fakeredis on lab time, durable through the lab's database.

This file alone rests on fakeredis' inner classes: a Database whose clock is the lab's, and the socket below
its clients, which answers within the call at a sixth of their cost. It is imported when a lab starts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, cycle, islice
from operator import attrgetter
from types import MappingProxyType
from typing import Any

import redis
from fakeredis import FakeServer
from fakeredis._commands import Key, Signature
from fakeredis._core import CommandItem
from fakeredis._core import Database as FakeDatabase
from fakeredis._core._database import Item
from fakeredis._helpers import SimpleError
from fakeredis._msgs import FLAG_DO_NOT_CREATE, FLAG_LEAVE_EMPTY_VAL, WRONGTYPE_MSG
from fakeredis._socket import FakeSocket

from labkit.core.clock import Clock
from labkit.core.errors import ServiceError, StorageError
from labkit.core.identifiers import Identifiers
from labkit.services.keystore.commands import CHANGES, Command, Reply
from labkit.services.keystore.contents import reading, writing
from labkit.services.keystore.log import CommandLog
from labkit.services.keystore.settled import REWRITES

VERSION = (7,)  # of Redis, whose errors and arguments are followed
# Where fakeredis words a refusal otherwise than Redis.
_TEXTS = MappingProxyType(
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


class Embedded:
    """Redis within the process: a command completes within the call or, with a data file, at its commit."""

    def __init__(self, clock: Clock, identifiers: Identifiers, log: CommandLog | None) -> None:
        self._clock = clock
        self._identifiers = identifiers
        self._log = log
        self._taken_back = 0  # how often the contents returned to what is stored
        self.now = 0
        server = FakeServer(version=VERSION)
        server.dbs = defaultdict(lambda: _LabDatabase(self, server.lock))
        self._socket = _Socket(server)

    async def start(self) -> None:
        """Bring back what was stored: each command runs again at its own time."""
        if self._log is not None:
            self._replay(await self._log.entries())
            self._log.watch(self._take_back)

    def _take_back(self) -> None:
        """Return to what is stored: commands of this turn of the loop were undone."""
        assert self._log is not None
        self._taken_back += 1
        self.run(b"FLUSHALL")
        self._replay(self._log.stored())

    def _replay(self, entries: Sequence[tuple[int, Command]]) -> None:
        for time, command in entries:
            self.now = time
            self.run(*command)

    async def stop(self) -> None:
        """Leave a log that holds only what it takes to bring the contents back."""
        if self._log is not None and self._log.changed:
            await self._compact(self._log)

    async def execute(self, command: Command) -> Reply:
        """Run a command. Raises ServiceError 400 with Redis' own text where it is refused, StorageError where the data
        file has no room for it: then it changes nothing.
        """
        changes = command[0] in CHANGES
        if changes and self._log is not None:
            await self._log.probe()
        self.now = now = round(self._clock.now() * 1e6) // 1000  # as `_moment`
        rewrite = REWRITES.get(command[0])
        effects: tuple[Command, ...] = (command,)
        if rewrite is None:
            reply = self._socket.answer(command)
        else:
            reply, effects = rewrite(self, command)
        if self._log is not None:
            if not changes:
                await self._log.committed()
            elif effects:
                taken_back = self._taken_back
                try:
                    await self._log.append(now, effects)
                except StorageError:
                    if self._taken_back == taken_back:  # it failed before the end of the turn
                        self._take_back()
                    raise
                if self._log.overgrown:
                    await self._compact(self._log)
        return reply

    def run(self, *command: bytes) -> Reply:
        """Run a command as it is, at the time of the last `execute`."""
        return self._socket.answer(command)

    def draw(self, key: bytes, count: int) -> list[int]:
        """`count` random numbers of 64 bits; each key has a stream of its own, so that a seed replays it."""
        digits = self._identifiers.hex(f"keystore {key.decode('utf-8', 'replace')}", 16 * count)
        return [int(digits[start : start + 16], 16) for start in range(0, len(digits), 16)]

    def _moment(self) -> int:
        self.now = round(self._clock.now() * 1e6) // 1000  # Redis' clock ticks in milliseconds
        return self.now

    async def _compact(self, log: CommandLog) -> None:
        with suppress(StorageError):  # no room for it: the log stays as it is
            await log.replace(self._moment(), list(self._dump()))

    def _dump(self) -> Iterator[Command]:
        """The commands that bring the contents back."""
        for key in _bytes(self.run(b"KEYS", b"*")):
            kind = self.run(b"TYPE", key)
            assert isinstance(kind, bytes)
            yield writing(kind, key, self.run(*reading(kind, key)))
            left = self.run(b"PTTL", key)
            if isinstance(left, int) and left >= 0:
                yield b"PEXPIREAT", key, str(self.now + left).encode()


def worded(text: str, name: str) -> str:
    for theirs, ours in _TEXTS.items():
        if text == theirs.format(name):
            return ours.format(name)
    return text


def _bytes(reply: Reply) -> list[bytes]:
    return [item for item in reply if isinstance(item, bytes)] if isinstance(reply, list) else []


class _LabDatabase(FakeDatabase):
    """Contents whose time is the time of the command that is running. The server's own clock is ignored.

    One connection alone uses them, so nobody watches a key or waits for one.
    """

    def __init__(self, store: Embedded, lock: Any) -> None:
        self._store = store
        super().__init__(lock)

    @property
    def time(self) -> float:
        return self._store.now / 1000

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
        if expires is not None and expires < self._store.now / 1000:  # as `expired`
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


class _Socket(FakeSocket):
    """A connection that runs commands, without what a server does around them for others: locks, users, transactions,
    subscriptions. Replies are those of RESP3, with Redis' own error text.
    """

    def __init__(self, server: FakeServer) -> None:
        super().__init__(server, 0, client_class=redis.Redis, client_info={"resp": 3})
        self._plans: dict[
            tuple[bytes, int], _Plan
        ] = {}  # of commands that ran, by name and number of arguments

    def answer(self, command: Command) -> Reply:
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
            raise ServiceError(400, worded(reply.value, name.decode().lower()))
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
