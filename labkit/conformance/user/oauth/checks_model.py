"""Model check of OAuth codes and token sets: two users and two clients, in random order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.conformance.old_models import LONG_SEQUENCES, Model, model_check
from labkit.conformance.user.oauth.game import OAuth

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

HOW = (
    "right",
    "right",
    "right",
    "no secret",
    "wrong secret",
    "no redirect",
    "other client",
    "other solution",
)
SECOND = 1024  # ticks
TICKS = (SECOND, 599 * SECOND, SECOND // 2, 600 * SECOND, 9 * SECOND)


@dataclass(frozen=True)
class Call:
    """A command: a method of the game and its arguments."""

    action: str
    arguments: tuple[Any, ...] = ()

    async def __call__(self, game: OAuth) -> None:
        await getattr(game, self.action)(*self.arguments)


def commands() -> SearchStrategy[Any]:
    """Return the strategy for commands: operations of users and clients."""
    from hypothesis import strategies as st

    one_of = st.sampled_from
    two, newest, how = one_of([0, 0, 1]), one_of([0, 0, 0, 1, 2]), one_of(HOW)
    ttls = st.tuples(one_of([None, None, 10, 601]), one_of([None, None, 10, 601]))

    def call(action: str, *args: SearchStrategy[Any]) -> SearchStrategy[Call]:
        return st.builds(Call, st.just(action), st.tuples(*args))

    return st.one_of(
        call("approve", two, two),
        call("approve", two, two),
        call("redeem", newest, st.just("right"), ttls),
        call("use", newest),
        call("redeem", newest, how, ttls),
        call("refresh", newest, how, ttls),
        call("refresh", newest, st.just("right"), ttls),
        call("use", one_of([0, 1, 2, 3])),
        call("advance", one_of(TICKS)),
        call("refresh_twice", newest),
        call("delete_client"),
        call("change_password", two),
        call("set_status", two, one_of([0, 1, 1])),
    )


RULES = (
    "USR-OAUTH-1 USR-OAUTH-6 USR-OAUTH-7 USR-OAUTH-12 USR-OAUTH-20 USR-OAUTH-21 USR-OAUTH-24 USR-OAUTH-26 USR-OAUTH-29 "
    "USR-OAUTH-31 USR-OAUTH-32 USR-OAUTH-33 USR-OAUTH-34 USR-OAUTH-35 USR-OAUTH-36 USR-OAUTH-37 USR-OAUTH-38 "
    "USR-TOKEN-8"
)

oauth = model_check(
    "oauth/model",
    "codes and token sets of two users and two clients that are exchanged in any order, as a model has them",
    Model(tuple(RULES.split()), commands, OAuth, LONG_SEQUENCES),
)
