"""Driver of the Keystore model: the same keys in two solutions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from labkit.conformance.keystore.operations.model import Keys, Refused, Result, Stored, plain
from labkit.conformance.models.calls import CallResult, ignore_result
from labkit.conformance.models.commands import Commands, one_of, several, together
from labkit.conformance.models.game import TenantGame

OWN_RULES = {
    "get": "KEY-GET-1",
    "set": "KEY-SET-1",
    "incrby": "KEY-INCR-1",
    "expire": "KEY-EXP-2",
    "expireat": "KEY-EXP-1",
    "lpush": "KEY-LIST-1",
    "ltrim": "KEY-LIST-2",
    "lrange": "KEY-LIST-3",
}
READ = {"string": "get", "list": "lrange", "set": "smembers", "hash": "hgetall"}

KEYS = ("a", "A", "é", "a b", "%*?[a]", "😀")
TEXT, LIST, SET, HASH = (
    (*[key] * 9, *KEYS) for key in ("a", "A", "é", "a b")
)  # a type mostly has its own key
COUNT = "n"  # the key that has numbers only
TEXTS = ("x", "X", "7", "", "-3", "é", "a\0b", "😀 %&\n", "07", "9223372036854775807", "y" * 300)
NUMBERS = (1, 5, -2, 0, 2**31)
INDEXES = (0, -1, 1, -2, 2, 9, 3, -4, -9)
TICKS = (1024, 1024, 128, 896, 2048, 3072, 512)
MEMBER, SEVERAL = TEXTS[:6], several(TEXTS, 4, 1)
# names of commands, their keys, and the rest of their arguments
CALLS: tuple[tuple[Any, ...], ...] = (
    ("set setnx getset append SET", TEXT, together(TEXTS)),
    ("get exists type strlen ttl pttl GET", TEXT, [()]),
    ("lpush rpush lpush lpushx rpushx", LIST, SEVERAL),
    ("sadd sadd srem", SET, SEVERAL),
    ("sismember", SET, together(TEXTS)),
    ("smembers scard", SET, [()]),
    ("llen lpop rpop", LIST, [()]),
    ("hgetall hlen", HASH, [()]),
    ("lrange ltrim lrange", LIST, together(INDEXES, INDEXES)),
    ("getrange", TEXT, together(INDEXES, INDEXES)),
    ("incrby decrby INCRBY", TEXT, together(NUMBERS)),
    ("incrby", [COUNT], together(NUMBERS)),
    ("incr decr del persist smembers", TEXT, [()]),
    ("expire EXPIRE pexpire expireat pexpireat", TEXT, together(("@2", "@1", "@3", "@0", "@-1"))),
    ("expire expireat", TEXT, together(("@2", "@3"))),
    ("append setnx append", TEXT, together(TEXTS)),
    ("setex psetex", TEXT, together(("@1", "@2"), TEXTS)),
    ("lindex", LIST, together(INDEXES)),
    ("lset", LIST, together(INDEXES, TEXTS)),
    ("lrem", LIST, together((0, 1, -1, 2), TEXTS)),
    ("linsert", LIST, together(("BEFORE", "after"), TEXTS, TEXTS)),
    ("hset hsetnx", HASH, together(MEMBER, TEXTS)),
    ("hget hexists hdel", HASH, together(MEMBER)),
    ("hmget", HASH, several(MEMBER, 3, 1)),
    ("hincrby", HASH, together(MEMBER, NUMBERS)),
)

command = Commands(index=(0, 0, 1), key=("a", "a", "a", *KEYS))


class Store(TenantGame[Keys]):
    """One run of the model: keys with a prefix of its own, in two solutions."""

    default = "KEY-CMD-1"

    service = "Keystore"
    model = Keys
    separator = " "

    async def begin(self) -> None:
        self._expired: set[str] = set()  # keys that ever had an expiry
        await self.clock.begin()

    async def end(self) -> None:
        """Read all keys once more, in both solutions."""
        for index, keys in enumerate(self.models):
            await self.list_keys(index)
            for key in sorted(keys.kept):
                kind = str(keys.run("type", key, (), self._now()))
                if kind in READ:
                    await self.run(index, (READ[kind], key, (0, -1) if kind == "list" else ()))
        await self._calls.send()

    def clean_up(self) -> None:
        for index in range(len(self.models)):  # each list call reads all keys of a solution
            self._calls.add(index, "Keystore.clear", {"match": self._prefix})

    # ---- what commands do

    @command(len(CALLS), call=one_of(*(together(names.split(), *rest) for names, *rest in CALLS)))
    async def run(self, index: int, call: tuple[str, str, Sequence[str | int]]) -> None:
        """Run a command. call: its name, key and further arguments."""
        command, key, args = call
        args = self._timed(command, args)
        before = key in self.models[index].kept
        wanted = self._wanted(index, command.lower(), key, args)
        name = {"command": command, "key": self._prefix + key, "args": list(args)}
        if command.lower() in ("ttl", "pttl") and not self.clock.exact:
            return
        self._add(index, key, self._rule(index, command, key, before), command, name, wanted)
        if key in self._expired and self.clock.exact:  # a wrong expiry would show much later
            left = {"command": "pttl", "key": self._prefix + key}
            rule = "KEY-SET-4" if command.lower() in ("set", "incrby", "lpush") else "KEY-CMD-3"
            self._add(index, key, rule, "pttl", left, self._wanted(index, "pttl", key, ()))

    @command(operation=["set"], value=one_of(TEXTS, (5, -1, True, False)))
    @command(operation=("get", "get", "delete"), value=[None])
    async def operation(self, index: int, operation: str, key: str, value: object = None) -> None:
        """Call get, set or delete."""
        keys = self.models[index]
        keys.expire(self._now())
        there = key in keys.kept
        parameters: dict[str, object] = {"key": self._prefix + key}
        if operation == "set":
            parameters["value"] = value
            text = str(value).lower() if isinstance(value, bool) else str(value)
            keys.put(key, text.encode())
            rule = "KEY-SET-1" if isinstance(value, str) else "KEY-SET-3"
        elif operation == "delete":
            keys.remove(key)
            rule = "KEY-DEL-1" if there else "KEY-DEL-2"
        else:
            wanted = self._wanted(index, "get", key, ())
            rule = self._rule(index, "get", key, there) if there else "KEY-GET-2"
            self._add(index, key, rule, "get", parameters, wanted, operation="get")
            return
        self._done(index, operation, parameters, rule)

    @command(numbers=several((1, 2, 3), 4, 2))
    async def increment_concurrently(self, index: int, key: str, numbers: Sequence[int]) -> None:
        """Run incrby from multiple_keys clients concurrently, in both solutions."""
        if not all(self._in_any_order(each, key, numbers) for each in (0, 1)):
            for number in numbers:
                await self.run(index, ("incrby", key, (number,)))
            return
        calls = [
            (each, "Keystore.command", {"command": "incrby", "key": self._prefix + key, "args": [number]})
            for number in numbers
            for each in (index, 1 - index)
        ]
        found = await self._calls.call_concurrently(*calls)
        for each in (0, 1):
            wanted = [self._wanted(each, "incrby", key, [number]) for number in numbers]
            if isinstance(wanted[-1], Refused):
                continue
            seen = [value(given) for (owner, *_), given in zip(calls, found, strict=True) if owner == each]
            largest = plain(wanted[-1])
            rule = "KEY-INCR-3"
            self._rules.holds(rule, "the sum of all", seen.count(largest), 1)

    def _in_any_order(self, index: int, key: str, numbers: Sequence[int]) -> bool:
        """Return whether these numbers may be added in any order. Close to the largest number some of them are
        refused.
        """
        keys = self.models[index]
        keys.expire(self._now())
        kept = keys.kept.get(key)
        return not (isinstance(kept, bytes) and kept.isdigit()) or int(kept) + sum(numbers) < 2**63

    @command(
        operation=("mset", "mget", "mdelete"),
        pairs=several(together(KEYS, TEXTS), 4, 1, unique_by=lambda each: each[0]),
    )
    async def multiple_keys(self, index: int, operation: str, pairs: Sequence[tuple[str, str]]) -> None:
        """Call mset, mget or mdelete."""
        keys = self.models[index]
        keys.expire(self._now())
        names = [self._prefix + key for key, _ in pairs]
        if operation == "mset":
            for key, text in pairs:
                keys.put(key, text.encode())
            given = [{"key": name, "value": text} for name, (_, text) in zip(names, pairs, strict=True)]
            self._done(index, "mset", {"values": given}, "KEY-MORE-1")
        elif operation == "mdelete":
            for key, _ in pairs:
                keys.remove(key)
            self._done(index, "mdelete", {"keys": names}, "KEY-MORE-1")
        else:
            kept = [keys.kept.get(key) for key, _ in pairs]
            wanted = [each.decode(errors="replace") if isinstance(each, bytes) else None for each in kept]

            def judge(given: CallResult) -> None:
                self._rules.holds("KEY-MORE-1", "values of mget", table(given).get("values"), wanted, given)

            self._done(index, "mget", {"keys": names}, "KEY-MORE-1", judge)

    @command()
    async def list_keys(self, index: int) -> None:
        """List all keys of this run."""
        keys = self.models[index]
        keys.expire(self._now())
        wanted = sorted(self._prefix + key for key in keys.kept)
        seen: list[str] = []
        cursor: object = None
        while True:
            parameters = {"match": self._prefix, "count": 3} | ({} if cursor is None else {"cursor": cursor})
            found = table(await self._calls.call(index, "Keystore.list", parameters))
            seen += found.get("keys") or []
            cursor = found.get("cursor")
            if not cursor or cursor == "0" or len(seen) > 1000:
                break
        other = {self._prefix + key for key in self.models[1 - index].kept}
        rule = "KEY-CALL-4" if (set(seen) - set(wanted)) & other else "KEY-MORE-2"
        self._rules.holds(rule, "keys", sorted(seen), wanted)

    @command(match=("a", "A", "é"))
    async def clear(self, index: int, match: str) -> None:
        """Clear the keys of this run that begin with a text."""
        keys = self.models[index]
        for key in [key for key in keys.kept if key.startswith(match)]:
            keys.remove(key)

        def judge(given: CallResult) -> None:
            self._rules.holds("KEY-MORE-3", "is clear refused?", "error" in str(given.value), False, given)

        self._calls.add(index, "Keystore.clear", {"match": self._prefix + match}, judge)

    @command(2, ticks=TICKS)
    async def advance(self, ticks: int) -> None:
        """Let time pass; then check the keys that have just expired or are in their last millisecond, and the ttl of
        the others.
        """
        before = self._now()
        await self._calls.send()
        await self.clock.advance(ticks)
        if not self.clock.exact:
            return
        for index, keys in enumerate(self.models):
            for key in [key for key, end in keys.ends.items() if before < end <= self._now()]:
                await self.run(index, ("exists", key, ()))
            for key in [key for key, end in keys.ends.items() if end > self._now()]:
                await self.run(index, ("ttl", key, ()))

    # ---- comparing

    def _now(self) -> int:
        return math.floor(self.clock.now * 1000)

    def _timed(self, command: str, args: Sequence[str | int]) -> list[str | int]:
        """Return the arguments, with `@5` replaced by 5 s (or ms) from now, and by a far time on a wall clock."""
        unit = 1000 if command.lower().startswith("p") else 1
        found: list[str | int] = []
        for each in args:
            if isinstance(each, str) and each.startswith("@"):
                absolute = command.lower().endswith("at")
                seconds = int(each[1:]) if self.clock.exact else 1000
                found.append((seconds + (math.floor(self.clock.now) if absolute else 0)) * unit)
            else:
                found.append(each)
        return found

    def _wanted(self, index: int, command: str, key: str, args: Sequence[str | int]) -> Result | Refused:
        try:
            result = self.models[index].run(command, key, args, self._now())
        except Refused as refused:
            return refused
        self._expired |= self.models[index].ends.keys()
        return result

    def _rule(self, index: int, command: str, key: str, there: bool) -> str:
        name = command.lower()
        if command != name and name != "expire":
            return "KEY-CMD-2"
        if name == "incrby" and not there:
            return "KEY-INCR-2"
        if key in self._expired and name in ("get", "exists", "ttl", "pttl"):
            end = self.models[index].ends.get(key)
            return "KEY-EXP-3" if end == self._now() else "KEY-EXP-2" if end or not there else "KEY-SET-4"
        return OWN_RULES.get(name, "KEY-CMD-3")

    def _add(
        self,
        index: int,
        key: str,
        rule: str,
        command: str,
        parameters: dict[str, Any],
        wanted: Result | Refused,
        operation: str = "command",
    ) -> None:
        """Add a call, and compare its result. operation: the one of the Keystore that runs the command."""
        others = self.models[1 - index].kept
        strange = key in others and others[key] != self.models[index].kept.get(key)
        abroad = plain(as_result(others[key])) if strange else None  # the other solution's value of this key
        ordered = command.lower() != "smembers"
        expected = None if isinstance(wanted, Refused) else plain(wanted)
        if not ordered and isinstance(expected, list):
            expected = sorted(expected)

        def judge(given: CallResult) -> None:
            holds = self._rules.holds
            if isinstance(wanted, Refused):
                found = table(given)
                holds("KEY-CMD-5", f"status of {command}", found.get("status"), 400, given)
                holds("KEY-CMD-5", f"error of {command}", str(wanted) in str(found.get("error")), True, given)
                return
            seen = value(given)
            if strange:
                mixed = seen != expected and seen == abroad
                holds("KEY-CALL-4", "is it what another solution has?", mixed, False, given)
            if not ordered and isinstance(seen, list):
                seen = sorted(seen)
            holds(rule, f"what {command} gives", seen, expected, given)

        self._calls.add(index, f"Keystore.{operation}", parameters, judge)

    def _done(
        self,
        index: int,
        operation: str,
        parameters: dict[str, Any],
        rule: str,
        more: Callable[[CallResult], None] = ignore_result,
    ) -> None:
        """Add a call of an operation that must not fail. more: a further comparison."""

        def judge(given: CallResult) -> None:
            self._rules.holds(rule, f"status of {operation}", table(given).get("status"), None, given)
            more(given)

        self._calls.add(index, f"Keystore.{operation}", parameters, judge)


def table(given: CallResult) -> dict[str, Any]:
    """Return the table that an operation returned."""
    found = given.value
    return found if isinstance(found, dict) else {"status": f"no table but {found!r}"}


def value(given: CallResult) -> Any:
    """Return the value in the table, or an error unchanged."""
    found = table(given)
    return found if "status" in found else found.get("value")


def as_result(stored: Stored) -> Result:
    """Return a stored value as a read of the whole key returns it."""
    return sorted(stored) if isinstance(stored, set) else stored
