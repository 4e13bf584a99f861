"""Model check of users: sign-up, activation, logins, lists, passwords and data, in two solutions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.conformance.old_models import LONG_SEQUENCES, Model, model_check
from labkit.conformance.user.users.game import EMAILS, FIRST, LONG, WRONG_EMAILS, Users

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

NAMES = (
    "Ann",
    "ann",
    "\u00c9va 100%",
    "\u00e9VA 100_",
    "a_b",
    "axb",
    "n" * 200,
    "\u0130\u00df \U0001f600",
    " Bob, Jr. ",
)
TOO_LONG = WRONG_EMAILS[-1]
WRONG_NAMES = ("", " ", "n" * 201, "a\nb", "a\x7fb", "a\x85b", "a\0b")
PASSWORDS = (
    "second password",
    FIRST.swapcase(),
    FIRST.strip(),
    "123456",
    "p" * 1024,
    "\u00e9" * 6,
    "e\u0301" * 3,
)
WRONG_PASSWORDS = ("", "12345", "\u00e9" * 5, "p" * 1025)
VALUES: tuple[object, ...] = (
    "x",
    "",
    5,
    2.5,
    True,
    [],
    [1, "a"],
    {"a": {"b": True}},
    "\u00e9\0\U0001f600",
    "5",
)
KEYS = ("k", "K", "k e\u0301y", "\u00e9", "%", "x" * 200)
LIKES = ("an", "AN", "%n", "a%", "a_b", "_n_", "100%", "100_", "%", "", "\u00e9va", "\u00df", "_", "%_B%")
EXAMPLES = (
    "~a",
    "~A@",
    "%@example.com",
    "~_@%",
    "B\u00dcCHER",
    "xn--bcher",
    "~\u00e9",
    "~e\u0301",
    "%z+1@%",
    "@0",
    "@2",
)


@dataclass(frozen=True)
class Call:
    """A command: a method of the game, the number of the solution, and the other arguments."""

    action: str
    solution: int
    arguments: tuple[Any, ...]

    async def __call__(self, game: Users) -> None:
        await getattr(game, self.action)(self.solution, *self.arguments)


@dataclass(frozen=True)
class Advance:
    """A command: advance the clock."""

    ticks: int  # 1/1024 s

    async def __call__(self, game: Users) -> None:
        await game.advance(self.ticks)


def commands() -> SearchStrategy[Any]:
    """Return the strategy for commands: calls of scripts."""
    from hypothesis import strategies as st

    one_of, tuples, just = st.sampled_from, st.tuples, st.just
    users = one_of([0, 0, 0, 1, 1, 2, 3])
    emails, names, passwords = one_of(EMAILS), one_of(NAMES), one_of(PASSWORDS)
    values = st.dictionaries(one_of(("k", "k", *KEYS)), one_of(VALUES), min_size=1, max_size=3)
    changes = st.one_of(
        st.fixed_dictionaries({}, optional={"name": names, "status": one_of((0, 1, 1, 2, -1))}),
        st.fixed_dictionaries({"status": one_of((0, 1))}),
        st.fixed_dictionaries({"password": one_of((*PASSWORDS, *WRONG_PASSWORDS))}, optional={"name": names}),
        st.fixed_dictionaries({"name": one_of((*NAMES, *WRONG_NAMES))}, optional={"password": passwords}),
    )
    at = one_of(("@0", "@0", "@1", "@2"))
    numbers = one_of(("eq", "ne", "gt", "ge", "lt", "le", "in"))
    filters = st.one_of(
        tuples(just("name"), just("like"), one_of((*LIKES, "@0", "@1"))),
        tuples(just("email"), just("like"), one_of(EXAMPLES)),
        tuples(
            just("email"), one_of(("eq", "ne", "in")), one_of((*EMAILS, "@0", f"{EMAILS[0]}, {EMAILS[3]}"))
        ),
        tuples(just("email"), one_of(("gt", "le")), one_of(EMAILS)),
        tuples(just("name"), one_of(("eq", "ne", "gt", "le", "in")), one_of((*NAMES[:6], "Ann, a_b", "@0"))),
        tuples(just("id"), numbers, at),
        tuples(just("status"), one_of(("eq", "ne", "in", "like")), one_of(("0", "1", "0,1", "2"))),
        tuples(just("creation_date"), numbers, at),
        tuples(
            one_of(("id", "password", "Name", "code", "status")), one_of(("eq", "has", "LIKE")), just("x")
        ),
    )
    named = st.one_of(
        tuples(just("name"), just("like"), one_of(LIKES)),
        tuples(just("name"), just("in"), one_of(("Ann, Anna", "Anna,ann", "a_b , xa_bx"))),
        tuples(just("email"), just("in"), one_of(("@0", f"{EMAILS[0]}, {EMAILS[3]}"))),
    )
    some = st.lists(filters, min_size=1, max_size=2).map(tuple)

    def call(action: str, *args: SearchStrategy[Any]) -> SearchStrategy[Call]:
        return st.builds(Call, st.just(action), one_of([0, 0, 1]), tuples(*args))

    listing = call("list", some, one_of((0, 0, 0, 1, 2, -1)), one_of((1000, 1000, 1, 2, 0)))
    logins = one_of("current current current old old case cut other".split())
    lasting = one_of((LONG, LONG, 1, 2, 3, 0))
    data = one_of(
        (
            "createUserData",
            "createUserData",
            "updateUserData",
            "getUserData",
            "listUserData",
            "deleteUserData",
        )
    )
    changed = one_of(("other solution", "cut", "padded", "case"))
    return st.one_of(
        call("sign_up", emails, names, passwords),
        call("sign_up", one_of((*EMAILS, *WRONG_EMAILS)), one_of((*NAMES, *WRONG_NAMES)), passwords),
        call(
            "sign_up",
            one_of((*EMAILS, TOO_LONG, TOO_LONG)),
            just("Ann"),
            one_of((*PASSWORDS[:2], *WRONG_PASSWORDS)),
        ),
        call("activate", users, one_of(("own", "own", "own", "case", "cut", "other solution"))),
        call("activate", users, just("own")),
        call("login", users, st.integers(0, 3), logins, lasting),
        call("login", users, st.integers(0, 3), logins, lasting),
        call("current", st.integers(0, 5), just("as it is")),
        call("current", st.integers(0, 5), just("as it is")),
        call("current", st.integers(0, 5), changed),
        call("get", users, st.booleans()),
        call("update", users, changes, one_of("current current wrong none".split())),
        call("update", users, changes, just("current")),
        call(
            "update",
            users,
            st.fixed_dictionaries({"password": passwords}),
            one_of(("wrong", "none", "current")),
        ),
        call("reset", users, one_of((*PASSWORDS, *WRONG_PASSWORDS))),
        call("delete", users),
        listing,
        listing,
        call("list", tuples(named), just(0), one_of((1000, 1000, 1))),
        call("replace_newest"),
        call("change_data", users, data, values),
        call("change_data", users, data, values),
        st.builds(Advance, one_of((1024, 1024, 512, 128, 896, 2048))),
    )


RULES = (
    "USR-USER-1 USR-USER-3 USR-USER-4 USR-USER-6 USR-USER-7 USR-USER-8 USR-USER-9 USR-USER-10 USR-USER-11 "
    "USR-USER-12 USR-USER-13 USR-USER-14 USR-USER-15 USR-USER-16 USR-USER-17 USR-USER-18 USR-USER-21 USR-USER-22 "
    "USR-TOKEN-1 USR-TOKEN-2 USR-TOKEN-3 USR-TOKEN-4 USR-TOKEN-6 USR-TOKEN-7 USR-TOKEN-8 USR-TOKEN-10 USR-TOKEN-14 "
    "USR-TOKEN-11 USR-DATA-1 USR-DATA-2 USR-DATA-3 USR-DATA-4 USR-DATA-5 USR-DATA-6 USR-DATA-7 USR-DATA-8 "
    "USR-DATA-9 USR-CALL-9 USR-CALL-12"
)

users = model_check(
    "users/model",
    "users of two solutions who sign up, log in, change and go in any order, as a model has them",
    Model(tuple(RULES.split()), commands, Users, LONG_SEQUENCES),
)
