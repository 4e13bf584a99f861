"""Selection of bindings by sends and lists, compared with a small model; and its cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from labkit.providers.messaging import bindings
from labkit.providers.messaging.bindings import IMPLICIT, PER_IDENTITY, TYPES, Binding, Selection
from labkit.providers.messaging.errors import ApiError
from labkit.storage.database import Database, driver
from labkit.storage.schema import metadata
from tests.sizes import size

T = TypeVar("T")

SERVICES = ("IS-one", "IS-two")
MANY = 1000  # bindings: a search that visited each would cost many times as much as for 40
NAMES = (
    "a",
    "A",
    "é",
    "e\u0301",
    "%",
    "_",
    "a' OR '1'='1",
    "a\0",
    "\0",
    " ",
    "🎈",
    "a,b",
    "ß",
    "SS",
    "𐏿\uffff",
)
TAGS = (*NAMES[:5], "apn", "sms", *sorted(IMPLICIT))


def binding(number: int, service: str = "IS-one", **fields: Any) -> Binding:
    given: dict[str, Any] = {
        "sid": f"BS{number}",
        "account": "AC",
        "service": service,
        "identity": f"i{number}",
        "endpoint": f"e{number}",
        "type": "fcm",
        "address": f"t{number}",
        "credential": None,
        "protocol": None,
        "tags": (),
        "created": 0,
    }
    return Binding(**{**given, **fields})


class Model:
    """Reference model of the bindings, written plainly from the documents."""

    def __init__(self) -> None:
        self.there: list[Binding] = []

    def create(self, made: Binding) -> bool:
        mine = [
            each for each in self.there if each.service == made.service and each.endpoint != made.endpoint
        ]
        if sum(each.identity == made.identity for each in mine) >= PER_IDENTITY:
            return False
        others = [each for each in self.there if each.service != made.service]
        kept = {each.sid for each in (*mine, *others)}
        self.there = [each for each in self.there if each.sid in kept] + [made]
        return True

    def select(self, service: str, wanted: Selection) -> list[str]:
        return [each.sid for each in self.there if each.service == service and self._matches(each, wanted)]

    @staticmethod
    def _matches(each: Binding, wanted: Selection) -> bool:
        tags = {"all", each.type} | {tag for tag in each.tags if tag not in IMPLICIT}
        return (
            (not wanted.identities or each.identity in wanted.identities)
            and all(tag in tags for tag in wanted.tags)
            and (wanted.since is None or each.created >= wanted.since)
            and (wanted.before is None or each.created < wanted.before)
        )


@dataclass
class Create:
    fields: dict[str, Any]


@dataclass
class Delete:
    which: int
    service: str


@dataclass
class Walk:
    """Pages of a list, one after the other, with other steps in between."""

    service: str
    wanted: Selection
    size: int


services = st.sampled_from(SERVICES)
tags = st.lists(st.sampled_from(TAGS), max_size=4, unique=True).map(tuple)
selections = st.builds(
    Selection,
    st.lists(st.sampled_from(NAMES), max_size=3, unique=True).map(tuple),
    tags,
    st.none() | st.integers(0, 5),
    st.none() | st.integers(0, 6),
)
creations = st.fixed_dictionaries(
    {
        "service": services,
        "identity": st.sampled_from(NAMES[:4]) | st.just("a"),
        "endpoint": st.sampled_from(NAMES) | st.integers().map(str),
        "type": st.sampled_from(TYPES),
        "tags": tags,
        "created": st.integers(0, 5),
    }
).map(Create)
steps = st.lists(
    creations
    | st.builds(Delete, st.integers(0, 40), services)
    | st.builds(Walk, services, selections, st.integers(1, 4)),
    max_size=50,
)


@settings(max_examples=size(20, 400))
@given(steps, st.lists(st.tuples(services, selections), min_size=3, max_size=8))
def test_exactly_the_matching_bindings_are_found(
    taken: list[Create | Delete | Walk], walked: list[tuple[str, Selection]]
) -> None:
    asyncio.run(play(taken, walked))


async def play(taken: list[Create | Delete | Walk], walked: list[tuple[str, Selection]]) -> None:
    database, model = Database(), Model()
    database.start(metadata)
    walks: list[
        tuple[Walk, list[str], set[str], int | None]
    ] = []  # started walks: bindings found so far, bindings that must be found
    try:
        for number, step in enumerate(taken):
            if isinstance(step, Create):
                made = binding(number, **step.fields)
                try:
                    await database.run(bindings.create, made)
                    assert model.create(made)
                except ApiError:
                    assert not model.create(made)
            elif isinstance(step, Delete):
                sid = model.there[step.which % len(model.there)].sid if model.there else "BS"
                there = any(each.sid == sid and each.service == step.service for each in model.there)
                assert await database.run(bindings.delete, step.service, sid) == there
                model.there = [
                    each for each in model.there if each.sid != sid or each.service != step.service
                ]
            else:
                walks.append((step, [], set(model.select(step.service, step.wanted)), None))
            walks = [await on(database, model, *walk) for walk in walks]
            singles = [(service, Selection(tags=(tag,))) for service in SERVICES for tag in sorted(IMPLICIT)]
            for service, wanted in (*walked, *singles):
                found = await database.read(bindings.select, service, wanted)
                assert [each.sid for each in found] == model.select(service, wanted)
        counts = (
            "SELECT count(*) FROM messaging_tag_count WHERE bindings <> (SELECT count(*) FROM messaging_tag t"
        )
        counts += " WHERE t.service = messaging_tag_count.service AND t.tag = messaging_tag_count.tag)"
        assert (await database.select(counts)).rows == ((0,),)
    finally:
        database.close()


async def on(
    database: Database, model: Model, walk: Walk, found: list[str], must: set[str], older: int | None
) -> tuple[Walk, list[str], set[str], int | None]:
    """Read the next page of a walk: newest first, no repetition, no binding created after its begin."""
    page, more = await database.read(bindings.page, walk.service, walk.wanted, walk.size, older=older)
    found += [each.sid for each in page]
    assert len(found) == len(set(found))
    assert set(found) <= must
    must = {each for each in must if each in found or each in {still.sid for still in model.there}}
    assert more == bool(must - set(found))
    if page and older is not None:
        back, _ = await database.read(
            bindings.page, walk.service, walk.wanted, walk.size, newer=page[-1].position
        )
        assert [each.position for each in back] == sorted((each.position for each in back), reverse=True)
        assert all(each.position > page[-1].position for each in back)
    return walk, found, must, page[-1].position if page else 0


async def work(database: Database, function: Callable[[Connection], T]) -> tuple[T, int]:
    """Return the result of a function, and the number of steps of SQLite's machine that it took."""
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += 1
        return 0

    def counted(connection: Connection) -> T:
        driver(connection).set_progress_handler(count, 1)
        try:
            return function(connection)
        finally:
            driver(connection).set_progress_handler(None, 0)

    return await database.run(counted), taken


