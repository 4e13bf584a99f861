"""Model game of commands on several keys: the same names in two solutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.conformance.keystore.further.model import SeveralKeys, WrongError
from labkit.conformance.models.calls import Refused
from labkit.conformance.models.commands import Commands, one_of, together
from labkit.conformance.models.game import TenantGame

KEYS = ("a", "b", "c")
READS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "string": ("mget", ()),
    "set": ("sunion", ()),
    "zset": ("zunion", (1, "WITHSCORES")),
}
ITEMS = ("x", "y", "", "ü \N{BELL}", "5")
OTHER = [f"={key}" for key in KEYS]
ENDS = ("LEFT", "RIGHT")
CALLS: tuple[tuple[Any, ...], ...] = (
    # these fill keys
    ("set", ITEMS),
    ("rpush", ITEMS, ITEMS),
    ("sadd", ITEMS, ITEMS),
    ("zadd", (1, 2.5, -3), ITEMS),
    # these move values
    ("rename", OTHER),
    ("renamenx", OTHER),
    ("copy", OTHER),
    ("copy", OTHER, ["REPLACE"]),
    ("rpoplpush", OTHER),
    ("lmove", OTHER, ENDS, ENDS),
    ("lmpop", [2], OTHER, ENDS),
    ("smove", OTHER, ITEMS),
    ("mset", ITEMS, OTHER, ITEMS),
    ("msetnx", ITEMS, OTHER, ITEMS),
    ("unlink", OTHER),
    ("getdel",),
    # these join values
    *((name, OTHER, OTHER) for name in ("sunionstore", "sinterstore", "sdiffstore")),
    *((name, OTHER) for name in ("sunion", "sinter", "sdiff", "touch")),
    ("sintercard", [2], OTHER),
    ("zunionstore", [2], OTHER, OTHER),
    ("zunion", [2], OTHER, ["WITHSCORES"]),
)

command = Commands(index=(0, 0, 1), key=KEYS)


class TwoTenants(TenantGame[SeveralKeys]):
    """One game. A key in the arguments of a command is written as `=a`."""

    default = "KEY-FURTHER-1"
    service = "Keystore"
    model = SeveralKeys
    separator = " "

    async def end(self) -> None:
        """Read all keys in both solutions."""
        for index, model in enumerate(self.models):
            for key in KEYS:
                await self.run(index, key, ("type", ()))
                kind = model.run("type", key, ())
                if kind == "list":
                    body = {"command": "lrange", "key": self._prefix + key, "args": [0, -1]}
                    wanted = list(model.of(key, list))
                    self._compare(index, self.default, "command", body, lambda _: wanted, _value)  # noqa: B023 - it is called at once
                elif kind != "none":
                    await self.run(index, key, READS[kind])
        await self._calls.send()

    def clean_up(self) -> None:
        for index in range(len(self.models)):
            self._calls.add(index, "Keystore.clear", {"match": self._prefix})

    @command(call=one_of(*(together([name], together(*values)) for name, *values in CALLS)))
    async def run(self, index: int, key: str, call: tuple[str, Sequence[Any]]) -> None:
        """Run a command in a solution. call: its name and further arguments."""
        name, args = call

        def with_keys(prefix: str) -> list[Any]:
            return [prefix + each[1:] if isinstance(each, str) and each[:1] == "=" else each for each in args]

        def change(model: SeveralKeys) -> Any:
            try:
                found = model.run(name, key, with_keys(""))
            except WrongError:
                raise Refused("KEY-FURTHER-3", 400) from None
            return (
                [self._prefix + found[0], found[1]] if name == "lmpop" and isinstance(found, list) else found
            )

        named = with_keys(self._prefix)
        rule = self.default if named == list(args) else "KEY-FURTHER-2"
        body = {"command": name, "key": self._prefix + key, "args": named}
        self._compare(index, rule, "command", body, change, _value)


def _value(found: Any) -> Any:
    """Return the value of a result; an empty list may arrive as a table, and a list with gaps as one by number."""
    value = found.get("value") if isinstance(found, dict) else None
    return [] if value == {} else value
