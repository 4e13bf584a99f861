"""Roles and their parameters: what the operations give and refuse."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.services.user.roles.arguments import RESERVED
from tests.services.user.environment import Environment


def named(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


class TestCreateRole:
    async def test_gives_the_role(self, env: Environment) -> None:
        role = {"role_id": "owner", "parameter": named("sn", "zone")}
        assert await env.call("createRole", role) == role
        assert await env.call("getRole", role_id="owner") == role
        assert await env.call("createRole", role_id="guest") == {"role_id": "guest", "parameter": []}

    async def test_refuses_a_role_that_exists_in_any_letter_case(self, env: Environment) -> None:
        await env.call("createRole", role_id="Owner", parameter=named("sn"))
        assert (await env.refused("createRole", role_id="oWNER", parameter=named("zone")))["status"] == 409
        assert await env.call("listRoles") == [{"role_id": "Owner", "parameter": named("sn")}]

    async def test_keeps_the_first_spelling_of_a_name_given_twice(self, env: Environment) -> None:
        role = await env.call("createRole", role_id="owner", parameter=named("infoUserId", "INFOUSERID"))
        assert role["parameter"] == named("infoUserId")

    @pytest.mark.parametrize("empty", [[], {}])
    async def test_takes_an_empty_table_of_a_script_for_no_parameters(
        self, env: Environment, empty: Any
    ) -> None:
        assert await env.call("createRole", role_id="owner", parameter=empty) == {
            "role_id": "owner",
            "parameter": [],
        }

    @pytest.mark.parametrize("role_id", ["a", "a" * 80, "A-z_09", "-", "member1"])
    async def test_takes_names_by_the_rule(self, env: Environment, role_id: str) -> None:
        assert (await env.call("createRole", role_id=role_id))["role_id"] == role_id

    @pytest.mark.parametrize(
        "role_id", ["", "a" * 81, "a b", "a.b", "rôle", "a\n", "*", 7, None, {"type": "wildcard"}]
    )
    async def test_refuses_other_names(self, env: Environment, role_id: Any) -> None:
        error = await env.refused("createRole", role_id=role_id)
        assert error["status"] == 400
        assert "expected 1 to 80 characters" in error["message"]

    @pytest.mark.parametrize("name", ["", "a" * 41, "sn1", "s_n", "s-n", "é", 7, None])
    async def test_creates_nothing_where_a_parameter_is_wrong(self, env: Environment, name: Any) -> None:
        error = await env.refused("createRole", role_id="owner", parameter=[{"name": "sn"}, {"name": name}])
        assert error["status"] == 400
        assert "Parameter parameter.1.name" in error["message"]
        assert await env.call("listRoles") == []

    async def test_refuses_reserved_words_in_any_letter_case(self, env: Environment) -> None:
        for word in RESERVED:
            for spelled in (word, word.upper(), word.capitalize()):
                for parameters in (
                    {"role_id": spelled},
                    {"role_id": "owner", "parameter": named(spelled)},
                ):
                    error = await env.refused("createRole", parameters)
                    assert error["status"] == 400
                    assert f"{spelled} is a reserved word" in error["message"]
        assert await env.call("listRoles") == []

    async def test_takes_the_longest_parameter_name(self, env: Environment) -> None:
        role = await env.call("createRole", role_id="owner", parameter=named("a" * 40))
        assert role["parameter"] == named("a" * 40)


class TestListRoles:
    async def test_gives_roles_and_parameters_in_the_order_of_their_creation(self, env: Environment) -> None:
        await env.call("createRole", role_id="zebra", parameter=named("b", "a"))
        await env.call("createRole", role_id="ape")
        await env.call("addRoleParam", role_id="ZEBRA", body=named("Aa"))
        assert await env.call("listRoles") == [
            {"role_id": "zebra", "parameter": named("b", "a", "Aa")},
            {"role_id": "ape", "parameter": []},
        ]

    async def test_gives_those_of_the_calling_solution_alone(self, env: Environment) -> None:
        await env.call("createRole", role_id="owner")
        assert await env.call("listRoles", solution="other") == []
        assert await env.call("createRole", role_id="owner", solution="other") == {
            "role_id": "owner",
            "parameter": [],
        }


class TestDeleteRole:
    async def test_gives_nil_and_frees_the_name_for_another_spelling(self, env: Environment) -> None:
        await env.call("createRole", role_id="owner", parameter=named("sn"))
        assert await env.call("deleteRole", role_id="OWNER") is None
        assert (await env.refused("getRole", role_id="owner"))["status"] == 404
        assert await env.call("createRole", role_id="Owner") == {"role_id": "Owner", "parameter": []}

    async def test_takes_the_role_from_users_and_leaves_permissions_registered(
        self, env: Environment
    ) -> None:
        ann = await env.person("ann")
        permission = {"method": "GET", "end_point": "api/{sn}"}
        for role_id in ("owner", "guest"):
            await env.call("createRole", role_id=role_id, parameter=named("sn"))
            await env.call("addRolePerm", role_id=role_id, body=[permission])
            assigned = {"role_id": role_id, "parameters": [{"name": "sn", "value": "1"}]}
            await env.call("assignUser", id=ann.id, roles=[assigned])
        await env.call("deleteRole", role_id="owner")
        assert await env.call("listUserRoles", id=ann.id) == [
            {"role_id": "guest", "parameters": [{"name": "sn", "value": "1"}]}
        ]
        assert await env.call("listPerms") == [permission]
        await env.call("createRole", role_id="owner", parameter=named("sn"))
        assert await env.call("listRolePerms", role_id="owner") == []
        assert await env.call("listRoleUsers", role_id="owner") == []


class TestAddRoleParam:
    async def test_gives_the_role_and_keeps_what_it_has(self, env: Environment) -> None:
        await env.call("createRole", role_id="owner", parameter=named("sn"))
        role = await env.call("addRoleParam", role_id="Owner", body=named("zone", "SN", "Zone"))
        assert role == {"role_id": "owner", "parameter": named("sn", "zone")}

    async def test_takes_one_object_for_a_list_of_one(self, env: Environment) -> None:
        await env.call("createRole", role_id="owner")
        role = await env.call("addRoleParam", role_id="owner", body={"name": "sn"})
        assert role["parameter"] == named("sn")

    async def test_adds_nothing_where_one_is_wrong(self, env: Environment) -> None:
        await env.call("createRole", role_id="owner")
        assert (await env.refused("addRoleParam", role_id="owner", body=named("sn", "user")))["status"] == 400
        assert (await env.call("getRole", role_id="owner"))["parameter"] == []

    async def test_needs_the_role_and_a_body(self, env: Environment) -> None:
        assert (await env.refused("addRoleParam", role_id="owner", body=named("sn")))["status"] == 404
        error = await env.refused("addRoleParam", role_id="owner")
        assert (error["status"], error["message"]) == (400, "Parameter body is required.")


class TestDeleteRoleParam:
    async def test_takes_the_values_from_users_who_keep_the_role(self, env: Environment) -> None:
        ann = await env.person("ann")
        await env.call("createRole", role_id="owner", parameter=named("sn", "zone"))
        values = [{"name": "sn", "value": "1"}, {"name": "zone", "value": {"type": "wildcard"}}]
        await env.call("assignUser", id=ann.id, roles=[{"role_id": "owner", "parameters": values}])
        assert await env.call("deleteRoleParam", role_id="OWNER", parameter_name="SN") == {
            "role_id": "owner",
            "parameter": named("zone"),
        }
        assert await env.call("listUserRoles", id=ann.id) == [{"role_id": "owner", "parameters": values[1:]}]
        await env.call("deleteRoleParam", role_id="owner", parameter_name="zone")
        assert await env.call("listUserRoles", id=ann.id) == [{"role_id": "owner", "parameters": []}]
        await env.call("addRoleParam", role_id="owner", body=named("sn", "zone"))
        assert await env.call("listUserRoles", id=ann.id) == [{"role_id": "owner", "parameters": []}]

    async def test_refuses_a_name_that_the_role_lacks(self, env: Environment) -> None:
        await env.call("createRole", role_id="owner", parameter=named("sn"))
        await env.call("createRole", role_id="guest", parameter=named("zone"))
        error = await env.refused("deleteRoleParam", role_id="owner", parameter_name="zone")
        assert error["status"] == 400
        assert "Role owner has no parameter zone" in error["message"]
        assert (await env.refused("deleteRoleParam", role_id="nobody", parameter_name="zone"))[
            "status"
        ] == 404


@pytest.mark.parametrize(
    ("operation", "more"),
    [
        ("getRole", {}),
        ("deleteRole", {}),
        ("addRoleParam", {"body": named("sn")}),
        ("deleteRoleParam", {"parameter_name": "sn"}),
        ("deleteRoleParamValue", {"parameter_name": "sn", "parameter_value": "1"}),
        ("addRolePerm", {"body": [{"method": "GET", "end_point": "api"}]}),
        ("deleteRolePerm", {"perm_id": "GET/api"}),
        ("listRolePerms", {}),
        ("listRoleUsers", {}),
        ("listRoleParamUsers", {"parameter_name": "sn", "parameter_value": "1"}),
        ("assignUser", {"id": 1, "roles": [{"role_id": "missing", "parameters": []}]}),
        ("deassignUser", {"id": 1}),
        ("deassignUserParam", {"id": 1, "parameter_name": "sn", "parameter_value": "1"}),
        ("deassignUserParamName", {"id": 1, "parameter_name": "sn"}),
        ("hasUserRoleParam", {"id": 1, "parameter_name": "sn", "parameter_value": "1"}),
        ("listUserRoleParamValues", {"id": 1, "parameter_name": "sn"}),
    ],
)
async def test_a_role_that_does_not_exist_is_404(
    env: Environment, operation: str, more: dict[str, Any]
) -> None:
    assert (await env.person("ann")).id == 1
    await env.call("createRole", role_id="missing", solution="other")
    error = await env.refused(operation, {"role_id": "missing", **more})
    assert (error["status"], error["message"]) == (404, "Role missing does not exist.")
    assert await env.call("listPerms") == []
