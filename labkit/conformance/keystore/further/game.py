"""Model game of commands on several keys: the same names in two solutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.conformance.keystore.further.model import SeveralKeys, WrongError
from labkit.conformance.models.calls import Calls, Refused
from labkit.conformance.models.rules import Rules
from labkit.conformance.probe import PROBE, WITNESS
from labkit.conformance.target import Target

SOLUTIONS = (PROBE, WITNESS)
KEYS = ("a", "b", "c")
READS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "string": ("mget", ()),
    "list": ("lrange", (0, -1)),
    "set": ("sunion", ()),
    "zset": ("zunion", (1, "WITHSCORES")),
}


class TwoTenants:
    """One game. A key in the arguments of a command is written as `=a`."""

    default = "KEY-FURTHER-1"

    def __init__(self, target: Target, rules: Rules) -> None:
        self._calls = Calls(target, rules, self.default, SOLUTIONS)
        self._models = [SeveralKeys(), SeveralKeys()]
        self._prefix = f"{target.identity()} "

    async def begin(self) -> None:
        """Begin without keys."""

    async def play(self, command: Any) -> None:
        """Run a command."""
        await command(self)

    async def end(self) -> None:
        """Read all keys in both solutions."""
        for index, model in enumerate(self._models):
            for key in KEYS:
                await self.run(index, "type", key, ())
                kind = model.run("type", key, ())
                if kind == "list":
                    self._compare(index, "lrange", key, (0, -1), list(model.of(key, list)))
                elif kind != "none":
                    name, args = READS[kind]
                    await self.run(index, name, key, args)
        await self._calls.send()

    async def close(self) -> None:
        """Delete the keys."""
        for index in range(len(SOLUTIONS)):
            self._calls.add(index, "Keystore.clear", {"match": self._prefix})
        await self._calls.send()

    async def run(self, index: int, name: str, key: str, args: Sequence[Any]) -> None:
        """Run a command in a solution."""
        plain = [each.removeprefix("=") if isinstance(each, str) else each for each in args]
        try:
            wanted = self._models[index].run(name, key, plain)
        except WrongError:
            self._compare(index, name, key, args, WrongError())
        else:
            self._compare(index, name, key, args, wanted)

    def _compare(self, index: int, name: str, key: str, args: Sequence[Any], wanted: Any) -> None:
        if isinstance(wanted, list) and name == "lmpop":
            wanted = [self._prefix + wanted[0], wanted[1]]
        named = [
            self._prefix + each[1:] if isinstance(each, str) and each[:1] == "=" else each for each in args
        ]
        given = {"command": name, "key": self._prefix + key, "args": named}
        several = any(isinstance(each, str) and each[:1] == "=" for each in args)
        rule = "KEY-FURTHER-2" if several else "KEY-FURTHER-1"

        def change() -> Any:
            if isinstance(wanted, WrongError):
                raise Refused("KEY-FURTHER-3", 400)
            return wanted

        self._calls.compare(index, "Keystore.command", given, rule, change, _value)


def _value(found: Any) -> Any:
    """Return the value of a result; an empty list may arrive as a table, and a list with gaps as one by number."""
    value = found.get("value") if isinstance(found, dict) else None
    return [] if value == {} else value
