"""Model check of routes, requests and responses: random paths, queries, bodies and results of scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.conformance.old_models import Model, model_check
from labkit.conformance.solutions.routes.game import Requests

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

SEGMENTS = (
    "fixed",
    "fixed",
    "leaf",
    "leaf",
    "x",
    "Fixed",
    "caf%C3%A9",
    "cafe",
    "%66ixed",
    "a%2Fb",
    "a%20b",
    "+",
    "%25",
    "%2566ixed",
    "%252F",
    "a+b",
    "%2B",
    "e%CC%81",
    "{a}",
    "",
)
ENDS = ("", "", "", "/", "//")
QUERIES = (
    "",
    "",
    "",
    "a=1",
    "a=1&b=2",
    "q=x&q=y&q=z",
    "q=",
    "q",
    "A=1&a=2",
    "q=a+b%20c%26",
    "q=%2541%252B&%2571=a",
    "%C3%A9=%F0%9F%98%80",
    "b=1&c=2",
)
METHODS = ("GET", "GET", "POST", "PUT", "PATCH", "DELETE")
TYPES = (
    *(
        None,
        None,
        "application/json",
        "Application/JSON; charset=utf-8",
        "application/problem+json",
        "text/plain",
    ),
    *("application/x-www-form-urlencoded", "application/x-www-form-urlencoded; charset=utf-8"),
)
BODIES = (
    "",
    "a=1&b=2&a=3",
    "x",
    "é=😀",
    '"text"',
    "5",
    "{",
    "a=%20+%26",
    "a=%2541%252B&%2561=b",
    '{"a": [1, {"b": []}], "é": "😀"}',
    '\ufeff{"a": 1}',
    "[]",
    "[1, 2]",
    "null",
    " [1,",
    ' \n{"a": 1} ',
)
HEADERS = (
    ("X-One", "1"),
    ("x-TWO", "a, b"),
    ("X-Three", 'x;y="z"'),
    ("Cookie", "sid=1; b=2"),
    ("Accept", "*/*"),
)
SET_HEADERS = (
    *HEADERS[:3],
    ("Content-Type", "text/html"),
    ("Set-Cookie", "sid=x; Path=/"),
    ("Location", "/a%20b"),
)
VALUES: tuple[Any, ...] = (
    None,
    None,
    None,
    "text é😀",
    "",
    {"a": 1},
    [1, "b"],
    {"a": {"b": [True]}},
    5,
    2.5,
    False,
)
CODES = (200, 200, 200, 201, 204, 299, 304, 404, 418, 500, 599, 199, 600, 0, 1000)


@dataclass(frozen=True)
class Ask:
    """A command: a method of the game, the number of the solution, and the other arguments."""

    action: str
    solution: int
    arguments: tuple[Any, ...]

    async def __call__(self, game: Requests) -> None:
        await getattr(game, self.action)(self.solution, *self.arguments)


def commands() -> SearchStrategy[Any]:
    """Return the strategy for commands: requests."""
    from hypothesis import strategies as st

    one_of, tuples = st.sampled_from, st.tuples
    solutions, queries = one_of((0, 0, 0, 1, 1, 2)), one_of(QUERIES)
    paths = st.lists(one_of(SEGMENTS), max_size=4).map(tuple)
    fields = st.fixed_dictionaries(
        {}, optional={"code": one_of(CODES), "message": one_of(VALUES[3:]), "body": one_of(VALUES[3:])}
    )
    given = st.lists(one_of(HEADERS), max_size=2, unique_by=lambda each: each[0].lower()).map(tuple)
    sent = st.lists(one_of(SET_HEADERS), max_size=2, unique_by=lambda each: each[0].lower()).map(tuple)

    def ask(action: str, *args: SearchStrategy[Any]) -> SearchStrategy[Ask]:
        return st.builds(Ask, st.just(action), solutions, tuples(*args))

    return st.one_of(
        ask("route", one_of(METHODS), paths, one_of(ENDS), queries),
        ask("route", one_of(METHODS), paths, one_of(ENDS), queries),
        ask(
            "route",
            one_of(METHODS),
            st.lists(one_of(SEGMENTS[:5]), max_size=3).map(tuple),
            one_of(ENDS),
            st.just(""),
        ),
        ask("body", one_of(("json", "form", "text")), one_of(TYPES), one_of(BODIES)),
        ask("headers", given, queries),
        ask("respond", fields, sent, one_of(VALUES)),
        ask("respond", fields, sent, st.none()),
    )


RULES = (
    "SOL-ROUTE-2 SOL-ROUTE-3 SOL-ROUTE-4 SOL-REQ-1 SOL-REQ-2 SOL-REQ-3 SOL-REQ-4 SOL-REQ-5 SOL-RESP-1 "
    "SOL-RESP-2 SOL-RESP-3 SOL-RESP-4 SOL-RESP-5 SOL-RESP-6 SOL-RESP-8"
)

routes = model_check(
    "routes/model",
    "requests to overlapping routes, and the answers of scripts, as a model has them",
    Model(tuple(RULES.split()), commands, Requests),
)
