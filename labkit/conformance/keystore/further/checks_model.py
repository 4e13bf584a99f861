"""Model check of commands on several keys, for two tenants with keys of the same names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.conformance.keystore.further.game import KEYS, TwoTenants
from labkit.conformance.old_models import Model, model_check

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

ITEMS = ("x", "y", "", "ü \N{BELL}", "5")


@dataclass(frozen=True)
class KeyCommand:
    """A command in a solution; keys among the arguments begin with `=`."""

    solution: int
    name: str
    key: str
    args: tuple[Any, ...]

    async def __call__(self, game: TwoTenants) -> None:
        await game.run(self.solution, self.name, self.key, self.args)


def commands() -> SearchStrategy[Any]:
    """Return the commands: some fill keys, most work on two or three of them."""
    from hypothesis import strategies as st

    keys, items = st.sampled_from(KEYS), st.sampled_from(ITEMS)
    other = keys.map(lambda key: f"={key}")
    ends = st.sampled_from(("LEFT", "RIGHT"))

    def command(name: str, *args: Any) -> SearchStrategy[KeyCommand]:
        given = [each if isinstance(each, st.SearchStrategy) else st.just(each) for each in args]
        return st.builds(KeyCommand, st.sampled_from((0, 0, 1)), st.just(name), keys, st.tuples(*given))

    filling = [
        command("set", items),
        command("rpush", items, items),
        command("sadd", items, items),
        command("zadd", st.sampled_from((1, 2.5, -3)), items),
    ]
    moving = [
        command("rename", other),
        command("renamenx", other),
        command("copy", other),
        command("copy", other, "REPLACE"),
        command("rpoplpush", other),
        command("lmove", other, ends, ends),
        command("lmpop", 2, other, ends),
        command("smove", other, items),
        command("mset", items, other, items),
        command("msetnx", items, other, items),
        command("unlink", other),
        command("getdel"),
    ]
    joining = [
        *(command(name, other, other) for name in ("sunionstore", "sinterstore", "sdiffstore")),
        *(command(name, other) for name in ("sunion", "sinter", "sdiff", "touch")),
        command("sintercard", 2, other),
        command("zunionstore", 2, other, other),
        command("zunion", 2, other, "WITHSCORES"),
    ]
    return st.one_of(*filling, *filling, *moving, *joining)


two_tenants = model_check(
    "further/model",
    "commands on several keys of two tenants, with the same names, as a model has them",
    Model(("KEY-FURTHER-1", "KEY-FURTHER-2", "KEY-FURTHER-3"), commands, TwoTenants),
)
