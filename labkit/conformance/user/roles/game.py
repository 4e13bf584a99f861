"""Playing the model of roles: the same roles in two solutions, with users of their own."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from labkit.conformance.models.rules import Rules
from labkit.conformance.probe import PROBE, WITNESS
from labkit.conformance.set_up import SetUpError
from labkit.conformance.target import Target
from labkit.conformance.user.roles.model import ANY, Access, Perm, Refused, shown

if TYPE_CHECKING:
    import httpx

SOLUTIONS = (PROBE, WITNESS)
USERS = 2  # in each solution
REFUSED = "refused"


class Roles:
    """One game: roles and permissions under a name of its own, and fresh users."""

    default = "USR-ROLE-11"

    def __init__(self, target: Target, rules: Rules) -> None:
        self._target = target
        self._rules = rules
        self._prefix = f"{target.identity()}-"
        self._users: list[list[int]] = [[], []]
        self.access = [Access(), Access()]
        self._lost = False

    async def begin(self) -> None:
        for index, users in enumerate(self._users):
            for _ in range(USERS):
                email = f"{self._target.identity()}@example.com"
                parameters = {"email": email, "name": "Ann", "password": "correct horse"}
                await self._call(index, "createUser", parameters)
                found = await self._call(index, "listUsers", {"filter": f"email::eq::{email}"})
                try:
                    users.append(found.json()["result"][0]["id"])
                except (KeyError, IndexError, TypeError):
                    raise SetUpError(f"set-up: a user of {SOLUTIONS[index]}: {found.text}") from None

    async def end(self) -> None:
        """What there is, is asked for once more."""
        if self._lost:
            return
        for index, access in enumerate(self.access):
            await self.list_roles(index)
            await self.list_perms(index)
            for role in list(access.roles.values()):
                await self.ask(index, "getRole", role.role_id)
                await self.ask(index, "listRolePerms", role.role_id)
            for user in range(USERS):
                await self.ask_user(index, user)

    async def close(self) -> None:
        if self._target.fresh:
            return
        for index, access in enumerate(self.access):  # elsewhere nothing is left behind
            for role in access.roles.values():
                await self._call(index, "deleteRole", {"role_id": role.role_id})
            for method, end_point in access.perms:
                await self._call(index, "deletePerm", {"perm_id": f"{method}/{end_point}"})

    async def play(self, command: Any) -> None:
        if not self._lost:
            await command(self)

    # ---- what commands do

    async def create(self, index: int, role: str, names: Sequence[str]) -> None:
        role_id = self._prefix + role
        body = {"role_id": role_id, "parameter": [{"name": each} for each in names]}
        await self._same(index, "USR-ROLE-11", "createRole", body, lambda a: a.create(role_id, names))

    async def add_names(self, index: int, role: str, names: Sequence[str]) -> None:
        role_id = self._prefix + role
        body = {"role_id": role_id, "body": [{"name": each} for each in names]}
        await self._same(index, "USR-ROLE-15", "addRoleParam", body, lambda a: a.add_names(role_id, names))

    async def remove_name(self, index: int, role: str, name: str) -> None:
        role_id = self._prefix + role
        body = {"role_id": role_id, "parameter_name": name}
        await self._same(
            index, "USR-ROLE-16", "deleteRoleParam", body, lambda a: a.remove_name(role_id, name)
        )

    async def delete(self, index: int, role: str) -> None:
        role_id = self._prefix + role
        await self._same(
            index, "USR-ROLE-14", "deleteRole", {"role_id": role_id}, lambda a: a.delete(role_id)
        )

    async def ask(self, index: int, operation: str, role: str) -> None:
        """getRole, listRolePerms or listRoleUsers."""
        role_id = role if role.startswith(self._prefix) else self._prefix + role
        body = {"role_id": role_id}
        if operation == "getRole":
            await self._same(index, "USR-ROLE-3", operation, body, lambda a: a.role(role_id).shown())
        elif operation == "listRolePerms":
            await self._same(
                index,
                "USR-PERM-8",
                operation,
                body,
                lambda a: [shown(each) for each in a.role(role_id).perms],
            )
        else:
            await self._same(index, "USR-ASSIGN-10", operation, body, lambda a: a.users(role_id))

    async def perms(self, index: int, operation: str, role: str, perm: Perm) -> None:
        """createPermission, deletePerm, addRolePerm or deleteRolePerm."""
        role_id, own = self._prefix + role, self._own(perm)
        perm_id = f"{own[0]}/{own[1]}"
        if operation == "createPermission":
            await self._same(index, "USR-PERM-10", operation, shown(own), lambda a: a.register(own))
        elif operation == "deletePerm":
            await self._same(
                index, "USR-PERM-10", operation, {"perm_id": perm_id}, lambda a: a.unregister(own)
            )
        elif operation == "addRolePerm":
            body: dict[str, Any] = {"role_id": role_id, "body": [shown(own)]}
            await self._same(index, "USR-PERM-6", operation, body, lambda a: a.add_perms(role_id, [own]))
        else:
            body = {"role_id": role_id, "perm_id": perm_id}
            await self._same(index, "USR-PERM-4", operation, body, lambda a: a.remove_perm(role_id, own))

    async def assign(self, index: int, user: int, role: str, values: Sequence[tuple[str, str]]) -> None:
        role_id, id = self._prefix + role, self._users[index][user]
        given = [{"name": name, "value": sent(value)} for name, value in values]
        body = {"id": id, "roles": [{"role_id": role_id, "parameters": given}]}
        await self._same(index, "USR-ASSIGN-7", "assignUser", body, lambda a: a.assign(id, role_id, values))

    async def take(self, index: int, user: int, operation: str, role: str, name: str, value: str) -> None:
        """deassignUser, deassignUserParam, deassignUserParamName or deleteRoleParamValue."""
        role_id, id = self._prefix + role, self._users[index][user]
        body: dict[str, Any] = {"role_id": role_id}
        if operation == "deleteRoleParamValue":
            body |= {"parameter_name": name, "parameter_value": sent(value)}

            def taken(access: Access) -> None:
                access.take(None, role_id, name, value)

            await self._same(index, "USR-ASSIGN-9", operation, body, taken)
            return
        body["id"] = id
        if operation == "deassignUser":
            await self._same(index, "USR-ASSIGN-13", operation, body, lambda a: a.deassign(id, role_id))
        elif operation == "deassignUserParamName":
            body["parameter_name"] = name
            await self._same(index, "USR-ASSIGN-15", operation, body, lambda a: a.take(id, role_id, name))
        else:
            body |= {"parameter_name": name, "parameter_value": sent(value)}
            await self._same(
                index, "USR-ASSIGN-14", operation, body, lambda a: a.take(id, role_id, name, value)
            )

    async def ask_user(self, index: int, user: int) -> None:
        """listUserRoles."""
        id = self._users[index][user]
        await self._same(index, "USR-ASSIGN-19", "listUserRoles", {"id": id}, lambda a: a.held(id))

    async def holds(self, index: int, user: int, role: str, name: str, value: str) -> None:
        """hasUserRoleParam, and who holds the value."""
        role_id, id = self._prefix + role, self._users[index][user]
        body = {"role_id": role_id, "parameter_name": name, "parameter_value": value}
        if value != ANY:
            held = self.access[index].holds(id, role_id, name, value)
            role_kept = self.access[index].roles.get(role_id.lower())
            if role_kept is not None and name.lower() in role_kept.names:
                await self._allowed(index, "USR-ASSIGN-17", "hasUserRoleParam", {"id": id, **body}, held)
            await self._same(
                index, "USR-ASSIGN-11", "listRoleParamUsers", body, lambda a: a.users_of(role_id, name, value)
            )

    async def values(self, index: int, user: int, role: str, name: str, page: tuple[int, int]) -> None:
        """listUserRoleParamValues."""
        role_id, id = self._prefix + role, self._users[index][user]
        body = {"id": id, "role_id": role_id, "parameter_name": name, "offset": page[0], "limit": page[1]}
        await self._same(
            index,
            "USR-ASSIGN-20",
            "listUserRoleParamValues",
            body,
            lambda a: a.values(id, role_id, name, *page),
        )

    async def may(self, index: int, user: int, perm: Perm, given: Sequence[tuple[str, str]]) -> None:
        """hasUserPerm."""
        own, id = self._own(perm), self._users[index][user]
        body = {"id": id, "perm_id": f"{own[0]}/{own[1]}", "parameters": [f"{a}::{b}" for a, b in given]}
        wanted = self.access[index].may(id, own, given)
        await self._allowed(index, "USR-PERM-11", "hasUserPerm", body, wanted)

    async def list_roles(self, index: int) -> None:
        """listRoles, without those of others."""
        response = await self._call(index, "listRoles", {})
        found = result(response)
        own = [
            each for each in found if isinstance(each, dict) and str(each["role_id"]).startswith(self._prefix)
        ]
        self._rules.holds("USR-ROLE-12", "roles", own, self.access[index].listed(), response)

    async def list_perms(self, index: int) -> None:
        """listPerms, without those of others."""
        response = await self._call(index, "listPerms", {})
        own = [each for each in result(response) if self._prefix in str(each)]
        wanted = [shown(each) for each in self.access[index].perms]
        self._rules.holds("USR-PERM-10", "permissions", own, wanted, response)

    # ---- comparing

    def _own(self, perm: Perm) -> Perm:
        return perm[0], perm[1].replace("~", self._prefix)

    async def _same(
        self,
        index: int,
        rule: str,
        operation: str,
        parameters: dict[str, Any],
        change: Callable[[Access], object],
    ) -> None:
        """What an operation gives must be what the model gives."""
        try:
            wanted = change(self.access[index])
        except Refused as refused:
            rule, wanted = refused.rule, {REFUSED: refused.status}
        response = await self._call(index, operation, parameters)
        seen = result(response)
        if isinstance(seen, dict) and "error" in seen:
            seen = {REFUSED: seen.get("status")}
        text = self._prefix in json.dumps(seen) and wanted in ([], None)
        rule = "USR-ROLE-13" if text and rule == "USR-ROLE-12" else rule
        if not self._rules.holds(rule, f"what {operation} gives", seen, wanted, response):
            self._lost = True

    async def _allowed(
        self, index: int, rule: str, operation: str, parameters: dict[str, Any], wanted: bool
    ) -> None:
        response = await self._call(index, operation, parameters)
        seen = result(response)
        status = seen.get("status") if isinstance(seen, dict) else seen
        if not self._rules.holds(rule, f"what {operation} gives", status, "OK" if wanted else 403, response):
            self._lost = True

    async def _call(self, index: int, operation: str, parameters: dict[str, Any]) -> httpx.Response:
        client = self._target.shared_client(SOLUTIONS[index])
        response = await client.request("POST", f"/call/User/{operation}", json=parameters)
        self._rules.holds("USR-ROLE-11", f"status of {operation}", response.status_code, 200, response)
        return response


def result(response: httpx.Response) -> Any:
    """What an operation gave."""
    return response.json().get("result")


def sent(value: str) -> object:
    """A value as it is sent: the wildcard is an object, and a number is one at times."""
    return {"type": "wildcard"} if value == ANY else int(value) if value == "7" else value
