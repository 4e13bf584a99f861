"""Accounts beyond the checks and the model of users."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from labkit.services.user import user_tokens
from tests.cases import cases
from tests.services.user.environment import Environment

ANN: dict[str, Any] = {"email": "ann@example.com", "name": "Ann", "password": "correct horse"}


async def fields_of(env: Environment, id: int) -> dict[str, Any]:
    found: dict[str, Any] = await env.call("getUser", id=id)
    return found


class TestCreateUser:
    async def test_ids_count_from_1_in_each_solution_and_are_never_reused(self, env: Environment) -> None:
        first, second = await env.person("ann"), await env.person("bob")
        await env.call("deleteUser", id=second.id)
        third, elsewhere = await env.person("bob"), await env.person("ann", solution="other")
        assert [each.id for each in (first, second, third, elsewhere)] == [1, 2, 3, 1]

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
        self, env: Environment, change: dict[str, Any], words: str
    ) -> None:
        error = await env.refused("createUser", {**ANN, **change})
        assert error["status"] == 400
        assert error["message"].startswith(words)
        assert not error["message"].endswith("..")
        assert json.loads(error["error"]) == {"statusCode": 400, "message": error["message"]}
        assert await env.call("listUsers") == []
        assert env.accounts == []

    async def test_a_used_address_is_named_in_its_normal_form(self, env: Environment) -> None:
        await env.person("ann")
        error = await env.refused("createUser", {**ANN, "email": "ANN@Example.COM"})
        assert (error["status"], error["message"]) == (400, "Email ANN@example.com is already taken.")

    async def test_a_password_of_1024_characters_is_accepted(self, env: Environment) -> None:
        assert isinstance(await env.call("createUser", {**ANN, "password": "x" * 1024}), str)

    async def test_one_of_two_concurrent_sign_ups_with_one_address_succeeds(self, env: Environment) -> None:
        results = await asyncio.gather(
            env.call("createUser", ANN),
            env.call("createUser", {**ANN, "email": "ANN@example.com"}),
        )
        [code], [error] = (
            [each for each in results if isinstance(each, str)],
            [each for each in results if isinstance(each, dict)],
        )
        assert error["status"] == 400
        assert await env.call("activateUser", code=code) == "OK"
        assert len(await env.call("listUsers")) == 1


class TestActivateUser:
    async def test_a_code_works_once(self, env: Environment) -> None:
        code = await env.call("createUser", ANN)
        await env.clock.advance(days=10_000)  # it does not expire
        assert await env.call("activateUser", code=code) == "OK"
        assert (await fields_of(env, 1))["status"] == 1
        error = await env.refused("activateUser", code=code)
        assert (error["status"], error["message"]) == (
            400,
            "Activation code is not valid: it is unknown or was used.",
        )

    async def test_one_of_two_concurrent_activations_succeeds(self, env: Environment) -> None:
        code = await env.call("createUser", ANN)
        results = await asyncio.gather(*(env.call("activateUser", code=code) for _ in range(2)))
        assert sorted(isinstance(each, str) for each in results) == [False, True]

    async def test_a_code_cannot_undo_a_deactivation(self, env: Environment) -> None:
        code = await env.call("createUser", ANN)
        await env.call("updateUser", id=1, status=1)
        await env.call("updateUser", id=1, status=0)
        assert (await env.refused("activateUser", code=code))["status"] == 400
        assert (await fields_of(env, 1))["status"] == 0


class TestGetUser:
    async def test_an_id_may_be_a_whole_float(self, env: Environment) -> None:
        await env.person("ann")
        assert (await env.call("getUser", id=1.0))["email"] == "ann@example.com"

    async def test_all_digits_of_an_id_count(self, env: Environment) -> None:
        people = [await env.person(f"person{each}") for each in range(10)]
        for zeros in (0, 18, 19, 5000):
            assert await env.call("getUser", id=f"{'0' * zeros}10") == people[-1].shown()
        for digits in ("1" + "0" * 19, "1" + "0" * 20, "1" * 5000):
            error = await env.refused("getUser", id=digits)
            assert (error["status"], error["message"][:12]) == (400, "Parameter id")

    async def test_an_invalid_id_is_refused(self, env: Environment) -> None:
        await env.person("ann")
        odd: list[object] = [True, False, 1.5, "", "1.0", "1_0", " 1", "+1", "one", "１", [1], -1]
        for id in odd:
            error = await env.refused("getUser", id=id)
            assert (error["status"], error["message"][:12]) == (400, "Parameter id"), id


class TestUpdateUser:
    async def test_only_given_fields_change(self, env: Environment) -> None:
        ann = await env.person("ann")
        shown = ann.shown()
        changed = {**ann.changed(), "name": "Änne"}
        assert await env.call("updateUser", id=1, name="Änne") == changed
        assert await env.call("updateUser", id=1, status=0) == changed
        assert await env.call("updateUser", id=1, email="x@example.com") == changed
        assert changed == {name: value for name, value in changed.items() if name != "status"}
        assert await fields_of(env, 1) == {**shown, "name": "Änne", "status": 0}

    async def test_a_new_password_needs_the_original_one(self, env: Environment) -> None:
        ann = await env.person("ann", password="first one")
        token = await env.token(ann)
        for original, words in [
            ({}, "Parameter original_password is required to change the password."),
            ({"original_password": "first two"}, "Parameter original_password is not the user's password."),
        ]:
            error = await env.refused("updateUser", id=1, name="New", password="second one", **original)
            assert (error["status"], error["message"]) == (400, words)
        assert await fields_of(env, 1) == ann.shown()
        assert await user_tokens.user_of(env.context, env.user.keys, "acme", token) == ann
        changed = await env.call(
            "updateUser", id=1, password="second one", original_password="first one", status=1
        )
        assert changed == ann.changed()
        assert await user_tokens.user_of(env.context, env.user.keys, "acme", token) is None
        assert isinstance(await env.call("getUserToken", email=ann.email, password="second one"), str)

    async def test_one_of_two_concurrent_changes_of_the_password_succeeds(self, env: Environment) -> None:
        await env.person("ann", password="first one")
        results = await asyncio.gather(
            *(
                env.call("updateUser", id=1, password=password, original_password="first one")
                for password in ("second one", "third one")
            )
        )
        assert sorted(each.get("status", 0) for each in results) == [0, 400]


class TestDeleteUser:
    async def test_the_user_is_deleted_with_all_its_data(self, env: Environment) -> None:
        ann = await env.person("ann")
        token = await env.token(ann)
        await env.call("createUserData", id=1, color="red")
        assert await env.call("deleteUser", id=1) is None
        assert (await env.refused("getUser", id=1))["status"] == 404
        assert await user_tokens.user_of(env.context, env.user.keys, "acme", token) is None
        assert not (await env.database.select("select * from user_data")).rows
        assert (await env.person("ann")).id == 2  # the address is available again


class TestResetUserPassword:
    async def test_a_login_during_a_reset_gives_an_invalid_token(self, env: Environment) -> None:
        ann = await env.person("ann", password="first one")
        login = asyncio.create_task(env.call("getUserToken", email=ann.email, password="first one"))
        await asyncio.sleep(0)  # it has read the user, and verifies
        await env.call("resetUserPassword", id=1, password="second one")
        token = await login
        assert (
            isinstance(token, dict)
            or await user_tokens.user_of(env.context, env.user.keys, "acme", token) is None
        )


async def test_the_solution_receives_an_event_for_every_change(env: Environment) -> None:
    await env.call("activateUser", code=await env.call("createUser", ANN))
    await env.call("updateUser", id=1, name="Anne")
    await env.call("updateUser", id=1)  # changes nothing
    await env.call("resetUserPassword", id=1, password="second one")
    await env.call("deleteUser", id=1)
    argument = {"id": 1, "email": "ann@example.com", "solution_id": "acme"}
    changes = (("activateUser", ["status"]), ("updateUser", ["name"]), ("resetUserPassword", ["password"]))
    updates = [{"operation": operation, "changed": changed} for operation, changed in changes]
    expected = [("CREATE", {}), *(("UPDATE", each) for each in updates), ("DELETE", {})]
    assert env.accounts == [{"type": type, **argument, **more} for type, more in expected]


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


async def test_accounts_codes_and_tokens_survive_a_restart(tmp_path: Path) -> None:
    data = tmp_path / "lab.db"
    before = Environment(data=data)
    code = await before.call("createUser", ANN)
    bob = await before.person("bob", password="battery staple")
    token = await before.token(bob)
    await before.call("createUserData", id=2, color="red")
    before.close()
    after = Environment(data=data)
    try:
        assert await after.call("getCurrentUser", token=token) == bob.shown()
        assert await after.call("listUserData", id=2) == {"color": "red"}
        assert await after.call("activateUser", code=code) == "OK"
        assert isinstance(await after.call("getUserToken", email=ANN["email"], password=ANN["password"]), str)
        assert (await after.person("eve")).id == 3
    finally:
        after.close()
