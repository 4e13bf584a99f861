"""listUsers: filters, order, pages, and invalid filters."""

from __future__ import annotations

from typing import Any

from sqlalchemy import insert

from labkit.services.user.accounts import add, user_table
from tests.services.user.environment import Environment

PEOPLE = ["joanna", "ann", "Ann-Lee", "bob", "b_b", "ÄNNE"]


async def crowd(env: Environment) -> None:
    """PEOPLE, created a second apart; the name of each is the first part of the address in capitals."""
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


async def test_odd_filters_match(env: Environment) -> None:
    await crowd(env)
    everybody = [1, 2, 3, 4, 5, 6]
    odd: list[tuple[object, list[int]]] = [
        ([], everybody),
        ({}, everybody),
        (None, everybody),
        ("name::eq::a::b", []),
        ("id::like::1", [1]),
        ("email::like::b_b@", [4, 5]),
        ("email::like::%lee@%", [3]),
        ("email::like::änne", [6]),
        ("name::like::änne", [6]),
        ("email::in::ann@example.com,BOB@example.com,x", [2, 4]),
        (["status::eq::1", "email::like::b"], [5]),
    ]
    for filter, found in odd:
        assert await ids(env, filter) == found, filter


async def test_a_page_has_1000_users_by_default(env: Environment) -> None:
    ann = await env.person("ann")
    row = {"solution": "acme", "folded_name": "", "password": "", **ann._asdict()}
    rows = [{**row, "id": id, "folded": str(id)} for id in range(2, 1002)]
    await env.database.run(lambda connection: connection.execute(insert(user_table), rows).rowcount)
    assert len(await env.call("listUsers")) == 1000
    assert len(await env.call("listUsers", limit=2000)) == 1001


async def test_an_invalid_filter_is_refused_by_name(env: Environment) -> None:
    bad: list[tuple[object, str]] = [
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
        (f"name::eq::{'x' * 10_000}", "at most 10000 characters"),
        ([f"id::eq::{'1' * 5000}"] * 5, "at most 20000 characters"),
        (f"name::like::{'x' * 1001}", "at most 1000 characters"),
    ]
    for filter, words in bad:
        error = await env.refused("listUsers", filter=filter)
        assert error["status"] == 400
        assert error["message"].startswith("Parameter filter")
        assert words in error["message"]


async def test_a_page_out_of_range_is_refused(env: Environment) -> None:
    pages: list[tuple[str, object]] = [
        *(("offset", -1), ("limit", 0), ("limit", "many"), ("limit", True), ("offset", 2**63))
    ]
    for name, value in pages:
        error = await env.refused("listUsers", {name: value})
        assert error["status"] == 400
        assert error["message"].startswith(f"Parameter {name} validation failed")
