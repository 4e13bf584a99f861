"""Roles beyond the checks: the most placeholders, odd values, and database queries."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Any

from labkit.services.user import accounts
from labkit.storage.database import driver
from tests.services.user.environment import Environment


def named(*names: object) -> list[dict[str, object]]:
    return [{"name": name} for name in names]


def permission(perm_id: str) -> dict[str, str]:
    method, _, end_point = perm_id.partition("/")
    return {"method": method, "end_point": end_point}


def assignment(role_id: str, *values: tuple[str, Any]) -> dict[str, Any]:
    """Return `{role_id, parameters}` as operations accept and return it."""
    return {"role_id": role_id, "parameters": [{"name": name, "value": value} for name, value in values]}


async def holder(env: Environment, *perm_ids: str, **values: Any) -> accounts.UserIdentity:
    """Create a user with these values in the role `owner`, which has them as parameters, and with these permissions."""
    await env.call("createRole", role_id="owner", parameter=named("sn", "zone", *values))
    await env.call("addRolePerm", role_id="owner", body=[permission(perm_id) for perm_id in perm_ids])
    user = await env.person("ann")
    await env.call("assignUser", id=user.id, roles=[assignment("owner", *values.items())])
    return user


async def may(env: Environment, user: accounts.UserIdentity, perm_id: str, *parameters: str) -> bool:
    """Return whether a user has a permission. Raises AssertionError for an answer that is neither 'OK' nor 403."""
    query = {"id": user.id, "perm_id": perm_id, "parameters": list(parameters)}
    result = await env.call("hasUserPerm", query)
    assert result == "OK" or result["status"] == 403, result
    return bool(result == "OK")


async def test_as_many_placeholders_as_a_path_can_have(env: Environment) -> None:
    names = [*ascii_lowercase, *(f"a{letter}" for letter in "abcdefghijklm")]
    path = "GET/" + "".join(f"{{{name}}}" for name in names)
    assert 2 + len(path) > 130
    ann = await holder(env, path, **dict.fromkeys(names, "1"))
    assert await may(env, ann, path, *(f"{name}::1" for name in names))
    assert not await may(env, ann, path, *(f"{name}::{name == 'am':d}" for name in names))


async def test_the_largest_number_equals_its_digits(env: Environment) -> None:
    value = 10**99
    ann = await holder(env, sn=value)
    assert await env.call("listUserRoles", id=ann.id) == [assignment("owner", ("sn", f"{value}"))]
    query = {"role_id": "owner", "parameter_name": "sn", "parameter_value": value}
    assert await env.call("hasUserRoleParam", {"id": ann.id, **query}) == "OK"
    assert await env.call("listRoleParamUsers", query) == [ann.id]


async def test_invalid_values_are_refused_and_change_nothing(env: Environment) -> None:
    ann = await holder(env, zone="a")
    held = await env.call("listUserRoles", id=ann.id)
    odd: list[Any] = [
        *("1\n", None, [], 1e200, 10**100, float("nan"), float("inf"), -1, True),
        *({"type": "WILDCARD"}, {"type": "wildcard", "x": 1}),
    ]
    for value in odd:
        bad = [assignment("owner", ("sn", "1")), assignment("owner", ("sn", "2"), ("sn", value))]
        error = await env.refused("assignUser", id=ann.id, roles=bad)
        assert error["status"] == 400
        assert "Parameter roles.1.parameters.1.value validation failed: expected" in error["message"]
    assert await env.call("listUserRoles", id=ann.id) == held


async def test_values_of_a_user_are_deleted_with_it(env: Environment) -> None:
    ann = await holder(env, sn="1")
    raw = await env.database.read(driver)
    raw.execute("DELETE FROM user WHERE id = ?", (ann.id,))
    assert await env.call("listRoleUsers", role_id="owner") == []
    query = {"role_id": "owner", "parameter_name": "sn", "parameter_value": "1"}
    assert await env.call("listRoleParamUsers", query) == []


async def test_a_permission_takes_one_query(env: Environment) -> None:
    ann = await holder(env, "GET/{sn}/{zone}")
    raw = await env.database.read(driver)
    statements: list[str] = []
    raw.set_trace_callback(statements.append)
    assert not await may(env, ann, "GET/{sn}/{zone}", "sn::1", "zone::1")
    raw.set_trace_callback(None)
    assert len(statements) == 1


async def test_no_query_scans_a_table(env: Environment) -> None:
    """Each query finds its rows by an index."""
    ann = await holder(env, sn="1")
    raw = await env.database.read(driver)
    statements: list[str] = []
    raw.set_trace_callback(statements.append)
    everything = {
        "id": ann.id,
        "role_id": "owner",
        "parameter_name": "sn",
        "parameter_value": "1",
        "roles": [assignment("owner", ("sn", "1"))],
        "perm_id": "GET/{sn}",
        "parameters": ["sn::1"],
        "body": [{"method": "GET", "end_point": "{sn}"}],
    }
    for (
        operation
    ) in """addRolePerm assignUser hasUserPerm hasUserRoleParam listUserRoles listUserRoleParamValues
            listRoleUsers listRoleParamUsers listRolePerms deleteRoleParamValue deassignUserParam
            deassignUserParamName deassignUser deleteRolePerm deletePerm deleteRoleParam deleteRole""".split():
        result = await env.call(operation, everything)
        assert not isinstance(result, dict) or "status" not in result, (operation, result)
    raw.set_trace_callback(None)
    executed = [text for text in statements if text.startswith(("SELECT", "DELETE", "INSERT"))]
    plans = [step[3] for text in executed for step in raw.execute(f"EXPLAIN QUERY PLAN {text}")]
    assert len(plans) > 20
    assert not [step for step in plans if step.startswith("SCAN") and step != "SCAN CONSTANT ROW"]
