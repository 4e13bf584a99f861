"""Permissions: registered, given to roles, and asked for by hasUserPerm."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Any

import pytest

from labkit.core.database import driver
from tests.services.user.environment import Environment

WILDCARD = {"type": "wildcard"}


def permission(perm_id: str) -> dict[str, str]:
    method, _, end_point = perm_id.partition("/")
    return {"method": method, "end_point": end_point}


async def role(env: Environment, role_id: str, *perm_ids: str, names: str = "sn zone") -> None:
    """A role with parameters and permissions."""
    await env.call("createRole", role_id=role_id, parameter=[{"name": name} for name in names.split()])
    await env.call("addRolePerm", role_id=role_id, body=[permission(perm_id) for perm_id in perm_ids])


async def assign(env: Environment, id: int, role_id: str, **values: Any) -> None:
    parameters = [{"name": name, "value": value} for name, value in values.items()]
    assert isinstance(
        await env.call("assignUser", id=id, roles=[{"role_id": role_id, "parameters": parameters}]),
        list,
    )


async def may(env: Environment, id: int, perm_id: str, *parameters: str) -> bool:
    """May a user? Fails where the answer is neither 'OK' nor 403."""
    result = await env.call("hasUserPerm", {"id": id, "perm_id": perm_id, "parameters": list(parameters)})
    assert result == "OK" or result["status"] == 403, result
    return bool(result == "OK")


class TestRegistering:
    async def test_gives_the_permission_however_often(self, env: Environment) -> None:
        for _ in range(2):
            assert await env.call("createPermission", permission("GET/api/{sn}")) == permission(
                "GET/api/{sn}"
            )
        assert await env.call("listPerms") == [permission("GET/api/{sn}")]

    async def test_lists_in_the_order_of_registration_and_those_of_the_solution(
        self, env: Environment
    ) -> None:
        for perm_id in ("PUT/b", "GET/b", "GET/a"):
            await env.call("createPermission", permission(perm_id))
        await env.call("createPermission", permission("GET/c"), solution="other")
        assert await env.call("listPerms") == [permission(perm_id) for perm_id in ("PUT/b", "GET/b", "GET/a")]

    @pytest.mark.parametrize("method", ["", "get", "GETGETGETGE", "GE T", "G3T", 7, None])
    async def test_refuses_methods_against_the_rule(self, env: Environment, method: Any) -> None:
        error = await env.refused("createPermission", method=method, end_point="api")
        assert error["status"] == 400
        assert "Parameter method" in error["message"]

    @pytest.mark.parametrize(
        "end_point",
        [
            *("a", "/a", "a" * 150, "A-z_09/{sn}", "{sn}{zone}", "{a}/{A}", "{" + "n" * 40 + "}"),
            *("{", "}", "{}", "}{", "{a{b}}", "{s1}", "{" + "n" * 41 + "}", "{user}", "{Role}"),
        ],
    )
    async def test_takes_end_points_by_the_rule(self, env: Environment, end_point: str) -> None:
        for method in ("G", "ABCDEFGHIJ"):
            created = await env.call("createPermission", method=method, end_point=end_point)
            assert created == {"method": method, "end_point": end_point}
            assert await env.call("deletePerm", perm_id=f"{method}/{end_point}") is None

    @pytest.mark.parametrize(
        "end_point",
        [
            *("", "a" * 151, "a b", "a?b", "a*", "é", "a\n", 7, None),
            "{s n}",
        ],
    )
    async def test_refuses_end_points_against_the_rule(self, env: Environment, end_point: Any) -> None:
        error = await env.refused("createPermission", method="GET", end_point=end_point)
        assert error["status"] == 400
        assert "Parameter end_point" in error["message"]
        assert await env.call("listPerms") == []

    async def test_deletes_by_perm_id_split_at_the_first_slash(self, env: Environment) -> None:
        await role(env, "owner", "GET/api/{sn}", "GET//api/{sn}")
        assert await env.call("deletePerm", perm_id="GET//api/{sn}") is None
        assert await env.call("listRolePerms", role_id="owner") == [permission("GET/api/{sn}")]
        assert await env.call("listPerms") == [permission("GET/api/{sn}")]
        assert (await env.refused("deletePerm", perm_id="GET//api/{sn}"))["status"] == 404

    @pytest.mark.parametrize("perm_id", ["", "GET", "/api", "GET/", "get/api", "GET/?", 7, None])
    async def test_refuses_what_is_no_perm_id(self, env: Environment, perm_id: Any) -> None:
        await env.call("createRole", role_id="owner")
        for operation, more in (
            ("deletePerm", {}),
            ("deleteRolePerm", {"role_id": "owner"}),
            ("hasUserPerm", {"id": 1, "parameters": []}),
        ):
            error = await env.refused(operation, {**more, "perm_id": perm_id})
            assert error["status"] == (403 if operation == "hasUserPerm" else 400)
            assert "Parameter perm_id" in error["message"]


class TestPermissionsOfRoles:
    async def test_registers_what_is_new_and_gives_all_of_the_role(self, env: Environment) -> None:
        await role(env, "owner", "PUT/b")
        await env.call("createPermission", permission("GET/a"))
        both = [permission("PUT/b"), permission("GET/a")]
        assert await env.call("addRolePerm", role_id="OWNER", body=both[::-1]) == both
        assert await env.call("listRolePerms", role_id="owner") == both
        assert await env.call("listPerms") == both

    async def test_takes_one_object_for_a_list_of_one(self, env: Environment) -> None:
        await role(env, "owner")
        assert await env.call("addRolePerm", role_id="owner", body=permission("GET/a")) == [
            permission("GET/a")
        ]

    async def test_adds_nothing_where_one_is_wrong(self, env: Environment) -> None:
        await role(env, "owner")
        body = [permission("GET/a"), permission("GET/?")]
        assert (await env.refused("addRolePerm", role_id="owner", body=body))["status"] == 400
        assert await env.call("listPerms") == []

    async def test_takes_a_permission_from_one_role_alone(self, env: Environment) -> None:
        await role(env, "owner", "GET/a", "PUT/a")
        await role(env, "guest", "GET/a")
        assert await env.call("deleteRolePerm", role_id="Owner", perm_id="GET/a") == [permission("PUT/a")]
        assert await env.call("listRolePerms", role_id="guest") == [permission("GET/a")]
        assert (await env.refused("deleteRolePerm", role_id="owner", perm_id="GET/a"))["status"] == 404
        assert len(await env.call("listPerms")) == 2


class TestHasUserPerm:
    async def test_follows_the_six_steps_of_the_document(self, env: Environment) -> None:
        ann = await env.person("ann")
        bea = await env.person("bea")
        await env.call("createPermission", permission("GET/api/{sn}"))
        await env.call("createRole", role_id="owner")
        await env.call("addRolePerm", role_id="owner", body=permission("GET/api/{sn}"))
        await env.call("addRoleParam", role_id="owner", body=[{"name": "sn"}])
        assert not await may(env, ann.id, "GET/api/{sn}", "sn::1")
        await assign(env, ann.id, "owner", sn=1)
        assert await may(env, ann.id, "GET/api/{sn}", "sn::1")
        assert not await may(env, ann.id, "GET/api/{sn}", "sn::2")
        assert not await may(env, bea.id, "GET/api/{sn}", "sn::1")
        await env.call(
            "deassignUserParam", id=ann.id, role_id="owner", parameter_name="sn", parameter_value=1
        )
        assert not await may(env, ann.id, "GET/api/{sn}", "sn::1")

    async def test_wants_every_placeholder_in_one_and_the_same_role(self, env: Environment) -> None:
        ann = await env.person("ann")
        for role_id in ("owner", "guest"):
            await role(env, role_id, "GET/{sn}/{zone}")
        await assign(env, ann.id, "owner", sn="1")
        await assign(env, ann.id, "guest", zone="a")
        assert not await may(env, ann.id, "GET/{sn}/{zone}", "sn::1", "zone::a")
        await assign(env, ann.id, "owner", zone="a")
        assert await may(env, ann.id, "GET/{sn}/{zone}", "sn::1", "zone::a")
        assert not await may(env, ann.id, "GET/{sn}/{zone}", "sn::1", "zone::b")

    async def test_wants_the_role_that_has_the_permission(self, env: Environment) -> None:
        ann = await env.person("ann")
        await role(env, "owner", "GET/{sn}")
        await role(env, "guest", "PUT/{sn}")
        await assign(env, ann.id, "guest", sn="1")
        assert not await may(env, ann.id, "GET/{sn}", "sn::1")
        assert await may(env, ann.id, "PUT/{sn}", "sn::1")

    async def test_counts_a_wildcard_as_every_value_of_its_name(self, env: Environment) -> None:
        ann = await env.person("ann")
        await role(env, "owner", "GET/{sn}/{zone}")
        await assign(env, ann.id, "owner", sn=WILDCARD, zone="a")
        assert await may(env, ann.id, "GET/{sn}/{zone}", "sn::anything", "zone::a")
        assert not await may(env, ann.id, "GET/{sn}/{zone}", "sn::anything", "zone::b")

    async def test_reads_names_in_any_letter_case_and_values_in_theirs(self, env: Environment) -> None:
        ann = await env.person("ann")
        await role(env, "owner", "GET/{SN}")
        await assign(env, ann.id, "OWNER", Sn="aB")
        assert await may(env, ann.id, "GET/{SN}", "sN::aB")
        assert not await may(env, ann.id, "GET/{SN}", "sn::AB")

    async def test_refuses_a_placeholder_that_is_not_given(self, env: Environment) -> None:
        ann = await env.person("ann")
        await role(env, "owner", "GET/{sn}/{zone}")
        await assign(env, ann.id, "owner", sn=WILDCARD, zone=WILDCARD)
        assert await may(env, ann.id, "GET/{sn}/{zone}", "sn::1", "zone::1")
        assert not await may(env, ann.id, "GET/{sn}/{zone}", "sn::1")
        assert not await may(env, ann.id, "GET/{sn}/{zone}")

    async def test_ignores_what_is_no_placeholder(self, env: Environment) -> None:
        ann = await env.person("ann")
        await role(env, "owner", "GET/{sn}")
        await assign(env, ann.id, "owner", sn="1")
        assert await may(env, ann.id, "GET/{sn}", "sn::1", "zone::nowhere", "user::7")

    async def test_without_placeholders_wants_any_value_in_the_role(self, env: Environment) -> None:
        ann = await env.person("ann")
        await role(env, "admin", "GET/status", "GET/status/{sn}")
        await role(env, "guest", "PUT/status")
        await assign(env, ann.id, "guest", sn="1")
        await assign(env, ann.id, "admin")
        assert not await may(env, ann.id, "GET/status")
        assert not await may(env, ann.id, "GET/status/{sn}", "sn::1")
        await assign(env, ann.id, "admin", zone="a")
        assert await may(env, ann.id, "GET/status")
        assert not await may(env, ann.id, "GET/status/{sn}", "sn::1")

    async def test_refuses_with_403_what_does_not_exist(self, env: Environment) -> None:
        ann = await env.person("ann")
        assert not await may(env, ann.id, "GET/status")
        await role(env, "owner", "GET/status")
        assert not await may(env, ann.id + 1, "GET/status")

    async def test_keeps_solutions_apart(self, env: Environment) -> None:
        ann = await env.person("ann")
        other = await env.person("ann", solution="other")
        assert ann.id == other.id
        await role(env, "owner", "GET/{sn}")
        await assign(env, ann.id, "owner", sn="1")
        query = {"id": other.id, "perm_id": "GET/{sn}", "parameters": ["sn::1"]}
        refused = await env.call("hasUserPerm", query, solution="other")
        assert refused["status"] == 403

    async def test_takes_one_string_for_a_list_and_an_empty_table_for_none(self, env: Environment) -> None:
        ann = await env.person("ann")
        await role(env, "owner", "GET/{sn}", "GET/status")
        await assign(env, ann.id, "owner", sn="1")
        one = {"id": str(ann.id), "perm_id": "GET/{sn}", "parameters": "sn::1"}
        assert await env.call("hasUserPerm", one) == "OK"
        none = {"id": ann.id, "perm_id": "GET/status", "parameters": {}}
        assert await env.call("hasUserPerm", none) == "OK"

    async def test_denies_with_403_what_nobody_can_hold(self, env: Environment) -> None:
        """Scripts take 403 alone for a refusal, and make the values of what a request brings."""
        ann = await env.person("ann")
        await role(env, "owner", "GET/{sn}", "GET/{key}", names="sn key")
        await assign(env, ann.id, "owner", sn=WILDCARD, key=WILDCARD)
        for value in ("", "a-b", "*", "1::2", "é", "1\n", "1" * 101, "{type: 'wildcard'}"):
            assert not await may(env, ann.id, "GET/{sn}", f"sn::{value}"), value
        assert not await may(env, ann.id, "GET/{sn}", "sn::1", "SN::2")
        assert not await may(env, ann.id, "GET/{sn}", "sn::1", "SN::a-b", "sn::1")
        assert not await may(env, ann.id, "GET/{key}", "\N{KELVIN SIGN}ey::1")
        query = {"id": ann.id, "perm_id": "GET/{sn}"}  # no parameters at all
        assert (await env.refused("hasUserPerm", query))["status"] == 403

    async def test_ignores_names_that_no_placeholder_can_have(self, env: Environment) -> None:
        ann = await env.person("ann")
        await role(env, "owner", "GET/{sn}")
        await assign(env, ann.id, "owner", sn="1")
        others = ("s-n::2", "::2", "user::a-b", "n" * 41 + "::2")
        assert await may(env, ann.id, "GET/{sn}", "sn::1", "SN::1", *others)

    @pytest.mark.parametrize("parameters", ["sn", "sn:1", "", [7], [None], ["sn::1", "sn"], {"sn": "1"}, 7])
    async def test_denies_malformed_pairs(self, env: Environment, parameters: Any) -> None:
        ann = await env.person("ann")
        await role(env, "owner", "GET/{sn}")
        await assign(env, ann.id, "owner", sn=WILDCARD)
        query = {"id": ann.id, "perm_id": "GET/{sn}", "parameters": parameters}
        error = await env.refused("hasUserPerm", query)
        assert error["status"] == 403
        assert "Parameter parameters" in error["message"]

    async def test_denies_what_is_missing_and_takes_null_for_no_parameters(self, env: Environment) -> None:
        ann = await env.person("ann")
        await role(env, "owner", "GET/status")
        await assign(env, ann.id, "owner", sn="1")
        query = {"id": ann.id, "perm_id": "GET/status", "parameters": None}
        assert await env.call("hasUserPerm", query) == "OK"
        for name in ("id", "perm_id"):
            error = await env.refused("hasUserPerm", {**query, name: None})
            assert (error["status"], f"Parameter {name}" in error["message"]) == (403, True)

    async def test_takes_as_many_placeholders_as_a_path_can_hold(self, env: Environment) -> None:
        ann = await env.person("ann")
        names = [
            *ascii_lowercase,
            "aa",
            "ab",
            "ac",
            "ad",
            "ae",
            "af",
            "ag",
            "ah",
            "ai",
            "aj",
            "ak",
            "al",
            "am",
        ]
        path = "GET/" + "".join(f"{{{name}}}" for name in names)
        assert 2 + len(path) > 130
        await role(env, "owner", path, names=" ".join(names))
        await assign(env, ann.id, "owner", **dict.fromkeys(names, "1"))
        assert await may(env, ann.id, path, *(f"{name}::1" for name in names))
        assert not await may(env, ann.id, path, *(f"{name}::{name == 'am':d}" for name in names))

    async def test_asks_the_database_once(self, env: Environment) -> None:
        ann = await env.person("ann")
        await role(env, "owner", "GET/{sn}/{zone}")
        raw = await env.database.read(driver)
        statements: list[str] = []
        raw.set_trace_callback(statements.append)
        assert not await may(env, ann.id, "GET/{sn}/{zone}", "sn::1", "zone::1")
        raw.set_trace_callback(None)
        assert len(statements) == 1
