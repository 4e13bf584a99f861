"""Accounts beyond the checks and the model of users."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.cases import cases
from tests.services.user.environment import Environment

ANN: dict[str, Any] = {"email": "ann@example.com", "name": "Ann", "password": "correct horse"}


@cases(
    ("change", "words"),
    [
        (
            {"email": "ann@"},
            "Parameter email validation failed: 'ann@' is not a mail address: There must be something after",
        ),
        ({"email": "ann"}, "Parameter email validation failed: 'ann' is not a mail address"),
        (
            {"email": "Ann <a@example.com>"},
            "Parameter email validation failed: expected an address alone",
        ),
        ({"email": "a@x.test\udc80"}, "Parameter email validation failed"),
        ({"name": ""}, "Parameter name validation failed: expected a name"),
        ({"name": " \t"}, "Parameter name validation failed: expected a name"),
        (
            {"name": "A\nB"},
            "Parameter name validation failed: expected a name without control characters",
        ),
        ({"name": "\udc80"}, "Parameter name validation failed: Input should be a valid string"),
        ({"name": "x" * 201}, "Parameter name validation failed"),
        ({"password": "12345"}, "Parameter password validation failed: expected at least 6 characters"),
        ({"password": "x" * 1025}, "Parameter password validation failed: expected at most 1024"),
        ({"password": "\udc80" * 8}, "Parameter password validation failed: expected valid Unicode"),
    ],
)
async def test_an_invalid_argument_is_refused_by_name(
    env: Environment, change: dict[str, Any], words: str
) -> None:
    error = await env.refused("createUser", {**ANN, **change})
    assert error["status"] == 400
    assert error["message"].startswith(words)
    assert not error["message"].endswith("..")
    assert json.loads(error["error"]) == {"statusCode": 400, "message": error["message"]}
    assert await env.call("listUsers") == []
    assert env.accounts == []


async def test_a_used_address_is_named_in_its_normal_form(env: Environment) -> None:
    await env.person("ann")
    error = await env.refused("createUser", {**ANN, "email": "ANN@Example.COM"})
    assert (error["status"], error["message"]) == (400, "Email ANN@example.com is already taken.")


async def test_one_of_two_concurrent_changes_of_the_password_succeeds(env: Environment) -> None:
    await env.person("ann", password="first one")
    results = await asyncio.gather(
        *(
            env.call("updateUser", id=1, password=password, original_password="first one")
            for password in ("second one", "third one")
        )
    )
    assert sorted(each.get("status", 0) for each in results) == [0, 400]


async def test_the_data_of_a_deleted_user_is_deleted(env: Environment) -> None:
    await env.person("ann")
    await env.call("createUserData", id=1, color="red")
    assert await env.call("deleteUser", id=1) is None
    assert not (await env.database.select("select * from user_data")).rows


async def test_no_secret_reaches_the_journal(env: Environment) -> None:
    code = await env.call("createUser", ANN)
    await env.call("activateUser", code=code)
    token = await env.call("getUserToken", email=ANN["email"], password=ANN["password"])
    await env.call("getCurrentUser", token=token)
    await env.refused("getUserToken", email=ANN["email"], password="wrong horse")
    await env.refused("getCurrentUser", token=f"{token}x")
    await env.refused("updateUser", id=1, password="wrong shoe", original_password="wrong bit")
    await env.call("resetUserPassword", id=1, password="second horse")
    await env.call("createUserData", id=1, api_key="k3y")
    await env.refused("createUserData", id=1, api_key="k4y")
    written = env.journal.canonical()
    assert "getCurrentUser" in written
    for secret in (code, token, "horse", "wrong shoe", "wrong bit", "k3y", "k4y"):
        assert secret not in written


async def test_no_secret_is_stored_in_plain_text(env: Environment) -> None:
    code = await env.call("createUser", ANN)
    rows = await env.kept("user")
    assert "ann@example.com" in rows
    assert code not in rows
    assert ANN["password"] not in rows
