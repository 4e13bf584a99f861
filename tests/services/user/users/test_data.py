"""Data that a solution stores with a user."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import cases
from tests.services.user.environment import Environment
from tests.sizes import size

KINDS: dict[str, Any] = {
    "text": "red",
    "empty": "",
    "number": 1.5,
    "whole": 2**53,
    "flag": False,
    "nothing": None,
    "list": [1, [], {}],
    "object": {"a": {"b": [None]}},
    "bytes": "\udcff",  # bytes of a script that are no UTF-8
}


@pytest.fixture(scope="module")
def shared() -> Iterator[Environment]:
    """For all examples of a test, each with its own user."""
    env = Environment()
    yield env
    env.close()


@pytest.fixture
async def ann(env: Environment) -> int:
    return (await env.person("ann")).id


async def test_values_are_returned_unchanged(env: Environment, ann: int) -> None:
    assert await env.call("listUserData", id=ann) == {}
    assert await env.call("createUserData", id=ann, **KINDS) == {}
    assert await env.call("listUserData", id=ann) == KINDS
    for key, value in KINDS.items():
        assert await env.call("getUserData", id=ann, key=key) == value


async def test_a_key_may_have_any_name(env: Environment, ann: int) -> None:
    given = dict.fromkeys(["self", "caller", "values", "two words", "key values", "from_", "é"], 1)
    await env.call("createUserData", {"id": ann, **given})
    assert await env.call("listUserData", id=ann) == given


async def test_keys_may_be_empty_or_repeated(env: Environment, ann: int) -> None:
    await env.call("createUserData", id=ann, color="red", size=1)
    assert await env.call("deleteUserData", id=ann, keys={}) is None  # an empty list of a script
    assert await env.call("listUserData", id=ann) == {"color": "red", "size": 1}
    assert await env.call("deleteUserData", id=ann, keys=["color", "color"]) is None
    assert await env.call("listUserData", id=ann) == {"size": 1}


async def test_an_invalid_argument_is_an_error_with_the_reason(env: Environment, ann: int) -> None:
    await env.call("createUserData", id=ann, color="red")
    for operation, parameters, message in (
        ("createUserData", {"id": ann, "color": 1}, f"User {ann} has data with the key 'color' already."),
        ("updateUserData", {"id": ann, "size": 1}, f"User {ann} has no data with the key 'size'."),
        ("getUserData", {"id": ann, "key": "size"}, f"User {ann} has no data with the key 'size'."),
        ("createUserData", {"id": 7, "size": 1}, "User 7 does not exist."),
        ("deleteUserData", {"id": 7, "keys": ["size"]}, "User 7 does not exist."),
    ):
        assert (await env.refused(operation, parameters))["message"] == message


@cases(
    "values",
    [
        {"": 1},
        {"x" * 201: 1},
        {"a\nb": 1},
        {"\udcff": 1},
        {"a": math.nan},
        {"a": object()},
        {"a": "x" * 262_143},
    ],
)
async def test_a_value_that_cannot_be_stored_is_refused(
    env: Environment, ann: int, values: dict[str, Any]
) -> None:
    assert (await env.refused("createUserData", {"id": ann, "fine": 1, **values}))["status"] == 400
    assert await env.call("listUserData", id=ann) == {}


async def test_a_value_may_have_262144_characters_of_json(env: Environment, ann: int) -> None:
    largest = "x" * 262_142  # and two quotes
    await env.call("createUserData", id=ann, largest=largest)
    assert await env.call("getUserData", id=ann, key="largest") == largest


async def test_a_user_has_at_most_1000_values(env: Environment, ann: int) -> None:
    await env.call("createUserData", {"id": ann, **{f"k{number}": number for number in range(999)}})
    error = await env.refused("createUserData", id=ann, a=1, b=2)
    assert (error["status"], error["message"]) == (
        400,
        f"User {ann} would have 1001 data keys, expected at most 1000.",
    )
    assert await env.call("createUserData", id=ann, a=1) == {}
    assert await env.call("updateUserData", id=ann, a=2) == {}
    bob = (await env.person("bob")).id
    assert await env.call("createUserData", id=bob, a=1) == {}


async def test_configured_parameters_of_the_service_are_no_user_data(env: Environment, ann: int) -> None:
    env.configuration["acme"] = {"User": {"time_to_live": 60, "values": 1}}
    await env.call("createUserData", id=ann, color="red")
    assert await env.call("listUserData", id=ann) == {"color": "red"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=size(15, 500))
@given(st.dictionaries(st.text("abc", min_size=1), JSON, max_size=4))
async def test_any_value_survives(shared: Environment, values: dict[str, Any]) -> None:
    ann = await shared.person("ann")
    await shared.call("createUserData", {"id": ann.id, **values})
    assert await shared.call("listUserData", id=ann.id) == values
    await shared.call("deleteUser", id=ann.id)
