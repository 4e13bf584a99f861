"""What users hold: assigned, listed, asked for and taken again."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.core.database import driver
from labkit.services.user import accounts
from tests.services.user.environment import Environment

WILDCARD = {"type": "wildcard"}


def assignment(role_id: str, *values: tuple[str, Any]) -> dict[str, Any]:
    """`{role_id, parameters}` as operations take and give it."""
    return {"role_id": role_id, "parameters": [{"name": name, "value": value} for name, value in values]}


async def roles(env: Environment) -> None:
    """The roles owner and guest, each with the parameters sn and zone."""
    for role_id in ("owner", "guest"):
        await env.call("createRole", role_id=role_id, parameter=[{"name": "sn"}, {"name": "zone"}])


async def held_by(env: Environment, *assignments: dict[str, Any]) -> accounts.User:
    """A user who is assigned what is given, in roles that are there already."""
    user = await env.person(f"user{len(env.journal)}")
    await env.call("assignUser", id=user.id, roles=list(assignments))
    return user


class TestAssignUser:
    async def test_adds_to_what_the_user_holds_in_the_order_of_assigning(self, env: Environment) -> None:
        await roles(env)
        ann = await held_by(env, assignment("guest", ("zone", "b"), ("sn", "2")))
        result = await env.call(
            "assignUser",
            id=ann.id,
            roles=[assignment("OWNER", ("SN", "1")), assignment("guest", ("Zone", "a"), ("zone", "b"))],
        )
        assert result == [
            assignment("guest", ("zone", "b"), ("sn", "2"), ("zone", "a")),
            assignment("owner", ("sn", "1")),
        ]
        assert await env.call("listUserRoles", id=ann.id) == result

    @pytest.mark.parametrize(
        ("value", "text"),
        [(7, "7"), (7.0, "7"), (0, "0"), (1e20, f"{10**20}"), (10**99, f"{10**99}"), ("aZ09", "aZ09")],
    )
    async def test_takes_text_and_whole_numbers(self, env: Environment, value: Any, text: str) -> None:
        await roles(env)
        ann = await held_by(env, assignment("owner", ("sn", value)))
        assert await env.call("listUserRoles", id=ann.id) == [assignment("owner", ("sn", text))]
        named = {"role_id": "owner", "parameter_name": "sn", "parameter_value": value}
        assert await env.call("hasUserRoleParam", {"id": ann.id, **named}) == "OK"
        assert await env.call("listRoleParamUsers", named) == [ann.id]

    @pytest.mark.parametrize(
        "value",
        [
            *("", "a" * 101, "a-b", "a b", "é", "*", "1\n", True, None, [], ["1"]),
            *(-1, 1.5, 1e200, 10**100, float("nan"), float("inf")),
            *({}, {"type": "all"}, {"type": "WILDCARD"}, {"type": "wildcard", "x": 1}),
        ],
    )
    async def test_refuses_other_values_and_changes_nothing(self, env: Environment, value: Any) -> None:
        await roles(env)
        ann = await env.person("ann")
        bad = [assignment("guest", ("sn", "1")), assignment("owner", ("sn", "1"), ("sn", value))]
        error = await env.refused("assignUser", id=ann.id, roles=bad)
        assert error["status"] == 400
        assert "Parameter roles.1.parameters.1.value validation failed: expected" in error["message"]
        assert await env.call("listUserRoles", id=ann.id) == []

    @pytest.mark.parametrize(
        ("bad", "status"),
        [
            (assignment("missing"), 404),
            (assignment("owner", ("color", "red")), 400),
            (assignment("user"), 400),
        ],
    )
    async def test_changes_nothing_where_one_of_a_list_is_wrong(
        self, env: Environment, bad: dict[str, Any], status: int
    ) -> None:
        await roles(env)
        ann = await env.person("ann")
        error = await env.refused("assignUser", id=ann.id, roles=[assignment("guest", ("sn", "1")), bad])
        assert error["status"] == status
        assert await env.call("listUserRoles", id=ann.id) == []

    @pytest.mark.parametrize("parameters", [{"parameters": []}, {"parameters": {}}, {}])
    async def test_without_parameters_gives_the_role_with_no_value(
        self, env: Environment, parameters: dict[str, Any]
    ) -> None:
        await roles(env)
        ann = await env.person("ann")
        assigned = await env.call("assignUser", id=ann.id, roles=[{"role_id": "owner", **parameters}])
        assert assigned == [assignment("owner")]
        assert await env.call("listRoleUsers", role_id="owner") == [ann.id]

    async def test_takes_one_object_for_a_list_of_one_and_an_id_as_text(self, env: Environment) -> None:
        await roles(env)
        ann = await env.person("ann")
        one = {"role_id": "owner", "parameters": {"name": "sn", "value": 1}}
        assert await env.call("assignUser", id=str(ann.id), roles=one) == [assignment("owner", ("sn", "1"))]

    async def test_keeps_wildcard_and_single_values_beside_each_other(self, env: Environment) -> None:
        await roles(env)
        both = assignment("owner", ("sn", "1"), ("sn", WILDCARD), ("sn", WILDCARD))
        ann = await held_by(env, both)
        assert await env.call("listUserRoles", id=ann.id) == [
            assignment("owner", ("sn", "1"), ("sn", WILDCARD))
        ]


class TestDeassigning:
    async def test_a_role_goes_with_its_values(self, env: Environment) -> None:
        await roles(env)
        ann = await held_by(env, assignment("owner", ("sn", "1")), assignment("guest", ("sn", "1")))
        bea = await held_by(env, assignment("owner", ("sn", "1")))
        left = [assignment("guest", ("sn", "1"))]
        for _ in range(2):  # it need not be held
            assert await env.call("deassignUser", id=ann.id, role_id="OWNER") == left
        assert await env.call("listUserRoles", id=bea.id) == [assignment("owner", ("sn", "1"))]
        assert await env.call("assignUser", id=ann.id, roles=[assignment("owner")]) == [
            *left,
            assignment("owner"),
        ]

    async def test_the_role_stays_when_its_last_value_goes(self, env: Environment) -> None:
        await roles(env)
        ann = await held_by(env, assignment("owner", ("sn", "1"), ("sn", "2")))
        named = {"id": ann.id, "role_id": "owner", "parameter_name": "SN"}
        for value, left in ((1, [("sn", "2")]), ("1", [("sn", "2")]), ("2", [])):
            assert await env.call("deassignUserParam", {**named, "parameter_value": value}) == [
                assignment("owner", *left)
            ]
        assert await env.call("listRoleUsers", role_id="owner") == [ann.id]

    async def test_the_wildcard_is_a_value_of_its_own(self, env: Environment) -> None:
        await roles(env)
        ann = await held_by(env, assignment("owner", ("sn", "1"), ("sn", WILDCARD)))
        named = {"id": ann.id, "role_id": "owner", "parameter_name": "sn"}
        assert await env.call("deassignUserParam", {**named, "parameter_value": "2"}) == [
            assignment("owner", ("sn", "1"), ("sn", WILDCARD))
        ]
        assert await env.call("deassignUserParam", {**named, "parameter_value": WILDCARD}) == [
            assignment("owner", ("sn", "1"))
        ]

    async def test_all_values_of_a_name_go_at_once(self, env: Environment) -> None:
        await roles(env)
        ann = await held_by(
            env,
            assignment("owner", ("sn", "1"), ("zone", "a"), ("sn", WILDCARD)),
            assignment("guest", ("sn", "1")),
        )
        left = [assignment("owner", ("zone", "a")), assignment("guest", ("sn", "1"))]
        for _ in range(2):
            assert (
                await env.call("deassignUserParamName", id=ann.id, role_id="owner", parameter_name="sn")
                == left
            )

    async def test_a_value_is_taken_from_all_users_of_the_role(self, env: Environment) -> None:
        await roles(env)
        ann = await held_by(
            env, assignment("owner", ("sn", "1"), ("zone", "1")), assignment("guest", ("sn", "1"))
        )
        bea = await held_by(env, assignment("owner", ("sn", "1"), ("sn", "2"), ("sn", WILDCARD)))
        named = {"role_id": "owner", "parameter_name": "sn"}
        for _ in range(2):
            assert await env.call("deleteRoleParamValue", {**named, "parameter_value": 1}) is None
        assert await env.call("listUserRoles", id=ann.id) == [
            assignment("owner", ("zone", "1")),
            assignment("guest", ("sn", "1")),
        ]
        assert await env.call("listUserRoles", id=bea.id) == [
            assignment("owner", ("sn", "2"), ("sn", WILDCARD))
        ]

    async def test_what_a_deleted_user_held_is_gone(self, env: Environment) -> None:
        await roles(env)
        ann = await held_by(env, assignment("owner", ("sn", "1")))
        raw = await env.database.read(driver)
        raw.execute("DELETE FROM user WHERE id = ?", (ann.id,))
        assert await env.call("listRoleUsers", role_id="owner") == []
        assert (
            await env.call("listRoleParamUsers", role_id="owner", parameter_name="sn", parameter_value="1")
            == []
        )


class TestAsking:
    async def test_a_user_has_values_held_in_the_role_or_the_wildcard(self, env: Environment) -> None:
        await roles(env)
        ann = await held_by(
            env,
            assignment("owner", ("sn", "aB"), ("zone", WILDCARD)),
            assignment("guest", ("sn", "1")),
        )
        for name, value, has in (
            ("SN", "aB", True),
            ("sn", "AB", False),
            ("sn", "1", False),
            ("sn", WILDCARD, False),
            ("zone", "anything", True),
            ("zone", WILDCARD, True),
        ):
            result = await env.call(
                "hasUserRoleParam", id=ann.id, role_id="Owner", parameter_name=name, parameter_value=value
            )
            assert result == "OK" if has else result["status"] == 403, (name, value, result)

    async def test_holders_come_by_id_and_each_once(self, env: Environment) -> None:
        await roles(env)
        users = [await env.person(name) for name in ("ann", "bea", "cid", "dan")]
        held: list[list[tuple[str, Any]]] = [
            [],
            [("zone", "1")],
            [("sn", "2")],
            [("sn", WILDCARD), ("sn", "1")],
        ]
        for user, values in reversed(list(zip(users, held, strict=True))):
            await env.call("assignUser", id=user.id, roles=[assignment("owner", *values)])
        ann, bea, cid, dan = (user.id for user in users)
        assert await env.call("listRoleUsers", role_id="OWNER") == [ann, bea, cid, dan]
        assert await env.call("listRoleUsers", role_id="guest") == []
        for value, holders in (("1", [dan]), ("2", [cid, dan]), ("3", [dan]), (WILDCARD, [dan])):
            assert (
                await env.call(
                    "listRoleParamUsers", role_id="owner", parameter_name="sn", parameter_value=value
                )
                == holders
            )

    async def test_solutions_do_not_see_each_other(self, env: Environment) -> None:
        await roles(env)
        ann = await held_by(env, assignment("owner", ("sn", "1")))
        other = await env.person("ann", solution="other")
        await env.call("createRole", role_id="owner", parameter=[{"name": "sn"}], solution="other")
        assert ann.id == other.id
        assert await env.call("listUserRoles", id=other.id, solution="other") == []
        assert await env.call("listRoleUsers", role_id="owner", solution="other") == []


class TestPages:
    async def test_values_come_in_the_order_of_assigning_with_their_total(self, env: Environment) -> None:
        await roles(env)
        values = [str(number) for number in range(150, 0, -1)]
        ann = await held_by(env, assignment("owner", *(("sn", value) for value in values), ("zone", "a")))
        named = {"id": ann.id, "role_id": "owner", "parameter_name": "Sn"}
        for page, items in (
            ({}, values[:100]),
            ({"offset": 100}, values[100:]),
            ({"offset": 149.0, "limit": 1.0}, values[149:]),
            ({"offset": 150}, []),
            ({"offset": 2**63 - 1}, []),
            ({"limit": 1}, values[:1]),
            ({"offset": 3, "limit": 2}, values[3:5]),
        ):
            assert await env.call("listUserRoleParamValues", {**named, **page}) == {
                "items": items,
                "total": 150,
            }

    async def test_the_wildcard_is_an_item(self, env: Environment) -> None:
        await roles(env)
        ann = await held_by(env, assignment("owner", ("sn", WILDCARD), ("sn", "1")))
        assert await env.call("listUserRoleParamValues", id=ann.id, role_id="owner", parameter_name="sn") == {
            "items": ["*", "1"],
            "total": 2,
        }
        assert await env.call("listUserRoleParamValues", id=ann.id, role_id="guest", parameter_name="sn") == {
            "items": [],
            "total": 0,
        }

    @pytest.mark.parametrize(
        "page",
        [
            {"offset": -1},
            {"limit": 0},
            {"limit": 101},
            {"limit": -1},
            {"limit": 1.5},
            {"limit": True},
            {"offset": 2**63},
        ],
    )
    async def test_a_page_out_of_range_is_400(self, env: Environment, page: dict[str, Any]) -> None:
        await roles(env)
        ann = await held_by(env, assignment("owner", ("sn", "1")))
        error = await env.refused(
            "listUserRoleParamValues", {"id": ann.id, "role_id": "owner", "parameter_name": "sn", **page}
        )
        assert error["status"] == 400
        assert next(iter(page)) in error["message"]


@pytest.mark.parametrize(
    ("operation", "more"),
    [
        ("assignUser", {"roles": []}),
        ("deassignUser", {"role_id": "owner"}),
        ("deassignUserParam", {"role_id": "owner", "parameter_name": "sn", "parameter_value": "1"}),
        ("deassignUserParamName", {"role_id": "owner", "parameter_name": "sn"}),
        ("hasUserRoleParam", {"role_id": "owner", "parameter_name": "sn", "parameter_value": "1"}),
        ("listUserRoles", {}),
        ("listUserRoleParamValues", {"role_id": "owner", "parameter_name": "sn"}),
    ],
)
async def test_a_user_who_does_not_exist_is_404(
    env: Environment, operation: str, more: dict[str, Any]
) -> None:
    await roles(env)
    error = await env.refused(operation, {"id": 7, **more})
    assert (error["status"], error["message"]) == (404, "User 7 does not exist.")


@pytest.mark.parametrize(
    ("operation", "more"),
    [
        ("deassignUserParam", {"parameter_value": "1"}),
        ("deassignUserParamName", {}),
        ("hasUserRoleParam", {"parameter_value": "1"}),
        ("listUserRoleParamValues", {}),
        ("listRoleParamUsers", {"parameter_value": "1"}),
        ("deleteRoleParamValue", {"parameter_value": "1"}),
    ],
)
async def test_a_name_that_the_role_lacks_is_400(
    env: Environment, operation: str, more: dict[str, Any]
) -> None:
    await roles(env)
    ann = await env.person("ann")
    error = await env.refused(
        operation, {"id": ann.id, "role_id": "owner", "parameter_name": "color", **more}
    )
    assert error["status"] == 400
    assert "Role owner has no parameter color" in error["message"]


async def test_nothing_is_searched_row_by_row(env: Environment) -> None:
    """Each question to the database finds its rows by an index, however many there are."""
    await roles(env)
    ann = await held_by(env, assignment("owner", ("sn", "1")))
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
