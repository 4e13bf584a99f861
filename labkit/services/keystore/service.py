"""Keystore service: stores values by key for scripts (document 1, Metrics pattern)."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, cast
from urllib.parse import quote

from labkit.context import Context
from labkit.core.errors import LabError
from labkit.services.keystore.arguments import (
    LONGEST_LIST,
    Arguments,
    CommandName,
    Count,
    Cursor,
    Key,
    Keys,
    Pairs,
    Scalar,
    Value,
    checked_key,
    encoded,
)
from labkit.services.keystore.commands import COMMANDS, Command, CommandSpec, Layout, Plain, Reply, plain
from labkit.services.keystore.embedded import Embedded
from labkit.services.keystore.log import CommandLog
from labkit.services.mistakes import MistakeError
from labkit.services.operation import Caller, Operation, Service, operation


class Store(Protocol):
    """Interface of a store that runs Redis commands: fakeredis within the process, or an external Redis.

    execute raises ServiceError if the command is refused; usage: number and bytes of a solution's keys; count: their
    number; scan: next cursor, 0 at the end, and some of the keys.
    """

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    async def execute(self, command: Command) -> Reply: ...
    async def usage(self, namespace: bytes) -> tuple[int, int]: ...
    async def count(self, namespace: bytes) -> int: ...
    async def scan(self, namespace: bytes, cursor: int, count: int) -> tuple[int, Sequence[bytes]]: ...


class ImmediateStore(Store, Protocol):
    """Store whose commands never wait: `answer` returns the reply, and the commands that have the same effects.

    is_long: whether a walk over a solution's keys waits all the same, to let others run.
    """

    def answer(self, command: Command) -> tuple[Reply, tuple[Command, ...]]: ...
    def is_long(self, namespace: bytes) -> bool: ...


class _ClosedStore:
    """The store of a lab that is closed."""

    async def start(self) -> None:
        pass

    async def stop(self) -> None:
        pass

    def is_long(self, namespace: bytes) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        raise LabError("the lab is closed")


_CLOSED: Any = _ClosedStore()
MOST_KEYS = 2**32  # of a solution without a quota, as many as Redis counts
_WALKS = frozenset({"list", "clear", "info"})  # over all keys of a solution
NAMES_KEY = frozenset({b"LMPOP", b"ZMPOP"})  # their replies begin with a key


def _value(kind: CommandSpec, reply: Reply) -> dict[str, Plain]:
    """Return the result of `command` for a reply."""
    value = plain(reply, kind.nested)
    if kind.unordered and isinstance(value, list):
        value = sorted(value, key=str)
    return {} if value is None else {"value": value}


class Keystore(Service):
    """Service that stores values by key, in a separate namespace for every solution.

    The store is an external Redis or Valkey if the settings have its URL, else it is embedded in the lab. Keys in an
    external store begin with the lab's domain, since labs may share it. The setting `limits.keystore_keys` is the quota
    of a solution's keys.
    """

    name = "Keystore"
    shares_arguments = True

    def __init__(self, context: Context) -> None:
        self._context = context
        self.outside = "a Redis outside of the lab" if context.settings.keystore is not None else ""
        self._quota = context.settings.limits.keystore_keys
        self._namespaces: dict[str, bytes] = {}
        self._store: Store = _CLOSED
        self._immediate: ImmediateStore = _CLOSED  # the same store, where commands never wait
        self.is_immediate = context.settings.keystore is None and not context.database.durable

    async def start(self) -> None:
        """Open the store. Raises SettingsError if an external Redis cannot be used."""
        if self._context.settings.keystore is None:
            log = CommandLog(database) if (database := self._context.database).durable else None
            embedded = Embedded(
                self._context.clock, self._context.identifiers, log, self._context.slow.excuse
            )
            await embedded.start()
            self._store = self._immediate = embedded
        else:
            from labkit.services.keystore.outside import ExternalRedis

            external = ExternalRedis(self._context.clock, self._context.settings.keystore)
            await external.start()
            self._store = external

    async def stop(self) -> None:
        """Close the store; a durable store keeps its values."""
        store, self._store, self._immediate = self._store, _CLOSED, _CLOSED
        await store.stop()

    state_type = list[list[str]]  # commands, in base64

    def snapshot(self) -> list[list[str]]:
        if self.outside:
            raise LabError(f"the Keystore is in {self.outside}, whose content cannot be copied")
        assert isinstance(self._store, Embedded)
        return [[b64encode(part).decode() for part in command] for command in self._store.snapshot()]

    async def restore(self, state: list[list[str]]) -> None:
        assert isinstance(self._store, Embedded)
        self._store.restore([tuple(b64decode(part) for part in command) for command in state])

    async def recover(self) -> None:
        """Read a durable or external store again after a crash; a store in memory has lost nothing."""
        if self._context.settings.keystore is not None:
            await self.stop()
        if self._context.settings.keystore is not None or self._context.database.durable:
            await self.start()

    async def clear(self) -> None:
        if isinstance(self._store, Embedded) and not self._store.is_used:
            return
        for solution in self._context.solutions:
            await self.clear_(Caller(solution.id))

    @operation
    async def get(self, caller: Caller, key: Key) -> dict[str, Plain]:
        """Return the value of a key, as text: `{value}`; `{}` if the key is missing."""
        value = plain(await self._run(b"GET", self.namespace_of(caller) + encoded(key)))
        return {} if value is None else {"value": value}

    @operation
    async def set_(self, caller: Caller, key: Key, value: Value) -> dict[str, Plain]:
        """Store a value under a key. Numbers, booleans and null are stored as JSON text."""
        await self.set_value(caller, [(key, value)])
        return {}

    @operation
    async def delete(self, caller: Caller, key: Key) -> dict[str, Plain]:
        """Delete a key. A missing key is not an error."""
        await self.delete_keys(self.namespace_of(caller), [key])
        return {}

    @operation
    async def mget(self, caller: Caller, keys: Keys) -> dict[str, Plain]:
        """Return the values of several keys as `{values}`, in the order of the keys; null for a missing key."""
        if not keys:
            return {"values": []}
        namespace = self.namespace_of(caller)
        return {"values": plain(await self._run(b"MGET", *(namespace + encoded(key) for key in keys)))}

    @operation
    async def mset(self, caller: Caller, values: Pairs) -> dict[str, Plain]:
        """Store several values. values: a list of `{key, value}`, or an object of values by key."""
        await self.set_value(caller, [(pair.key, pair.value) for pair in values])
        return {}

    @operation
    async def mdelete(self, caller: Caller, keys: Keys) -> dict[str, Plain]:
        """Delete several keys. A missing key is not an error."""
        await self.delete_keys(self.namespace_of(caller), keys)
        return {}

    @operation
    async def list_(
        self, caller: Caller, match: str = "", cursor: Cursor = 0, count: Count = LONGEST_LIST
    ) -> dict[str, Plain]:
        """List about `count` keys that contain `match`, as `{keys, cursor}`; without a cursor also `quota` and `usage`.

        Pass the cursor to the next call to get the next keys; it is missing in the last result. `quota.keys` is that of
        `info`, `usage.keys` the number of all keys of the solution.
        """
        namespace = self.namespace_of(caller)
        keys, after = await self.scan_page(namespace, match, cursor, count)
        found: dict[str, Plain] = {"keys": [*keys]}
        if not cursor:  # with every page, an external Redis would count all keys again
            found |= {"quota": self._shown_quota(), "usage": {"keys": await self._store.count(namespace)}}
        return {**found, "cursor": after} if after else found

    @operation
    async def clear_(
        self, caller: Caller, match: str = "", cursor: Cursor | None = None, count: Count | None = None
    ) -> None:
        """Delete every key that contains `match`.

        With `cursor` or `count`, deletes only the keys that `list` returns for the same arguments.
        """
        namespace = self.namespace_of(caller)
        page, after = await self.scan_page(namespace, match, cursor or 0, count or LONGEST_LIST)
        await self.delete_keys(namespace, page)
        while after and cursor is None and count is None:
            await asyncio.sleep(0)
            page, after = await self.scan_page(namespace, match, after, LONGEST_LIST)
            await self.delete_keys(namespace, page)

    @operation
    async def info(self, caller: Caller) -> dict[str, Plain]:
        """Return `{quota: {keys}, usage: {keys, size}}`, size in bytes; without a limit `quota.keys` is 4294967296."""
        number, size = await self._store.usage(self.namespace_of(caller))
        return {"quota": self._shown_quota(), "usage": {"keys": number, "size": size}}

    @operation
    async def command(
        self, caller: Caller, command: CommandName, key: Key, args: Arguments = ()
    ) -> dict[str, Plain]:
        """Run a Redis command on a key and return its reply as `{value}`; `{}` if Redis replies nil.

        args: the arguments after the key; an argument before the key, as bitop has it, is the first of args. The reply
        of hgetall is an object. 400 with Redis' own error text, 403 if the command would exceed the quota of keys.
        Not available, with the reason in the error: commands that block, scripts, transactions, subscriptions, commands
        of the server, KEYS and SCAN (see list and clear), DUMP and RESTORE (whose form is that of another store), and
        what the embedded store does not do as Redis 7.0: streams, and times of a hash's fields. A search for places
        finds also those near a pole, across the antimeridian and beyond 5,000 km, some of which Redis leaves out.
        """
        kind = COMMANDS[command]
        request = self._request(caller, kind, key, args)
        if kind.grows and self._quota is not None:
            await self._check_quota(self.namespace_of(caller), kind.created(request), self._quota)
        reply = await self._store.execute(request)
        if kind.name in NAMES_KEY and isinstance(reply, list):
            reply = [cast("bytes", reply[0])[len(self.namespace_of(caller)) :], *reply[1:]]
        return _value(kind, reply)

    def _request(self, caller: Caller, kind: CommandSpec, key: str, args: Sequence[Scalar | None]) -> Command:
        """Return the Redis command of a call of `command`. Raises ServiceError 400 for invalid arguments."""
        namespace = self.namespace_of(caller)
        rest = [*map(encoded, args)]
        if kind.layout is not Layout.NONE:
            for position in kind.key_positions(rest):
                rest[position] = namespace + encoded(checked_key(args[position]))
        return kind.request(namespace + key.encode(), rest)  # a key is printable, so always valid

    def bind(self, declared: Operation, arguments: Mapping[str, Any]) -> Callable[[Caller], object] | None:
        """Return a function that makes a call of `command` at once, in the embedded store without a data file.

        A script repeats the same few commands with every event.
        """
        if not self.is_immediate or declared.name != "command":
            return None
        kind, key, args = COMMANDS[arguments["command"]], arguments["key"], arguments["args"]
        if (kind.grows and self._quota is not None) or kind.name in NAMES_KEY:
            return None
        requests: dict[str, Command] = {}  # by solution

        def run(caller: Caller) -> dict[str, Plain]:
            try:
                request = requests[caller.solution]
            except KeyError:
                request = requests[caller.solution] = self._request(caller, kind, key, args)
            reply, _ = self._immediate.answer(request)
            return {"value": reply} if type(reply) is int else _value(kind, reply)

        return run

    def may_wait(self, caller: Caller, operation: str) -> bool:
        walks = self._quota is not None or operation in _WALKS
        return walks and self._immediate.is_long(self.namespace_of(caller))

    def namespace_of(self, caller: Caller) -> bytes:
        """Return the prefix of a solution's keys, quoted so that solutions and labs cannot collide."""
        namespace = self._namespaces.get(caller.solution)
        if namespace is None:
            settings = self._context.settings
            names = [caller.solution] if settings.keystore is None else [settings.domain, caller.solution]
            namespace = "".join(f"{quote(name, safe='')}:" for name in names).encode()
            self._namespaces[caller.solution] = namespace
        return namespace

    def _shown_quota(self) -> dict[str, Plain]:
        return {"keys": MOST_KEYS if self._quota is None else self._quota}

    def _run(self, *command: bytes) -> Awaitable[Reply]:
        return self._store.execute(command)

    async def set_value(self, caller: Caller, pairs: Sequence[tuple[str, Scalar | None]]) -> None:
        """Store values under keys, all or none. Raises MistakeError 403 if that would exceed the quota."""
        if not pairs:
            return
        namespace = self.namespace_of(caller)
        values = {namespace + encoded(key): encoded(value) for key, value in pairs}
        if self._quota is not None:
            await self._check_quota(namespace, list(values), self._quota)
        await self._run(b"MSET", *(item for pair in values.items() for item in pair))

    async def delete_keys(self, namespace: bytes, keys: Iterable[str]) -> None:
        """Delete keys of a namespace; missing keys are ignored."""
        full_keys = [namespace + encoded(key) for key in keys]
        if full_keys:
            await self._run(b"DEL", *full_keys)

    async def _check_quota(self, namespace: bytes, full_keys: list[bytes], quota: int) -> None:
        """Raise MistakeError 403 if creating the missing ones of these keys would exceed the quota."""
        if not full_keys:  # the command lacks arguments, so that it is refused
            return
        present = await self._run(b"EXISTS", *full_keys)
        missing = len(full_keys) - (present if isinstance(present, int) else 0)
        if not missing:
            return
        used = await self._store.count(namespace)
        if used + missing > quota:
            text = f"Key count quota reached: {used} of {quota} keys are in use, by limits.keystore_keys."
            raise MistakeError(403, text)

    async def scan_page(self, namespace: bytes, match: str, cursor: int, count: int) -> tuple[list[str], int]:
        """Return about `count` keys that contain `match`, and the next cursor, 0 at the end."""
        page: list[str] = []
        seen = 0
        while True:
            cursor, keys = await self._store.scan(namespace, cursor, count)
            page += [text for key in keys if match in (text := key[len(namespace) :].decode())]
            if not cursor or len(page) >= count:
                return page, cursor
            seen += count
            if seen >= LONGEST_LIST:
                seen = 0
                await asyncio.sleep(0)
