"""listUsers: filters, order, pages, and what is no filter."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import insert

from labkit.services.user.accounts import add, user_table
from tests.services.user.environment import Environment
from tests.sizes import size

PEOPLE = ["joanna", "ann", "Ann-Lee", "bob", "b_b", "ÄNNE"]


async def crowd(env: Environment) -> None:
    """PEOPLE, a second apart; the name of each is the first part of the address in capitals."""
    for name in PEOPLE:
        await env.database.run(
            add, "acme", f"{name}@example.com", name.upper(), created=env.clock.seconds(), password=""
        )
        await env.clock.advance(1)
    await env.call("updateUser", id=4, status=0)
    await env.person("ann", solution="other")


async def ids(env: Environment, filter: object, **page: Any) -> list[int]:
    result = await env.call("listUsers", filter=filter, **page)
    assert isinstance(result, list), result
    return [each["id"] for each in result]


START = 1_767_225_600


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        ("email::like::ann@example.com", [2]),
        ("email::like::ann", [1, 2, 3]),
        ("email::like::ANN@EXAMPLE.COM", [2]),
        ("email::like::nobody", []),
        ("email::like::ann%", [2, 3]),
        ("email::like::%lee@%", [3]),
        ("email::like::b_b@", [4, 5]),
        ("email::like::änne", [6]),
        ("name::like::änne", [6]),
        ("name::like::ann", [2, 1, 3]),
        ("id::like::1", [1]),
        ("email::eq::ANN@example.com", [2]),
        ("email::ne::ann@example.com", [1, 3, 4, 5, 6]),
        ("name::eq::ANN", [2]),
        ("name::eq::ann", []),
        ("name::in::BOB, ANN", [2, 4]),
        ("email::in::ann@example.com,BOB@example.com,x", [2, 4]),
        ("id::eq::3", [3]),
        ("id::ne::3", [1, 2, 4, 5, 6]),
        ("id::gt::4", [5, 6]),
        ("id::ge::4", [4, 5, 6]),
        ("id::lt::3", [1, 2]),
        ("id::le::3", [1, 2, 3]),
        ("id::in::6,2,99", [2, 6]),
        ("status::eq::0", [4]),
        (f"creation_date::ge::{START + 4}", [5, 6]),
        (["status::eq::1", "email::like::b"], [5]),
        (["id::gt::1", "id::lt::3"], [2]),
        ([], [1, 2, 3, 4, 5, 6]),
        ({}, [1, 2, 3, 4, 5, 6]),
        (None, [1, 2, 3, 4, 5, 6]),
        ("name::eq::a::b", []),
    ],
)
async def test_a_filter_finds(env: Environment, filter: object, found: list[int]) -> None:
    await crowd(env)
    assert await ids(env, filter) == found


async def test_without_arguments_all_users_of_the_solution_are_listed(env: Environment) -> None:
    assert await env.call("listUsers") == []
    ann = await env.person("ann")
    await env.person("bob", solution="other")
    assert await env.call("listUsers") == [ann.shown()]


async def test_who_fits_exactly_comes_first(env: Environment) -> None:
    for name in ("maryann", "ann", "x-ann", "lou"):
        await env.person(name)
    await env.database.run(add, "acme", "x@ann.test", "ANN", created=0, password="")
    assert await ids(env, "name::like::ann") == [2, 5, 1, 3]
    assert await ids(env, "name::like::ann", limit=1) == [2]


async def test_pages(env: Environment) -> None:
    await crowd(env)
    assert await ids(env, [], limit=2) == [1, 2]
    assert await ids(env, [], offset=4, limit=5) == [5, 6]
    assert await ids(env, [], offset=6) == []


async def test_a_page_has_1000_users_unless_asked(env: Environment) -> None:
    ann = await env.person("ann")
    row = {"solution": "acme", "folded_name": "", "password": "", **ann._asdict()}
    rows = [{**row, "id": id, "folded": str(id)} for id in range(2, 1002)]
    await env.database.run(lambda connection: connection.execute(insert(user_table), rows).rowcount)
    assert len(await env.call("listUsers")) == 1000
    assert len(await env.call("listUsers", limit=2000)) == 1001


@pytest.mark.parametrize(
    ("filter", "words"),
    [
        ("", "expected field::operator::value, not ''"),
        ("email::like", "expected field::operator::value, not 'email::like'"),
        ("mail::like::x", "'mail' is no field of a user, expected one of: id, email, name, status"),
        ("password::like::x", "'password' is no field"),
        ("email::is::x", "'is' is no operator, expected one of: like, eq, ne"),
        ("id::eq::x", "id is a whole number, not 'x'"),
        ("id::in::1,,2", "id is a whole number, not ''"),
        ("creation_date::gt::1.5", "creation_date is a whole number, not '1.5'"),
        (f"id::eq::{2**63}", "id is at most"),
        (["id::eq::1", "x"], "expected field::operator::value, not 'x'"),
        ("name::eq::\udc80", "unicode string"),
        (7, "Input should be"),
        pytest.param(f"name::eq::{'x' * 10_000}", "at most 10000 characters", id="long"),
        pytest.param([f"id::eq::{'1' * 5000}"] * 5, "at most 20000 characters", id="long in all"),
        pytest.param(f"name::like::{'x' * 1001}", "at most 1000 characters", id="a long like"),
    ],
)
async def test_a_bad_filter_is_refused_and_named(env: Environment, filter: object, words: str) -> None:
    error = await env.refused("listUsers", filter=filter)
    assert error["status"] == 400
    assert error["message"].startswith("Parameter filter")
    assert words in error["message"]


@pytest.mark.parametrize(
    "page", [{"offset": -1}, {"limit": 0}, {"limit": "many"}, {"limit": True}, {"offset": 2**63}]
)
async def test_a_page_out_of_range_is_refused(env: Environment, page: dict[str, Any]) -> None:
    error = await env.refused("listUsers", page)
    assert error["status"] == 400
    assert error["message"].startswith(f"Parameter {next(iter(page))} validation failed")


@settings(max_examples=size(15, 500))
@given(st.lists(st.text("abAB", min_size=1, max_size=4), min_size=1, max_size=5), st.text("abAB", max_size=3))
async def test_like_is_a_search_without_letter_case(names: list[str], sought: str) -> None:
    env = Environment()
    try:
        for number, name in enumerate(names):
            await env.database.run(add, "acme", f"{number}@example.com", name, created=0, password="")
        hits = [
            (name.lower() != sought.lower(), number)
            for number, name in enumerate(names, 1)
            if sought.lower() in name.lower()
        ]
        assert await ids(env, f"name::like::{sought}") == [number for _, number in sorted(hits)]
    finally:
        env.close()