async def filled(count: int) -> Database:
    """Fill a database: 10 have the tag `rare`, half of all `half`, all `every`; in another service all are rare."""
    database = Database()
    database.start(metadata)

    def fill(connection: Connection) -> None:
        for number in range(count):
            named = ("every", *(["half"] if number % 2 else []), *(["rare"] if number < 10 else []))
            bindings.create(connection, binding(number, tags=named))
            bindings.create(connection, binding(-1 - number, "IS-two", tags=("rare",)))

    await database.run(fill)
    return database


@pytest.fixture(scope="module")
def databases() -> Iterator[dict[int, Database]]:
    """Databases with few bindings and with many, by their number, for tests that only read."""
    made = {count: asyncio.run(filled(count)) for count in (40, 150, MANY)}
    yield made
    for each in made.values():
        each.close()


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        (Selection(tags=("rare",)), 10),
        (Selection(tags=("every", "half", "rare", "all", "fcm")), 5),
        (Selection(tags=("every", "nobody")), 0),
        (Selection(tags=("every", "sms")), 0),
        (Selection(tags=("fcm", "sms")), 0),
        (Selection(identities=("i1", "i2", "nobody")), 2),
        (Selection(identities=("i1",), tags=("every", "half")), 1),
    ],
)
async def test_the_cost_of_finding_depends_on_the_number_of_matches(
    databases: dict[int, Database], wanted: Selection, matches: int
) -> None:
    costs = []
    for database in (databases[40], databases[MANY]):
        found, cost = await work(database, lambda at: bindings.select(at, "IS-one", wanted))
        assert len(found) == matches
        costs.append(cost)
    assert costs[1] <= 1.2 * costs[0] + 20, costs
    assert costs[1] < 4 * MANY


@pytest.mark.parametrize(
    "wanted", [Selection(), Selection(tags=("every",)), Selection(tags=("half", "every"))]
)
async def test_the_cost_of_a_page_depends_on_its_size(
    databases: dict[int, Database], wanted: Selection
) -> None:
    costs = []
    for database in (databases[150], databases[MANY]):
        (found, more), cost = await work(
            database, lambda at: bindings.page(at, "IS-one", wanted, 50, older=140)
        )
        assert (len(found) == 50 or not more, cost > 0) == (True, True)
        costs.append(cost)
    assert costs[1] <= 1.2 * costs[0] + 20, costs


async def test_the_cost_of_a_binding_does_not_depend_on_the_number_of_others() -> None:
    few, many = await filled(40), await filled(MANY)
    try:
        for step in (
            lambda at: bindings.create(at, binding(10**6, tags=("every", "rare", "new"))),
            lambda at: bindings.create(at, binding(10**6 + 1, endpoint=f"e{10**6}", identity="i7")),
            lambda at: bindings.fetch(at, "IS-one", "BS3"),
            lambda at: bindings.delete(at, "IS-one", "BS3"),
        ):
            costs = [(await work(database, step))[1] for database in (few, many)]
            assert costs[1] <= 1.2 * costs[0] + 20, costs
    finally:
        few.close()
        many.close()
