"""Model check of bindings and notifications: three services of two solutions, and handsets that go off and on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.conformance.notifications import CHANNELS, FOUR_WEEKS
from labkit.conformance.notify.send.game import ADDRESSES, Notifications
from labkit.conformance.old_models import LONG_SEQUENCES, Model, model_check

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

IDENTITIES = ("ann", "ann", "Ann", "é漢😀", "a b&c=d%20+", "ann ")
MORE_IDENTITIES = ("100", "101", "")
TAGS = ("red", "red", "Red", "blue", "ä:b", "x" * 100, "all", "apn", "sms", "100%", "_", "a,b", " red")
FILTERS = (
    (),
    (),
    ("red",),
    ("Red",),
    ("red", "blue"),
    ("all",),
    ("apn",),
    ("sms", "red"),
    ("fcm", "sms"),
    ("a,b",),
)
MORE_TAGS = ("x" * 101, "")
# besides the game's own tag
FULL, TOO_MANY = (tuple(f"t{number}" for number in range(count)) for count in (19, 20))
HALF_A_DAY = 12 * 3600 * 1024
WRONG: tuple[tuple[str, dict[str, Any]], ...] = (
    ("NTF-SEND-13", {"Data": {"twi_x": 1}}),
    ("NTF-SEND-13", {"Data": {"twin": 1}}),
    ("NTF-SEND-15", {"Data": {"a": [{"twi": 1}]}}),
    ("NTF-SEND-14", {"Fcm": {"data": {"twi_body": "x"}}}),
    ("NTF-SEND-14", {"Gcm": {"twi_x": 1}}),
    ("NTF-SEND-16", {"Priority": "High"}),
    ("NTF-SEND-16", {"Priority": "normal"}),
    ("NTF-TTL-5", {"Ttl": 1.5}),
    ("NTF-SEND-11", {"Data": [1]}),
)


@dataclass(frozen=True)
class Call:
    """A command: a method of the game, the number of a service, and the other arguments."""

    action: str
    service: int
    arguments: tuple[Any, ...]

    async def __call__(self, game: Notifications) -> None:
        await getattr(game, self.action)(self.service, *self.arguments)


@dataclass(frozen=True)
class Switch:
    """A command: turn a handset on or off."""

    handset: int
    online: bool

    async def __call__(self, game: Notifications) -> None:
        await game.switch(self.handset, self.online)


@dataclass(frozen=True)
class Advance:
    """A command: advance the clock."""

    ticks: int  # 1/1024 s

    async def __call__(self, game: Notifications) -> None:
        await game.advance(self.ticks)


def commands() -> SearchStrategy[Any]:
    """Return the strategy for commands: calls of scripts, and switching of handsets."""
    from hypothesis import strategies as st

    one_of, tuples, just, numbers = st.sampled_from, st.tuples, st.just, st.integers
    identities, types = one_of(IDENTITIES), one_of(CHANNELS)
    handsets, services = numbers(0, ADDRESSES - 1), one_of([0, 0, 0, 1, 1, 2])
    some = st.lists(one_of(TAGS), max_size=3).map(tuple)
    tags = one_of((*FILTERS, *FILTERS, FULL, TOO_MANY))
    several = st.lists(one_of(IDENTITIES), max_size=2).map(tuple)
    many = one_of((19, 20, 21)).map(lambda count: ("ann", *(f"nobody {each}" for each in range(count - 1))))
    days = one_of((None, None, -1, 0, 1))

    def call(action: str, *args: SearchStrategy[Any]) -> SearchStrategy[Call]:
        return st.builds(Call, just(action), services, tuples(*args))

    create = call("create", identities, numbers(0, 9), types, handsets, some)
    send = call("send", several, tags, one_of((None, None, 0, 1, 90, FOUR_WEEKS)))
    return st.one_of(
        create,
        create,
        create,
        call(
            "create",
            one_of((*IDENTITIES, *MORE_IDENTITIES)),
            numbers(0, 9),
            one_of((*CHANNELS, "APN")),
            numbers(-1, 2),
            some,
        ),
        call(
            "create",
            identities,
            numbers(0, 9),
            types,
            handsets,
            one_of((FULL, TOO_MANY, *((each,) for each in MORE_TAGS))),
        ),
        call("create", identities, numbers(0, 9), one_of(("sms", "chat-messenger")), just(-1), just(())),
        send,
        send,
        send,
        call("send", several, one_of((FULL, TOO_MANY)), just(None)),
        call("send", st.one_of(several, many), tags, one_of((None, FOUR_WEEKS + 1, -1, 0))),
        call("refused", one_of(WRONG)),
        call("listed", several, tags, tuples(days, days), tuples(one_of((None, 1, 2, 7)), numbers(0, 2))),
        call("listed", several, tags, just((None, None)), tuples(one_of((None, 1, 2)), numbers(0, 2))),
        call("listed", several, tags, just((None, None)), just((None, 0))),
        call("get", services, numbers(0, 9)),
        call("delete", services, numbers(0, 9)),
        call("fill", identities, one_of((1, 1, 2, 18))).filter(lambda each: each.service < 2),
        st.builds(Switch, handsets, st.booleans()),
        call("away", handsets, one_of((0, 1, 2)), one_of((256, 512, 1024, 1792, 2048))),
        st.builds(Advance, one_of((256, 768, 1024, 89 * 1024 + 512, HALF_A_DAY))),
    )


RULES = (
    "NTF-BIND-1 NTF-BIND-3 NTF-BIND-5 NTF-BIND-6 NTF-BIND-7 NTF-BIND-8 NTF-BIND-9 NTF-BIND-12 NTF-BIND-13 "
    "NTF-BIND-14 NTF-BIND-15 NTF-BIND-17 NTF-BIND-18 NTF-BIND-20 NTF-LIST-2 NTF-LIST-3 NTF-LIST-4 NTF-LIST-6 "
    "NTF-LIST-8 NTF-SEND-1 NTF-SEND-3 NTF-SEND-4 NTF-SEND-5 NTF-SEND-11 NTF-SEND-13 NTF-SEND-14 NTF-SEND-15 "
    "NTF-SEND-16 NTF-SEND-17 NTF-TTL-1 NTF-TTL-3 NTF-TTL-4 NTF-TTL-5 NTF-CALL-7"
)

notifications = model_check(
    "send/model",
    "bindings, lists and sends of three services in any order, and what handsets got, as a model has them",
    Model(tuple(RULES.split()), commands, Notifications, LONG_SEQUENCES),
)
