"""Model check of the Keystore: commands on a few keys of two solutions, in random order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.conformance.keystore.operations.game import Store
from labkit.conformance.old_models import Model, model_check

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

KEYS = ("a", "A", "é", "a b", "%*?[a]", "😀")
TEXT, LIST, SET, HASH = "a", "A", "é", "a b"  # the keys by the type that they mostly have
COUNT = "n"  # the key that has numbers only
TEXTS = ("x", "X", "7", "", "-3", "é", "a\0b", "😀 %&\n", "07", "9223372036854775807", "y" * 300)
NUMBERS = (1, 5, -2, 0, 2**31)
INDEXES = (0, -1, 1, -2, 2, 9, 3, -4, -9)
TICKS = (1024, 1024, 128, 896, 2048, 3072, 512)


@dataclass(frozen=True)
class Command:
    """Run a command on a key."""

    solution: int
    command: str
    key: str
    args: tuple[str | int, ...]

    async def __call__(self, game: Store) -> None:
        await game.command(self.solution, self.command, self.key, self.args)


@dataclass(frozen=True)
class Operation:
    """Call get, set or delete."""

    solution: int
    operation: str
    key: str
    value: object = None

    async def __call__(self, game: Store) -> None:
        await game.operation(self.solution, self.operation, self.key, self.value)


@dataclass(frozen=True)
class ConcurrentIncrements:
    """Run incrby from several clients concurrently."""

    solution: int
    key: str
    numbers: tuple[int, ...]

    async def __call__(self, game: Store) -> None:
        await game.increment_concurrently(self.solution, self.key, self.numbers)


@dataclass(frozen=True)
class MultipleKeys:
    """Call mset, mget or mdelete."""

    solution: int
    operation: str
    pairs: tuple[tuple[str, str], ...]

    async def __call__(self, game: Store) -> None:
        await game.multiple_keys(self.solution, self.operation, self.pairs)


@dataclass(frozen=True)
class ListKeys:
    """List all keys."""

    solution: int

    async def __call__(self, game: Store) -> None:
        await game.list_keys(self.solution)


@dataclass(frozen=True)
class Clear:
    """Clear the keys that begin with a text."""

    solution: int
    match: str

    async def __call__(self, game: Store) -> None:
        await game.clear(self.solution, self.match)


@dataclass(frozen=True)
class Advance:
    """Let time pass."""

    ticks: int  # 1024 ticks are a second

    async def __call__(self, game: Store) -> None:
        await game.advance(self.ticks)


def commands() -> SearchStrategy[Any]:
    """Return the calls of scripts."""
    from hypothesis import strategies as st

    one_of, tuples, just = st.sampled_from, st.tuples, st.just
    keys = one_of(("a", "a", "a", *KEYS))
    solutions = one_of([0, 0, 1])
    text, number, index = one_of(TEXTS), one_of(NUMBERS), one_of(INDEXES)
    several = st.lists(text, min_size=1, max_size=4).map(tuple)
    when, member = one_of(("@2", "@1", "@3", "@0", "@-1")), one_of(TEXTS[:6])

    def command(names: str, args: SearchStrategy[Any], home: str = TEXT) -> SearchStrategy[Command]:
        return st.builds(Command, solutions, one_of(names.split()), one_of((*[home] * 9, *KEYS)), args)

    pairs = st.lists(tuples(one_of(KEYS), text), min_size=1, max_size=4, unique_by=lambda each: each[0])
    return st.one_of(
        command("set setnx getset append SET", tuples(text)),
        command("get exists type strlen ttl pttl GET", just(())),
        command("lpush rpush lpush lpushx rpushx", several, LIST),
        command("sadd sadd srem", several, SET),
        command("sismember", tuples(text), SET),
        command("smembers scard", just(()), SET),
        command("llen lpop rpop", just(()), LIST),
        command("hgetall hlen", just(()), HASH),
        command("lrange ltrim lrange", tuples(index, index), LIST),
        command("getrange", tuples(index, index)),
        command("incrby decrby INCRBY", tuples(number)),
        st.builds(Command, solutions, just("incrby"), just(COUNT), tuples(number)),
        command("incr decr del persist smembers", just(())),
        command("expire EXPIRE pexpire expireat pexpireat", tuples(when)),
        command("expire expireat", tuples(one_of(("@2", "@3")))),
        command("append setnx append", tuples(text)),
        command("setex psetex", tuples(one_of(("@1", "@2")), text)),
        command("lindex", tuples(index), LIST),
        command("lset", tuples(index, text), LIST),
        command("lrem", tuples(one_of((0, 1, -1, 2)), text), LIST),
        command("linsert", tuples(one_of(("BEFORE", "after")), text, text), LIST),
        command("hset hsetnx", tuples(member, text), HASH),
        command("hget hexists hdel", tuples(member), HASH),
        command("hmget", st.lists(member, min_size=1, max_size=3).map(tuple), HASH),
        command("hincrby", tuples(member, number), HASH),
        st.builds(Operation, solutions, one_of(["get", "get", "delete"]), keys),
        st.builds(Operation, solutions, just("set"), keys, st.one_of(text, one_of((5, -1, True, False)))),
        st.builds(
            ConcurrentIncrements,
            solutions,
            keys,
            st.lists(one_of((1, 2, 3)), min_size=2, max_size=4).map(tuple),
        ),
        st.builds(MultipleKeys, solutions, one_of(["mset", "mget", "mdelete"]), pairs.map(tuple)),
        st.builds(ListKeys, solutions),
        st.builds(Clear, solutions, one_of(("a", "A", "é"))),
        st.builds(Advance, one_of(TICKS)),
        st.builds(Advance, one_of(TICKS)),
    )


RULES = (
    "KEY-CMD-1 KEY-CMD-2 KEY-CMD-3 KEY-CMD-5 KEY-GET-1 KEY-GET-2 KEY-SET-1 KEY-SET-3 KEY-SET-4 KEY-DEL-1 KEY-DEL-2 "
    "KEY-INCR-1 KEY-INCR-2 KEY-INCR-3 KEY-EXP-1 KEY-EXP-2 KEY-EXP-3 KEY-LIST-1 KEY-LIST-2 KEY-LIST-3 KEY-MORE-1 "
    "KEY-MORE-2 KEY-MORE-3 KEY-CALL-4"
)

keystore = model_check(
    "operations/model",
    "keys of two solutions under any commands in any order, as a model of Redis has them",
    Model(tuple(RULES.split()), commands, Store),
)
