"""Model game of roles: the same roles in two solutions, each with its own users."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from labkit.conformance.models.calls import CallResult, Refused
from labkit.conformance.models.commands import Commands, several, together
from labkit.conformance.models.game import LONG, TenantGame
from labkit.conformance.set_up import SetUpError
from labkit.conformance.user.roles.model import ANY, Access, Assigned, Perm, shown

USERS = 3  # in each solution
FIRST_ROLES = (("r", ("sn", "zone")), ("s", ("Zone", "sn")))
FIRST_PERMS: dict[str, tuple[Perm, ...]] = {
    "r": (("GET", "/~/x/{sn}"), ("POST", "/~/x/{sn}"), ("POST", "/~/x/{sn}/{ZONE}"), ("GET", "/~/y")),
    "s": (("GET", "/~/x/{sn}"), ("POST", "/~/x/{sn}/{ZONE}"), ("GET", "/~/X/{sn}")),
}
FIRST_ASSIGNED: tuple[Assigned, ...] = (
    (("r", (("sn", "A"), ("sn", "1"), ("zone", "a"))), ("s", (("sn", "2"),))),
    (("s", (("sn", "*"), ("zone", "a"))), ("r", ())),
    (("r", (("sn", "2"), ("sn", "*"), ("sn", "1"), ("sn", "A"))),),
)

ROLES = ("r", "r", "r", "R", "s", "s", "S", "t")
WRONG_ROLES = ("80", "81", "", "!é", "!a b", "!users", "!me", "!Roles", "a/b", "a.b")
NAMES = ("sn", "sn", "SN", "zone", "Zone")
MORE_NAMES = ("sn", "ZONE", "other", "x" * 40, "x" * 41, "s1", "", "member", "Roles", "é", "a_b")
VALUES = ("1", "1", "2", "2", "a", "A", "7", "*")
MORE_VALUES = ("x" * 100, "x" * 101, "007", "é", "a b", "a-b", "")
PERMS = (
    ("GET", "/~/x/{sn}"),
    ("GET", "/~/x/{sn}"),
    ("POST", "/~/x/{sn}"),
    ("POST", "/~/x/{sn}/{ZONE}"),
    ("POST", "/~/x/{sn}/{ZONE}"),
    ("GET", "/~/y"),
    ("GET", "/~/X/{sn}"),
    ("GET", "~/y"),
    ("PUT", "/~/{none}"),
    ("PUT", "/~/{}"),
)
WRONG_PERMS = (
    ("get", "/~/y"),
    ("GETGETGETGE", "/~/y"),
    ("", "/~/y"),
    ("GET", ""),
    ("GET", "/~/é"),
    ("G1", "/~/y"),
)
DEASSIGNMENTS = (
    *("deassignUser", "deassignUserParam", "deassignUserParamName"),
    *("deleteRoleParamValue", "deleteRoleParamValue"),
)
ANY_PAIRS = several(together((*NAMES, "other"), (*VALUES, *MORE_VALUES)), 2)
GIVEN = several(together(NAMES, ("1", "1", "2", "a", "a", "A")), 3, 1, unique_by=lambda each: each[0].lower())

command = Commands(
    index=(0, 0, 1),
    user=(0, 0, 1, 1, 2),
    role=ROLES,
    name=NAMES,
    value=VALUES,
    perm=PERMS,
    names=several((*NAMES, *MORE_NAMES), 3),
)


class Roles(TenantGame[Access]):
    """One game: roles and permissions with a fresh prefix, and new users with assignments of some of them."""

    default = "USR-ROLE-11"
    average = LONG
    service = "User"
    model = Access

    async def begin(self) -> None:
        """Create users, roles, permissions and assignments in both solutions."""
        self.users: list[list[int]] = [[], []]
        await self._sign_up()
        behind = self.users[0][0] - self.users[1][0]
        if behind and self._target.fresh:  # equal ids in both reveal a confusion of solutions
            await self._sign_up(int(behind > 0), abs(behind))
            await self._sign_up()
        for index in range(len(self.models)):
            for role, names in FIRST_ROLES:
                await self.create(index, role, names)
                await self.add_perms(index, role, FIRST_PERMS[role])
            for user, assigned in enumerate(FIRST_ASSIGNED):
                await self.assign(index, user, assigned)

    async def _sign_up(self, behind: int = 0, more: int = 0) -> None:
        """Create users in both solutions, or only `more` users in the solution `behind`."""
        found: list[list[CallResult]] = [[], []]
        for index in (behind,) if more else range(len(self.models)):
            emails = [f"{self._target.identity()}@example.com" for _ in range(more or USERS)]
            for email in emails:
                person = {"email": email, "name": "Ann", "password": "correct horse"}
                self._calls.add(index, "User.createUser", person)
            query = {"filter": f"email::in::{','.join(emails[-USERS:])}"}
            self._calls.add(index, "User.listUsers", query, found[index].append)
        await self._calls.send()
        for index, [given] in enumerate([] if more else found):
            try:
                self.users[index] = [each["id"] for each in given.value]
            except (KeyError, TypeError):
                self.users[index] = []
            if len(self.users[index]) != USERS:
                raise SetUpError(f"set-up: users of {self.solutions[index]}: {given.shown()}")

    async def end(self) -> None:
        """Read and compare all roles, permissions and assignments."""
        for index, access in enumerate(self.models):
            await self.list_roles(index)
            await self.list_perms(index)
            for role in list(access.roles.values()):
                for operation in ("getRole", "listRolePerms", "listRoleUsers"):
                    await self.read_role(index, operation, role.role_id)
                for name in role.names.values():
                    for value in ("1", "2", "A"):
                        await self.users_of(index, role.role_id, name, value)
            for user in range(USERS):
                await self.list_user_roles(index, user)
        await self._calls.send()

    def clean_up(self) -> None:
        for index, access in enumerate(self.models):
            for role in access.roles.values():
                self._calls.add(index, "User.deleteRole", {"role_id": role.role_id})
            for method, end_point in access.perms:
                self._calls.add(index, "User.deletePerm", {"perm_id": f"{method}/{end_point}"})

    # ---- commands

    @command(role=("t", *ROLES, *WRONG_ROLES))
    async def create(self, index: int, role: str, names: Sequence[str]) -> None:
        """Call createRole."""
        role_id = self._role_id(role)
        body = {"role_id": role_id, "parameter": [{"name": each} for each in names]}
        self._compare(index, "USR-ROLE-11", "createRole", body, lambda a: a.create(role_id, names))

    @command()
    @command(names=several((*NAMES, "ZONE"), 2))
    async def add_names(self, index: int, role: str, names: Sequence[str]) -> None:
        """Call addRoleParam."""
        role_id = self._role_id(role)
        body = {"role_id": role_id, "body": [{"name": each} for each in names]}
        self._compare(index, "USR-ROLE-15", "addRoleParam", body, lambda a: a.add_names(role_id, names))

    @command()
    async def remove_name(self, index: int, role: str, name: str) -> None:
        """Call deleteRoleParam."""
        role_id = self._role_id(role)
        body = {"role_id": role_id, "parameter_name": name}
        self._compare(index, "USR-ROLE-16", "deleteRoleParam", body, lambda a: a.remove_name(role_id, name))

    @command()
    async def delete(self, index: int, role: str) -> None:
        """Call deleteRole."""
        role_id = self._role_id(role)
        self._compare(index, "USR-ROLE-14", "deleteRole", {"role_id": role_id}, lambda a: a.delete(role_id))

    @command()
    async def delete_user(self, index: int, user: int) -> None:
        """Call deleteUser, once per user."""
        id = self.users[index][user]
        if id not in self.models[index].deleted:
            self._compare(index, "USR-ASSIGN-23", "deleteUser", {"id": id}, lambda a: a.delete_user(id))

    @command(operation=("getRole", "listRolePerms", "listRoleUsers"))
    async def read_role(self, index: int, operation: str, role: str) -> None:
        """Call getRole, listRolePerms or listRoleUsers."""
        role_id = self._role_id(role)
        rule, asked = {
            "getRole": ("USR-ROLE-3", lambda a: a.role(role_id).shown()),
            "listRolePerms": ("USR-PERM-8", lambda a: [shown(each) for each in a.role(role_id).perms]),
            "listRoleUsers": ("USR-ASSIGN-10", lambda a: a.users(role_id)),
        }[operation]
        self._compare(index, rule, operation, {"role_id": role_id}, asked)

    @command(operation=("deleteRolePerm", "deleteRolePerm", "deletePerm", "createPermission"))
    @command(operation=["createPermission"], role=["r"], perm=WRONG_PERMS)
    async def change_perm(self, index: int, operation: str, role: str, perm: Perm) -> None:
        """Call createPermission, deletePerm or deleteRolePerm."""
        role_id, own = self._role_id(role), self._own_perm(perm)
        named = {"perm_id": "/".join(own)}
        rule, body, change = {
            "createPermission": ("USR-PERM-9", shown(own), lambda a: a.register(own)),
            "deletePerm": ("USR-PERM-10", named, lambda a: a.unregister(own)),
            "deleteRolePerm": (
                "USR-PERM-4",
                {"role_id": role_id, **named},
                lambda a: a.remove_perm(role_id, own),
            ),
        }[operation]
        self._compare(index, rule, operation, body, change)

    @command(perms=several((*PERMS, *PERMS, *WRONG_PERMS), 2))
    async def add_perms(self, index: int, role: str, perms: Sequence[Perm]) -> None:
        """Call addRolePerm."""
        role_id, own = self._role_id(role), [self._own_perm(each) for each in perms]
        body = {"role_id": role_id, "body": [shown(each) for each in own]}
        self._compare(index, "USR-PERM-6", "addRolePerm", body, lambda a: a.add_perms(role_id, own))

    @command(assigned=together(together(ROLES, several(together(NAMES, VALUES), 4))))
    @command(assigned=several(together(ROLES, ANY_PAIRS), 2))
    async def assign(self, index: int, user: int, assigned: Assigned) -> None:
        """Call assignUser with one or several roles."""
        id, own = self.users[index][user], [(self._role_id(role), values) for role, values in assigned]
        roles = [
            {
                "role_id": role_id,
                "parameters": [{"name": name, "value": as_sent(value)} for name, value in values],
            }
            for role_id, values in own
        ]
        body = {"id": id, "roles": roles}
        self._compare(index, "USR-ASSIGN-7", "assignUser", body, lambda a: a.assign(id, own))

    @command(2, operation=DEASSIGNMENTS)
    async def deassign(self, index: int, user: int, operation: str, role: str, name: str, value: str) -> None:
        """Call deassignUser, deassignUserParam, deassignUserParamName or deleteRoleParamValue."""
        role_id, id = self._role_id(role), self.users[index][user]
        given = {"id": id, "role_id": role_id, "parameter_name": name, "parameter_value": as_sent(value)}
        rule, names, change = {
            "deassignUser": ("USR-ASSIGN-13", "id role_id", lambda a: a.deassign(id, role_id)),
            "deassignUserParamName": (
                "USR-ASSIGN-15",
                "id role_id parameter_name",
                lambda a: a.remove_values(id, role_id, name),
            ),
            "deassignUserParam": (
                "USR-ASSIGN-14",
                " ".join(given),
                lambda a: a.remove_values(id, role_id, name, value),
            ),
            "deleteRoleParamValue": (
                "USR-ASSIGN-9",
                "role_id parameter_name parameter_value",
                lambda a: a.remove_values(None, role_id, name, value),
            ),
        }[operation]
        self._compare(index, rule, operation, {each: given[each] for each in names.split()}, change)

    @command()
    async def list_user_roles(self, index: int, user: int) -> None:
        """Call listUserRoles."""
        id = self.users[index][user]
        self._compare(index, "USR-ASSIGN-19", "listUserRoles", {"id": id}, lambda a: a.assignments(id))

    @command()
    @command(value=("1", "a", "A", "A"))
    async def check_value(self, index: int, user: int, role: str, name: str, value: str) -> None:
        """Call hasUserRoleParam, and listRoleParamUsers for the same value."""
        role_id, id = self._role_id(role), self.users[index][user]
        if value == ANY:
            return
        body = {"id": id, "role_id": role_id, "parameter_name": name, "parameter_value": value}

        def held(access: Access) -> str:
            if not access.has_value(id, role_id, name, value):
                raise Refused("USR-ASSIGN-17", 403, choice="USR-ASSIGN-18")
            return "OK"

        self._compare(index, "USR-ASSIGN-17", "hasUserRoleParam", body, held)
        await self.users_of(index, role, name, value)

    async def users_of(self, index: int, role: str, name: str, value: str) -> None:
        """Call listRoleParamUsers."""
        role_id = self._role_id(role)
        body = {"role_id": role_id, "parameter_name": name, "parameter_value": value}
        operation = "listRoleParamUsers"
        self._compare(index, "USR-ASSIGN-11", operation, body, lambda a: a.users_of(role_id, name, value))

    @command(page=together((0, 0, 1, 2, -1), (100, 1, 2, 101, 0)))
    async def list_values(self, index: int, user: int, role: str, name: str, page: tuple[int, int]) -> None:
        """Call listUserRoleParamValues."""
        role_id, id = self._role_id(role), self.users[index][user]
        body = {"id": id, "role_id": role_id, "parameter_name": name, "offset": page[0], "limit": page[1]}
        operation = "listUserRoleParamValues"
        self._compare(index, "USR-ASSIGN-20", operation, body, lambda a: a.values(id, role_id, name, *page))

    @command(3, given=GIVEN)
    async def check_permission(
        self, index: int, user: int, perm: Perm, given: Sequence[tuple[str, str]]
    ) -> None:
        """Call hasUserPerm."""
        own, id = self._own_perm(perm), self.users[index][user]
        body = {"id": id, "perm_id": "/".join(own), "parameters": [f"{a}::{b}" for a, b in given]}
        count = own[1].count("{")
        rule = "USR-PERM-14" if count == 0 else "USR-PERM-13" if count > 1 else "USR-PERM-11"

        def allowed(access: Access) -> str:
            if not access.has_permission(id, own, given):
                raise Refused(rule, 403)
            return "OK"

        self._compare(index, rule, "hasUserPerm", body, allowed)

    @command()
    async def list_roles(self, index: int) -> None:
        """Call listRoles and compare the roles of this game."""
        self._compare(index, "USR-ROLE-12", "listRoles", {}, Access.listed, self._own)

    @command()
    async def list_perms(self, index: int) -> None:
        """Call listPerms and compare the permissions of this game."""
        self._compare(
            index, "USR-PERM-10", "listPerms", {}, lambda a: [shown(each) for each in a.perms], self._own
        )

    # ---- comparing

    def _own(self, found: Any) -> Any:
        own = self._prefix
        return [each for each in found if own in json.dumps(each)] if isinstance(found, list) else found

    def _own_perm(self, perm: Perm) -> Perm:
        return perm[0], perm[1].replace("~", self._prefix)

    def _role_id(self, role: str) -> str:
        """Return the role_id of this game: digits: one of that length; `!…`: the rest without the prefix."""
        if role.isdigit():
            return self._prefix + "x" * (int(role) - len(self._prefix))
        return (
            role.removeprefix("!")
            if role.startswith(("!", self._prefix)) or not role
            else self._prefix + role
        )


def as_sent(value: str) -> object:
    """Return a value as it is sent: the wildcard as an object, 7 as a number."""
    return {"type": "wildcard"} if value == ANY else int(value) if value == "7" else value
