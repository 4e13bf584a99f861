"""Model check of subscriptions, quotas and events: two publishers and three subscribers, in random order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.conformance.interface.subscribers.game import PUBLISHERS, SUBSCRIBERS, Subscriptions
from labkit.conformance.old_models import LONG_SEQUENCES, Model, model_check

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

SECONDS = (0.25, 3599.75, 86_399.0, 86_400.0, 86_400 * 30.5)
SPENDING = (("modelhome", "lights", "modellights"), ("modelflat", "radio", "modelradio"))
PLAIN: tuple[tuple[dict[str, Any], ...], ...] = (({},), ({},) * 3, ({},) * 5)
DATA: tuple[object, ...] = (None, 0, "text é😀", {"level": 1}, [1, "a"], True, "")


@dataclass(frozen=True)
class Call:
    """A command: a method of the game and its arguments."""

    action: str
    arguments: tuple[Any, ...]

    async def __call__(self, game: Subscriptions) -> None:
        await getattr(game, self.action)(*self.arguments)


def commands() -> SearchStrategy[Any]:
    """Return the commands of publishers and subscribers."""
    from hypothesis import strategies as st

    one_of, tuples, just, numbers = st.sampled_from, st.tuples, st.just, st.integers
    who, publisher = one_of(sorted(SUBSCRIBERS)), one_of(("modellights", *sorted(PUBLISHERS)))
    key = one_of(("lights", "lights", "radio", "own", "OWN", "Lights"))
    values = one_of((1, 2, "x", "é", ["a"]))
    parameters = st.dictionaries(one_of(("region", "floor", "more", "zone")), values, max_size=2)
    good = st.fixed_dictionaries(
        {}, optional={"floor": numbers(0, 2), "region": one_of(("north", "x")), "more": values}
    )
    limits = st.dictionaries(one_of(("calls_daily", "calls_monthly")), numbers(0, 2))
    changes = st.dictionaries(one_of(("calls_daily", "calls_monthly")), one_of((None, 0, 1, 2)))
    arguments = st.dictionaries(
        one_of(("region", "floor", "level", "zone", "odd")), one_of((0, 7, "y")), max_size=2
    )
    bursts = st.lists(arguments, min_size=1, max_size=3).map(tuple)
    then = one_of((86_400.0, 86_400 * 30.5, 86_400 * 365.0, {"region": "x"}, {"region": "north", "floor": 2}))
    routes = one_of((None, (None,), ("go",), ("go",)))
    data, modes = one_of(DATA), one_of(("sync", "async", "default"))

    def call(action: str, *args: SearchStrategy[Any]) -> SearchStrategy[Call]:
        return st.builds(Call, just(action), tuples(*args))

    return st.one_of(
        call("call", who, one_of(("lights", "lights", "radio")), one_of(PLAIN)),
        call("call", who, key, bursts),
        call("call", who, key, bursts),
        call("subscribe", who, publisher, one_of(("lights", "radio", "own", "OWN", "LIGHTS")), good, limits),
        call(
            "subscribe",
            who,
            publisher,
            one_of(("lights", "radio", "own", "OWN", "LIGHTS")),
            parameters,
            limits,
        ),
        call("update", who, publisher, good, changes, routes),
        call("update", who, publisher, parameters, changes, routes),
        call("configure", who, key.filter(lambda each: each != "Lights"), parameters),
        call(
            "configure",
            who,
            one_of(("lights", "radio")),
            one_of(({"zone": "x"}, {"zone": "x", "floor": 2}, {"region": "x"})),
        ),
        call("set", publisher, who, good, limits),
        call("set", publisher, who, parameters, limits),
        call("get", publisher, who),
        call(
            "set",
            just("modellights"),
            just("modelhome"),
            just({}),
            one_of(({"calls_monthly": 5}, {"calls_daily": 1})),
        ),
        st.one_of(*(call("spend", just(a), just(b), just(c), numbers(1, 3), then) for a, b, c in SPENDING)),
        call("trigger", publisher, data, modes),
        call("trigger", publisher, data, just("sync")),
        call("trigger_one", publisher, who, data, st.booleans(), modes),
        call("listed", publisher, good, numbers(0, 2), numbers(1, 3)),
        call("listed", publisher, parameters, numbers(-1, 3), one_of((1, 20, 1000, 1001, 0))),
        call("remove", who, publisher),
        call("reload", one_of((*sorted(SUBSCRIBERS), *sorted(PUBLISHERS)))),
        call("advance", one_of(SECONDS)),
    )


RULES = (
    "IFC-LIFE-1 IFC-LIFE-3 IFC-LIFE-4 IFC-LIFE-8 IFC-LIFE-9 IFC-LIFE-11 IFC-CALL-4 IFC-CALL-6 IFC-CALL-9 IFC-CALL-11 "
    "IFC-CALL-13 IFC-QUO-2 IFC-QUO-3 IFC-QUO-5 IFC-SUB-7 IFC-SUB-8 IFC-SUB-9 IFC-SUB-10 IFC-SUB-11 IFC-SUB-12 "
    "IFC-SUB-14 IFC-SUB-15 IFC-TRIG-1 IFC-TRIG-2 IFC-TRIG-3 IFC-TRIG-7 IFC-TRIG-12 IFC-TRIG-14 IFC-TRIG-15"
)

subscriptions = model_check(
    "subscribers/model",
    "subscriptions, quotas and events of two publishers in any order, as a model has them",
    Model(tuple(RULES.split()), commands, Subscriptions, LONG_SEQUENCES),
    needs={"settings", "clock", "journal"},
)
