"""Data that a solution stores with a user: what no request carries, the longest value, and settings."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.cases import cases
from tests.services.user.environment import Environment


@pytest.fixture
async def ann(env: Environment) -> int:
    return (await env.person("ann")).id


async def test_bytes_of_a_script_are_kept(env: Environment, ann: int) -> None:
    given: dict[str, Any] = {"bytes": "\udcff", "nothing": None, "list": [1, [], {}]}
    await env.call("createUserData", id=ann, **given)
    assert await env.call("listUserData", id=ann) == given


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


async def test_configured_parameters_of_the_service_are_no_user_data(env: Environment, ann: int) -> None:
    env.configuration["acme"] = {"User": {"time_to_live": 60, "values": 1}}
    await env.call("createUserData", id=ann, color="red")
    assert await env.call("listUserData", id=ann) == {"color": "red"}
