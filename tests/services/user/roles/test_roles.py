"""Roles beyond the checks: odd values and names, error texts, and database queries."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Any

import pytest

from labkit.services.user import accounts
from labkit.services.user.roles.arguments import RESERVED
from labkit.storage.database import driver
from tests.services.user.environment import Environment

WILDCARD = {"type": "wildcard"}
ODD: list[Any] = [7, None, WILDCARD]  # values that are no text


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


class TestNames:
    async def test_invalid_names_are_refused_with_the_expected_form(self, env: Environment) -> None:
        for role_id in ("", "a" * 81, "a\n", "rôle", *ODD):
            error = await env.refused("createRole", role_id=role_id)
            assert error["status"] == 400
            assert "expected 1 to 80 characters" in error["message"]
        for name in ("", "é", *ODD):
            error = await env.refused("createRole", role_id="owner", parameter=named("sn", name))
            assert error["status"] == 400
            assert "Parameter parameter.1.name" in error["message"]
        assert await env.call("listRoles") == []

    async def test_reserved_words_are_refused_in_any_letter_case(self, env: Environment) -> None:
        for word in RESERVED:
            for spelled in (word, word.upper(), word.capitalize()):
                for parameters in ({"role_id": spelled}, {"role_id": "a", "parameter": named(spelled)}):
                    error = await env.refused("createRole", parameters)
                    assert error["status"] == 400
                    assert f"{spelled} is a reserved word" in error["message"]
        assert await env.call("listRoles") == []

    async def test_an_empty_table_of_a_script_means_no_parameters(self, env: Environment) -> None:
        for role_id, empty in (("a", []), ("b", {})):
            role = {"role_id": role_id, "parameter": []}
            assert await env.call("createRole", role_id=role_id, parameter=empty) == role


class TestPermissions:
    async def test_braces_are_allowed_anywhere_in_an_end_point(self, env: Environment) -> None:
        for end_point in (
            *("{sn}{zone}", "{a}/{A}", "{" + "n" * 40 + "}"),
            *("{", "}", "{}", "}{", "{a{b}}", "{s1}", "{" + "n" * 41 + "}", "{user}", "{Role}"),
        ):
            created = await env.call("createPermission", method="GET", end_point=end_point)
            assert created == {"method": "GET", "end_point": end_point}
            assert await env.call("deletePerm", perm_id=f"GET/{end_point}") is None

    async def test_invalid_permissions_are_refused_with_the_reason(self, env: Environment) -> None:
        for method in ("", "get", *ODD):
            error = await env.refused("createPermission", method=method, end_point="api")
            assert (error["status"], "Parameter method" in error["message"]) == (400, True)
        for end_point in ("", "a\n", "a*", "{s n}", *ODD):
            error = await env.refused("createPermission", method="GET", end_point=end_point)
            assert (error["status"], "Parameter end_point" in error["message"]) == (400, True)
        assert await env.call("listPerms") == []
        for perm_id in ("", "GET", "/api", "GET/?", *ODD):
            error = await env.refused("deletePerm", perm_id=perm_id)
            assert (error["status"], "Parameter perm_id" in error["message"]) == (400, True)


class TestHasUserPerm:
    async def test_a_value_that_no_user_can_hold_is_denied(self, env: Environment) -> None:
        """Scripts treat only 403 as a refusal, and take the values from requests."""
        ann = await holder(env, "GET/{sn}", "GET/{key}", sn=WILDCARD, key=WILDCARD)
        for value in ("", "a-b", "*", "1::2", "é", "1\n", "1" * 101, "{type: 'wildcard'}"):
            assert not await may(env, ann, "GET/{sn}", f"sn::{value}"), value
        assert not await may(env, ann, "GET/{sn}", "sn::1", "SN::a-b", "sn::1")
        assert not await may(env, ann, "GET/{key}", "\N{KELVIN SIGN}ey::1")

    async def test_names_without_a_placeholder_are_ignored(self, env: Environment) -> None:
        ann = await holder(env, "GET/{sn}", sn="1")
        others = ("s-n::2", "::2", "user::a-b", "n" * 41 + "::2")
        assert await may(env, ann, "GET/{sn}", "sn::1", "SN::1", *others)

    async def test_one_text_is_a_list_and_null_or_an_empty_table_is_none(self, env: Environment) -> None:
        ann = await holder(env, "GET/{sn}", "GET/status", sn="1")
        one = {"id": str(ann.id), "perm_id": "GET/{sn}", "parameters": "sn::1"}
        assert await env.call("hasUserPerm", one) == "OK"
        nothing: list[Any] = [None, {}, []]
        for none in nothing:
            query = {"id": ann.id, "perm_id": "GET/status", "parameters": none}
            assert await env.call("hasUserPerm", query) == "OK"

    async def test_an_invalid_argument_is_an_error_with_the_reason(self, env: Environment) -> None:
        ann = await holder(env, "GET/{sn}", sn=WILDCARD)
        query = {"id": ann.id, "perm_id": "GET/{sn}", "parameters": ["sn::1"]}
        for name, value in (("id", None), ("perm_id", None), ("parameters", [None]), ("parameters", 7)):
            error = await env.refused("hasUserPerm", {**query, name: value})
            assert (error["status"], f"Parameter {name}" in error["message"]) == (403, True)

    async def test_as_many_placeholders_as_a_path_can_have(self, env: Environment) -> None:
        names = [*ascii_lowercase, *(f"a{letter}" for letter in "abcdefghijklm")]
        path = "GET/" + "".join(f"{{{name}}}" for name in names)
        assert 2 + len(path) > 130
        ann = await holder(env, path, **dict.fromkeys(names, "1"))
        assert await may(env, ann, path, *(f"{name}::1" for name in names))
        assert not await may(env, ann, path, *(f"{name}::{name == 'am':d}" for name in names))


class TestValues:
    @pytest.mark.parametrize("value", [7.0, 0, 1e20, 10**99])
    async def test_whole_numbers_equal_their_digits(self, env: Environment, value: Any) -> None:
        ann = await holder(env, sn=value)
        assert await env.call("listUserRoles", id=ann.id) == [assignment("owner", ("sn", f"{int(value)}"))]
        query = {"role_id": "owner", "parameter_name": "sn", "parameter_value": value}
        assert await env.call("hasUserRoleParam", {"id": ann.id, **query}) == "OK"
        assert await env.call("listRoleParamUsers", query) == [ann.id]

    async def test_invalid_values_are_refused_and_change_nothing(self, env: Environment) -> None:
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

    async def test_a_role_can_be_assigned_without_values_in_several_forms(self, env: Environment) -> None:
        ann = await holder(env)
        spelled: list[dict[str, Any]] = [{"parameters": []}, {"parameters": {}}, {}]
        for parameters in spelled:
            await env.call("deassignUser", id=ann.id, role_id="owner")
            assigned = await env.call("assignUser", id=ann.id, roles=[{"role_id": "owner", **parameters}])
            assert assigned == [assignment("owner")]

    async def test_pages_of_any_size_and_offset(self, env: Environment) -> None:
        ann = await holder(env)
        values = [str(number) for number in range(150, 0, -1)]
        await env.call("assignUser", id=ann.id, roles=[assignment("owner", *(("sn", v) for v in values))])
        query = {"id": ann.id, "role_id": "owner", "parameter_name": "Sn"}
        pages: list[tuple[dict[str, Any], list[str]]] = [
            ({"offset": 149.0, "limit": 1.0}, values[149:]),
            ({"offset": 2**63 - 1}, []),
            ({"offset": 100}, values[100:]),
        ]
        for page, items in pages:
            found = await env.call("listUserRoleParamValues", {**query, **page})
            assert found == {"items": items, "total": 150}
        for name, wrong in (("offset", 2**63), ("limit", True), ("offset", -1)):
            error = await env.refused("listUserRoleParamValues", {**query, name: wrong})
            assert (error["status"], name in error["message"]) == (400, True)


async def test_unknown_roles_and_names_are_errors(env: Environment) -> None:
    ann = await holder(env, sn="1")
    query = {"id": ann.id, "role_id": "owner", "parameter_name": "sn", "parameter_value": "1"}
    for operation, wrong, message in (
        ("deassignUserParam", {"role_id": "missing"}, "Role missing does not exist."),
        ("deassignUserParam", {"id": 7}, "User 7 does not exist."),
        ("deassignUserParam", {"parameter_name": "color"}, "Role owner has no parameter color"),
        ("deleteRoleParam", {"parameter_name": "color"}, "Role owner has no parameter color"),
    ):
        assert message in (await env.refused(operation, {**query, **wrong}))["message"]
    error = await env.refused("addRoleParam", role_id="owner")
    assert (error["status"], error["message"]) == (400, "Parameter body is required.")


class TestTheDatabase:
    async def test_values_of_a_user_are_deleted_with_it(self, env: Environment) -> None:
        ann = await holder(env, sn="1")
        raw = await env.database.read(driver)
        raw.execute("DELETE FROM user WHERE id = ?", (ann.id,))
        assert await env.call("listRoleUsers", role_id="owner") == []
        query = {"role_id": "owner", "parameter_name": "sn", "parameter_value": "1"}
        assert await env.call("listRoleParamUsers", query) == []

    async def test_a_permission_takes_one_query(self, env: Environment) -> None:
        ann = await holder(env, "GET/{sn}/{zone}")
        raw = await env.database.read(driver)
        statements: list[str] = []
        raw.set_trace_callback(statements.append)
        assert not await may(env, ann, "GET/{sn}/{zone}", "sn::1", "zone::1")
        raw.set_trace_callback(None)
        assert len(statements) == 1

    async def test_no_query_scans_a_table(self, env: Environment) -> None:
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
