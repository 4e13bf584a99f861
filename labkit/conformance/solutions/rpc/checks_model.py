"""Model check of remote procedure calls: datapoints and tags of devices, with namesakes in two products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.conformance.old_models import LONG_SEQUENCES, Model, model_check
from labkit.conformance.solutions.rpc.game import LATEST, PLACES, Procedures

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

TIMES = (0, 1, 2, 9, 10, 11, 20, 50, 99, 100, 1000)
NUMBERS = (0, 1, -1, 2.5, 100, 100.5, 1e300)
TEXTS = ("", "x", "ü \N{BELL}", "1", "a=b&c")
NAMES = ("room", "Room", "ü", "id")
VALUES = ("", "hall", "Hall", "\N{BELL}", "5")


@dataclass(frozen=True)
class Call:
    """A method of the game, with the place of the device and further arguments."""

    action: str
    place: int
    arguments: tuple[Any, ...] = ()

    async def __call__(self, game: Procedures) -> None:
        await getattr(game, self.action)(self.place, *self.arguments)


def commands() -> SearchStrategy[Any]:
    """Return the commands: procedures, and operations on tags."""
    from hypothesis import strategies as st

    one_of = st.sampled_from
    places, times = one_of([0, 0, 1, 2, 3][: len(PLACES) + 1]), one_of(TIMES)

    def call(action: str, *args: SearchStrategy[Any]) -> SearchStrategy[Call]:
        return st.builds(Call, st.just(action), places, st.tuples(*args))

    def record(alias: str, values: tuple[Any, ...]) -> SearchStrategy[Call]:
        stamps = st.one_of(times, times, st.just(-(10**11)))
        pairs = st.lists(st.tuples(stamps, one_of(values)), max_size=5, unique_by=lambda each: each[0])
        return call("record", st.just(alias), pairs, st.booleans())

    aliases = one_of(("number", "number", "text", "level"))
    bounds = one_of((*TIMES, LATEST))
    tags = st.lists(st.tuples(one_of(NAMES), one_of(VALUES)), min_size=1, max_size=3)
    chosen = st.lists(st.tuples(one_of(NAMES), one_of((*VALUES, None))), max_size=2)
    selections = one_of(("all", "all", "givenwindow", "autowindow"))
    reading = (aliases, times, bounds, one_of(("asc", "desc")), one_of((1, 2, 3, 10_000)), selections)
    return st.one_of(
        record("number", (*NUMBERS, "warm")),
        record("level", NUMBERS),
        record("text", TEXTS),
        call("read", *reading),
        call("read", *reading),
        call("storage", one_of(("text", "flag"))),
        call("flush", one_of(("number", "text", "level", "")), one_of((-1, *TIMES)), bounds),
        call("add_tags", tags, st.booleans()),
        call("remove_tags", chosen),
        call("tags"),
        call("unknown"),
    )


RULES = "SOL-RPC-1 SOL-RPC-3 SOL-RPC-5 SOL-RPC-6 SOL-RPC-7 SOL-DEV-12"

procedures = model_check(
    "rpc/model",
    "recorded values and tags of devices with namesakes, for two tenants, as a model has them",
    Model(tuple(RULES.split()), commands, Procedures, LONG_SEQUENCES),
)
