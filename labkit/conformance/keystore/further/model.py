"""Reference model of commands on several keys: texts, lists, sets and sorted sets of one solution.

Written from Redis' own description of each command.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

Value = str | list[str] | set[str] | dict[str, float]
NAMES: dict[Any, str] = {str: "string", list: "list", set: "set", dict: "zset"}


class WrongError(Exception):
    """A command that Redis refuses."""


class SeveralKeys:
    """The keys of a solution."""

    def __init__(self) -> None:
        self.kept: dict[str, Value] = {}

    def run(self, name: str, key: str, args: Sequence[Any]) -> Any:
        """Return the result of a command. Raises WrongError, and changes nothing."""
        result = COMMANDS[name](self, key, *args)
        for each in [each for each, value in self.kept.items() if value in ([], set(), {})]:
            del self.kept[each]
        return result

    def of(self, key: str, kind: type) -> Any:
        """Return the value of a key, an empty one for a missing key. Raises WrongError for another type."""
        found = self.kept.get(key)
        if found is not None and type(found) is not kind:
            raise WrongError
        return kind() if found is None else found

    def keep(self, key: str, value: Value) -> Any:
        """Store a value; return its size."""
        self.kept[key] = value
        return len(value)

    def move(self, key: str, target: str, new: bool = False) -> Any:
        """Rename a key. new: only if the target is missing."""
        if key not in self.kept:
            raise WrongError
        if new and target in self.kept:
            return 0
        self.kept[target] = self.kept.pop(key)
        return 1 if new else "OK"

    def copy(self, key: str, target: str, *replace: str) -> int:
        """Copy a value."""
        if key == target:
            raise WrongError
        if key not in self.kept or (target in self.kept and not replace):
            return 0
        value = self.kept[key]
        self.kept[target] = value if isinstance(value, str) else value.copy()
        return 1

    def shift(self, key: str, target: str, fro: str, to: str) -> str | None:
        """Move an item between the ends of lists."""
        source = self.of(key, list)
        if not source:
            return None
        self.of(target, list)
        item = str(source.pop(0 if fro == "LEFT" else -1))
        into = self.kept.setdefault(target, []) if target != key else source
        assert isinstance(into, list)
        into.insert(0 if to == "LEFT" else len(into), item)
        return item

    def pop_first(self, key: str, number: int, *others: str) -> Any:
        """Pop an item from the first list that has one; the last argument is its end."""
        *keys, end = others
        for each in [key, *keys]:
            items = self.of(each, list)
            if items:
                return [each, [items.pop(0 if end == "LEFT" else -1)]]
        return None

    def move_member(self, key: str, target: str, member: str) -> int:
        """Move a member between sets."""
        source = self.of(key, set)
        if key not in self.kept:
            return 0
        self.of(target, set)
        if member not in source:
            return 0
        source.discard(member)
        into = self.kept.setdefault(target, set())
        assert isinstance(into, set)
        into.add(member)
        return 1

    def sets(self, join: Callable[[Any, Any], Any], keys: Sequence[str]) -> set[str]:
        """Return the join of sets."""
        return set(reduce(join, [self.of(each, set) for each in keys]))

    def scores(self, key: str) -> dict[str, float]:
        """Return a sorted set; members of a set have the score 1."""
        found = self.kept.get(key)
        return dict.fromkeys(found, 1.0) if isinstance(found, set) else dict(self.of(key, dict))

    def union(self, keys: Sequence[str]) -> dict[str, float]:
        """Return the union of sorted sets, with the sums of the scores."""
        total: dict[str, float] = {}
        for each in [self.scores(key) for key in keys]:
            for member, score in each.items():
                total[member] = total.get(member, 0.0) + score
        return total

    def store_all(self, key: str, value: str, *rest: str, new: bool = False) -> Any:
        """Store texts under several keys. new: only if all are missing."""
        pairs = dict(zip([key, *rest[::2]], [value, *rest[1::2]], strict=True))
        if new and pairs.keys() & self.kept.keys():
            return 0
        self.kept.update(pairs)
        return 1 if new else "OK"

    def take(self, key: str) -> str | None:
        """Remove a text and return it."""
        found = self.of(key, str) if key in self.kept else None
        self.kept.pop(key, None)
        return found

    def add(self, key: str, kind: type, change: Callable[[Any], Any]) -> Any:
        """Change a value of a type, and return its size."""
        value = self.of(key, kind)
        change(value)
        return self.keep(key, value)


def _flat(scores: dict[str, float]) -> list[str]:
    ordered = sorted(scores.items(), key=lambda each: (each[1], each[0].encode()))
    return [part for member, score in ordered for part in (member, f"{score:g}")]


def _added(keys: SeveralKeys, key: str, kind: type, change: Callable[[Any], Any]) -> int:
    before = len(keys.of(key, kind))
    return int(keys.add(key, kind, change)) - before


COMMANDS: dict[str, Callable[..., Any]] = {
    "set": lambda keys, key, value: keys.store_all(key, value),
    "rpush": lambda keys, key, *items: keys.add(key, list, lambda value: value.extend(items)),
    "sadd": lambda keys, key, *items: _added(keys, key, set, lambda value: value.update(items)),
    "zadd": lambda keys, key, score, item: _added(
        keys, key, dict, lambda value: value.update({item: float(score)})
    ),
    "rename": lambda keys, key, target: keys.move(key, target),
    "renamenx": lambda keys, key, target: keys.move(key, target, True),
    "copy": SeveralKeys.copy,
    "rpoplpush": lambda keys, key, target: keys.shift(key, target, "RIGHT", "LEFT"),
    "lmove": SeveralKeys.shift,
    "lmpop": SeveralKeys.pop_first,
    "smove": SeveralKeys.move_member,
    "sunion": lambda keys, *names: sorted(keys.sets(operator.or_, names)),
    "sinter": lambda keys, *names: sorted(keys.sets(operator.and_, names)),
    "sdiff": lambda keys, *names: sorted(keys.sets(operator.sub, names)),
    "sunionstore": lambda keys, key, *names: keys.keep(key, keys.sets(operator.or_, names)),
    "sinterstore": lambda keys, key, *names: keys.keep(key, keys.sets(operator.and_, names)),
    "sdiffstore": lambda keys, key, *names: keys.keep(key, keys.sets(operator.sub, names)),
    "sintercard": lambda keys, key, number, *names: len(keys.sets(operator.and_, [key, *names])),
    "zunionstore": lambda keys, key, number, *names: keys.keep(key, keys.union(names)),
    "zunion": lambda keys, key, number, *names: _flat(
        keys.union([key, *names[:-1]])
    ),  # WITHSCORES is the last
    "mset": SeveralKeys.store_all,
    "msetnx": lambda keys, key, *rest: keys.store_all(key, *rest, new=True),
    "mget": lambda keys, *names: [
        value if isinstance(value := keys.kept.get(each), str) else None for each in names
    ],
    "getdel": SeveralKeys.take,
    "unlink": lambda keys, *names: sum(keys.kept.pop(each, None) is not None for each in names),
    "touch": lambda keys, *names: sum(each in keys.kept for each in names),
    "type": lambda keys, key: NAMES[type(keys.kept[key])] if key in keys.kept else "none",
}
