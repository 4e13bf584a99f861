"""The whole group of roles, permissions and assignments against a small model of its rules.

The model has no tables, no indexes and no cascades: it keeps plain lists and says what follows from the rules.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.services.user.environment import Environment
from tests.sizes import size

USERS = 3  # those of a solution have the ids 1, 2, 3
WILDCARD = {"type": "wildcard"}

Named = list[dict[str, str]]


class Refused(Exception):
    """The model refuses with a status."""


@dataclass
class Role:
    """A role, its parameters as first spelled, and its permissions."""

    role_id: str
    names: list[str] = field(default_factory=list)
    permissions: Named = field(default_factory=list)

    def shown(self) -> dict[str, Any]:
        return {"role_id": self.role_id, "parameter": [{"name": name} for name in self.names]}

    def spelled(self, name: str) -> str:
        for known in self.names:
            if known.lower() == name.lower():
                return known
        raise Refused(400)


@dataclass
class Model:
    """The rules. Each method is an operation; names and values are well formed here: see `step`."""

    roles: list[Role] = field(default_factory=list)
    permissions: Named = field(default_factory=list)
    held: dict[int, list[tuple[str, list[Any]]]] = field(
        default_factory=lambda: {id: [] for id in range(1, USERS + 1)}
    )  # user → (role_id, [(name, value)]), all as first spelled

    def role(self, role_id: str) -> Role:
        for role in self.roles:
            if role.role_id.lower() == role_id.lower():
                return role
        raise Refused(404)

    def user(self, id: int) -> None:
        if id not in self.held:
            raise Refused(404)

    def values(self, id: int, role: Role) -> list[tuple[str, Any]] | None:
        """What a user holds in a role, None where not even the role."""
        return next((values for role_id, values in self.held[id] if role_id == role.role_id), None)

    def createRole(self, role_id: str, parameter: Named) -> Any:
        if any(role.role_id.lower() == role_id.lower() for role in self.roles):
            raise Refused(409)
        self.roles.append(Role(role_id))
        return self.addRoleParam(role_id, parameter)

    def getRole(self, role_id: str) -> Any:
        return self.role(role_id).shown()

    def listRoles(self) -> Any:
        return [role.shown() for role in self.roles]

    def deleteRole(self, role_id: str) -> None:
        role = self.role(role_id)
        self.roles.remove(role)
        for id in self.held:
            self.held[id] = [held for held in self.held[id] if held[0] != role.role_id]

    def addRoleParam(self, role_id: str, body: Named) -> Any:
        role = self.role(role_id)
        for name in (item["name"] for item in body):
            if name.lower() not in [known.lower() for known in role.names]:
                role.names.append(name)
        return role.shown()

    def deleteRoleParam(self, role_id: str, parameter_name: str) -> Any:
        role = self.role(role_id)
        self.drop(range(1, USERS + 1), role, parameter_name)
        role.names.remove(role.spelled(parameter_name))
        return role.shown()

    def deleteRoleParamValue(self, role_id: str, parameter_name: str, parameter_value: Any) -> None:
        self.drop(range(1, USERS + 1), self.role(role_id), parameter_name, parameter_value)

    def drop(self, users: Any, role: Role, name: str, value: Any = None) -> None:
        """Take a value (None: all) of a parameter from users; they keep the role."""
        name = role.spelled(name)
        for id in users:
            held = self.values(id, role) or []
            held[:] = [pair for pair in held if pair[0] != name or value not in (None, pair[1])]

    def createPermission(self, method: str, end_point: str) -> Any:
        permission = {"method": method, "end_point": end_point}
        if permission not in self.permissions:
            self.permissions.append(permission)
        return permission

    def listPerms(self) -> Any:
        return self.permissions

    def deletePerm(self, perm_id: str) -> None:
        permission = split(perm_id)
        if permission not in self.permissions:
            raise Refused(404)
        for holding in (self.permissions, *(role.permissions for role in self.roles)):
            holding[:] = [other for other in holding if other != permission]

    def addRolePerm(self, role_id: str, body: Named) -> Any:
        role = self.role(role_id)
        for permission in body:
            self.createPermission(**permission)
            if permission not in role.permissions:
                role.permissions.append(permission)
        return role.permissions

    def deleteRolePerm(self, role_id: str, perm_id: str) -> Any:
        role = self.role(role_id)
        if split(perm_id) not in role.permissions:
            raise Refused(404)
        role.permissions.remove(split(perm_id))
        return role.permissions

    def listRolePerms(self, role_id: str) -> Any:
        return self.role(role_id).permissions

    def listRoleUsers(self, role_id: str) -> Any:
        role = self.role(role_id)
        return [id for id in self.held if self.values(id, role) is not None]

    def listRoleParamUsers(self, role_id: str, parameter_name: str, parameter_value: Any) -> Any:
        self.role(role_id).spelled(parameter_name)
        return [id for id in self.held if self.has(id, role_id, parameter_name, parameter_value)]

    def has(self, id: int, role_id: str, name: str, value: Any) -> bool:
        role = self.role(role_id)
        held = self.values(id, role) or []
        return (role.spelled(name), value) in held or (role.spelled(name), WILDCARD) in held

    def assignUser(self, id: int, roles: list[dict[str, Any]]) -> Any:
        self.user(id)
        for item in roles:  # one that is wrong refuses them all
            role = self.role(item["role_id"])
            for parameter in item["parameters"]:
                role.spelled(parameter["name"])
        for item in roles:
            role = self.role(item["role_id"])
            if self.values(id, role) is None:
                self.held[id].append((role.role_id, []))
            held = self.values(id, role)
            assert held is not None
            for parameter in item["parameters"]:
                pair = (role.spelled(parameter["name"]), parameter["value"])
                if pair not in held:
                    held.append(pair)
        return self.listUserRoles(id)

    def deassignUser(self, id: int, role_id: str) -> Any:
        self.user(id)
        role = self.role(role_id)
        self.held[id] = [held for held in self.held[id] if held[0] != role.role_id]
        return self.listUserRoles(id)

    def deassignUserParam(self, id: int, role_id: str, parameter_name: str, parameter_value: Any) -> Any:
        self.user(id)
        self.drop([id], self.role(role_id), parameter_name, parameter_value)
        return self.listUserRoles(id)

    def deassignUserParamName(self, id: int, role_id: str, parameter_name: str) -> Any:
        return self.deassignUserParam(id, role_id, parameter_name, None)

    def hasUserRoleParam(self, id: int, role_id: str, parameter_name: str, parameter_value: Any) -> str:
        self.user(id)
        if not self.has(id, role_id, parameter_name, parameter_value):
            raise Refused(403)
        return "OK"

    def listUserRoles(self, id: int) -> Any:
        self.user(id)
        return [
            {"role_id": role_id, "parameters": [{"name": name, "value": value} for name, value in values]}
            for role_id, values in self.held[id]
        ]

    def listUserRoleParamValues(
        self, id: int, role_id: str, parameter_name: str, offset: int, limit: int
    ) -> Any:
        self.user(id)
        role = self.role(role_id)
        name = role.spelled(parameter_name)
        found = [
            "*" if value == WILDCARD else value for held, value in self.values(id, role) or [] if held == name
        ]
        return {"items": found[offset : offset + limit], "total": len(found)}

    def hasUserPerm(self, id: int, perm_id: str, parameters: list[str]) -> str:
        given: dict[str, set[str]] = {}
        for name, value in (text.split("::") for text in parameters):
            given.setdefault(name.lower(), set()).add(value)
        wanted = re.findall(r"\{(\w+)\}", split(perm_id)["end_point"])
        for role in self.roles if id in self.held else []:
            if split(perm_id) in role.permissions and self.values(id, role):
                known = [name.lower() for name in role.names]
                if all(
                    name.lower() in known
                    and len(values := given.get(name.lower(), set())) == 1
                    and all(value.isalnum() and self.has(id, role.role_id, name, value) for value in values)
                    for name in wanted
                ):
                    return "OK"
        raise Refused(403)


def split(perm_id: str) -> dict[str, str]:
    method, _, end_point = perm_id.partition("/")
    return {"method": method, "end_point": end_point}


# What is played. Each kind has a few names, so that they meet, in several spellings, and one that is BAD.
BAD = ["User", "s1", "a-b", "all", "sn:1", -1, 101]

END_POINTS = ["status", "{sn}", "{SN}", "{sn}/{zone}"]
role_ids = st.sampled_from(["owner", "Owner", "guest", "GUEST"] * 9 + ["other", "User"])
names = st.sampled_from(["sn", "SN", "zone", "Zone"] * 9 + ["s1"])
values = st.sampled_from(["1", 1, 1.0, "a", "A", WILDCARD] * 12 + ["a-b", {"type": "all"}])
ids = st.sampled_from([1, 2, 3] * 9 + [9])
end_points = st.sampled_from(END_POINTS)
permissions = st.fixed_dictionaries({"method": st.sampled_from(["GET", "PUT"]), "end_point": end_points})
perm_ids = permissions.map("{0[method]}/{0[end_point]}".format)
pairs = st.tuples(
    st.sampled_from(["sn::1", "SN::1", "sn::a"] * 5 + ["sn:1", "color::red"]),
    st.sampled_from(["zone::1", "Zone::1", "zone::a"] * 5 + ["color::red"]),
    st.sampled_from(["color::red", "c-r::2"] * 5 + ["sn::1", "Sn::a", "ZONE::a-b"]),
).map(list)
named = st.lists(st.fixed_dictionaries({"name": names}), max_size=3)
assigned = st.fixed_dictionaries(
    {
        "role_id": role_ids,
        "parameters": st.lists(st.fixed_dictionaries({"name": names, "value": values}), max_size=2),
    }
)
_user, _role, _name, _value = (
    {"id": ids},
    {"role_id": role_ids},
    {"parameter_name": names},
    {"parameter_value": values},
)
CALLS: dict[str, dict[str, Any]] = {
    "createRole": {**_role, "parameter": named},
    "getRole": _role,
    "listRoles": {},
    "deleteRole": _role,
    "addRoleParam": {**_role, "body": named},
    "deleteRoleParam": {**_role, **_name},
    "deleteRoleParamValue": {**_role, **_name, **_value},
    "createPermission": {"method": st.just("GET"), "end_point": end_points},
    "listPerms": {},
    "deletePerm": {"perm_id": perm_ids},
    "addRolePerm": {**_role, "body": st.lists(permissions, max_size=2)},
    "deleteRolePerm": {**_role, "perm_id": perm_ids},
    "listRolePerms": _role,
    "listRoleUsers": _role,
    "listRoleParamUsers": {**_role, **_name, **_value},
    "assignUser": {**_user, "roles": st.lists(assigned, max_size=2)},
    "deassignUser": {**_user, **_role},
    "deassignUserParam": {**_user, **_role, **_name, **_value},
    "deassignUserParamName": {**_user, **_role, **_name},
    "hasUserRoleParam": {**_user, **_role, **_name, **_value},
    "listUserRoles": _user,
    "listUserRoleParamValues": {
        **_user,
        **_role,
        **_name,
        "offset": st.sampled_from([0, 0, 0, 1, 2, 3, -1]),
        "limit": st.sampled_from([1, 2, 3, 4, 5, 100, 101]),
    },
    "hasUserPerm": {**_user, "perm_id": perm_ids, "parameters": pairs},
}


def leaves(given: Any) -> list[Any]:
    if isinstance(given, dict):
        given = list(given.values())
    return [leaf for item in given for leaf in leaves(item)] if isinstance(given, list) else [given]


def as_kept(given: Any) -> Any:
    """What is given, with numbers as values written as text."""
    if isinstance(given, list):
        return [as_kept(item) for item in given]
    if not isinstance(given, dict):
        return given
    return {
        key: str(int(item)) if "value" in key and isinstance(item, (int, float)) else as_kept(item)
        for key, item in given.items()
    }


class Steps(RuleBasedStateMachine):
    """A solution of its own for each sequence: quicker than a database of its own."""

    env: Environment
    loop: asyncio.AbstractEventLoop
    solutions = itertools.count()

    def __init__(self) -> None:
        super().__init__()
        self.solution = f"solution{next(self.solutions)}"
        self.model = Model()
        for name in ("ann", "bea", "cid")[:USERS]:
            self.loop.run_until_complete(self.env.person(name, solution=self.solution))

    @initialize(roles=st.lists(assigned, min_size=3 * USERS, max_size=3 * USERS))
    def furnish(self, roles: list[dict[str, Any]]) -> None:
        """Begin with something in env: steps into emptiness find little."""
        parameter = [{"name": "sn"}, {"name": "Zone"}]
        body = [{"method": "GET", "end_point": end_point} for end_point in END_POINTS]
        for role_id in ("Owner", "guest"):
            self.step("createRole", {"role_id": role_id, "parameter": parameter})
            self.step("addRolePerm", {"role_id": role_id, "body": body})
        for id in self.model.held:
            self.step("assignUser", {"id": id, "roles": roles[3 * id - 3 : 3 * id]})

    def expected(self, operation: str, given: dict[str, Any]) -> Any:
        """The model's result, or the status with which it refuses."""
        if any(leaf in BAD for leaf in leaves(given)):
            return 403 if operation == "hasUserPerm" else 400
        try:
            return getattr(self.model, operation)(**as_kept(given))
        except Refused as refused:
            return refused.args[0]

    def step(self, operation: str, given: dict[str, Any]) -> None:
        expected = self.expected(operation, given)
        result = self.loop.run_until_complete(self.env.call(operation, given, solution=self.solution))
        refused = isinstance(result, dict) and "status" in result
        assert (result["status"] if refused else result) == expected

    def teardown(self) -> None:
        """However the steps went, both hold the same in the end."""
        self.step("listRoles", {})
        self.step("listPerms", {})
        for role in self.model.roles:
            self.step("listRolePerms", {"role_id": role.role_id})
        for id in self.model.held:
            self.step("listUserRoles", {"id": id})
            for end_point in ("status", "{sn}/{zone}"):
                query = {"id": id, "perm_id": f"GET/{end_point}", "parameters": ["sn::1", "zone::1"]}
                self.step("hasUserPerm", query)


def played(operation: str, parameters: dict[str, Any]) -> Callable[..., None]:
    def play(self: Steps, given: dict[str, Any]) -> None:
        self.step(operation, given)

    play.__name__ = operation
    return rule(given=st.fixed_dictionaries(parameters))(play)


@pytest.mark.timeout(600)  # at full size
def test_every_sequence_of_operations_follows_the_rules(env: Environment) -> None:
    with asyncio.Runner() as runner:
        machine = type(
            "Machine",
            (Steps,),
            {
                **{operation: played(operation, parameters) for operation, parameters in CALLS.items()},
                "env": env,
                "loop": runner.get_loop(),
            },
        )
        run_state_machine_as_test(
            machine,
            settings=settings(max_examples=size(200, 2_000), stateful_step_count=15, deadline=None),
        )
