"""Client of the User service: an unexpected answer is the target's fault."""

from __future__ import annotations

import json
from typing import Any

import pytest

from labkit.conformance.users import Person, User
from labkit.conformance.verdict import Mismatch
from tests.conformance.test_probe import answer, target

ERROR = {
    "type": "QueryError",
    "status": 404,
    "error": json.dumps({"statusCode": 404, "message": "User 7 does not exist."}),
    "message": "User 7 does not exist.",
}


def user(result: Any = None, kind: str = "table") -> User:
    given = {"kind": kind} if result is None else {"kind": kind, "result": result}
    return User(target(answer(given)))


async def test_results_are_requested_by_type() -> None:
    assert await user([]).table("listRoles") == []
    assert await user({"id": 1, "status": 1}).table("getUser") == {"id": 1, "status": 1}
    assert await user("OK", "string").text("activateUser") == "OK"
    await user(None, "nil").nothing("deleteRole")


@pytest.mark.parametrize(("result", "kind"), [(None, "nil"), ("OK", "string"), (ERROR, "table")])
async def test_a_result_that_is_no_table_is_a_mismatch(result: Any, kind: str) -> None:
    with pytest.raises(Mismatch, match="what getRole gives"):
        await user(result, kind).table("getRole")


async def test_an_error_is_neither_a_text_nor_nothing() -> None:
    with pytest.raises(Mismatch, match="404"):
        await user(ERROR).text("getUserToken")
    with pytest.raises(Mismatch, match="404"):
        await user(ERROR).nothing("deleteRole")


async def test_a_refusal_is_returned() -> None:
    assert await user(ERROR).refused("getUser", 404, id=7) == ERROR


async def test_an_error_that_is_not_the_callers_fault_is_a_server_error() -> None:
    detail = json.dumps({"statusCode": 500, "message": "down"})
    down = {"type": "ServerError", "status": 500, "error": detail, "message": "down"}
    assert await user(down).refused("getSocialToken", 500) == down
    with pytest.raises(Mismatch):
        await user({**down, "type": "QueryError"}).refused("getSocialToken", 500)


@pytest.mark.parametrize(
    "change",
    [
        {"status": 400},
        {"status": "404"},
        {"type": "ServerError"},
        {"message": ""},
        {"message": "another one"},
        {"error": "User 7 does not exist."},
        {"error": '["User 7 does not exist."]'},
        {"error": {"statusCode": 404, "message": "User 7 does not exist."}},
        {"error": '{"message": "User 7 does not exist."}'},
    ],
)
async def test_an_error_object_of_another_form_is_a_mismatch(change: dict[str, object]) -> None:
    with pytest.raises(Mismatch):
        await user({**ERROR, **change}).refused("getUser", 404, id=7)


@pytest.mark.parametrize(("result", "kind"), [(None, "nil"), ("OK", "string"), ([], "table")])
async def test_a_success_instead_of_a_refusal_is_a_mismatch(result: Any, kind: str) -> None:
    with pytest.raises(Mismatch, match="an error object"):
        await user(result, kind).refused("getUser", 404)


async def test_a_mismatch_shows_no_token() -> None:
    with pytest.raises(Mismatch) as caught:
        await user("eyJa.eyJb.cc", "string").table("getUserToken", password="well kept")
    assert "eyJa" not in str(caught.value) + caught.value.exchange


@pytest.mark.parametrize("found", [[], [{"id": 1}, {"id": 2}], [{}], [{"id": "1"}], {}])
async def test_a_user_that_is_not_found_is_a_mismatch(found: Any) -> None:
    with pytest.raises(Mismatch, match="the one user"):
        await user(found).id_of("a@example.com")


async def test_a_token_is_asked_for_with_the_password() -> None:
    stub = target(answer({"kind": "string", "result": "a.b.c"}))
    assert await User(stub).login(Person(1, "a@example.com", "well kept")) == "a.b.c"
    given = {"email": "a@example.com", "password": "well kept"}
    assert stub.only.requests == [("POST", "/call/User/getUserToken", given)]  # type: ignore[attr-defined]
