"""Client of roles, permissions and assignments for checks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from labkit.conformance.probe import Table
from labkit.conformance.set_up import set_up
from labkit.conformance.users import User

WILDCARD = {"type": "wildcard"}


def named(*names: str) -> list[Table]:
    """Return role parameters with these names."""
    return [{"name": name} for name in names]


def assignment(role_id: str, *values: tuple[str, object]) -> Table:
    """Return the assignment of a role with parameter values, as assignUser accepts it."""
    return {"role_id": role_id, "parameters": [{"name": name, "value": value} for name, value in values]}


def permission(perm_id: str) -> Table:
    """Return the method and end point of a perm_id."""
    method, _, end_point = perm_id.partition("/")
    return {"method": method, "end_point": end_point}


class Access(User):
    """Roles, assignments and permissions of users, through the probe."""

    async def role(self, *names: str, perms: Iterable[str] = ()) -> str:
        """Create a role with parameters and permissions, and return its role_id, which is unused before."""
        role_id = self._target.identity()
        with set_up("a role"):
            await self.table("createRole", role_id=role_id, parameter=named(*names))
        if perms:
            body = [permission(perm_id) for perm_id in perms]
            await self.table("addRolePerm", role_id=role_id, body=body)
        return role_id

    async def assign(self, id: int, role_id: str, *values: tuple[str, object]) -> Any:
        """Assign a role to a user; return the result of assignUser."""
        return await self.table("assignUser", id=id, roles=[assignment(role_id, *values)])

    async def listed_roles(self, id: int) -> Any:
        """Return the result of listUserRoles."""
        return await self.table("listUserRoles", id=id)

    async def has_permission(self, id: int, perm_id: str, *pairs: str) -> bool:
        """Return whether a user has a permission. Any result of hasUserPerm grants it except an error, which must be
        a 403.
        """
        parameters = {"id": id, "perm_id": perm_id, "parameters": list(pairs)}
        _, result = await self.call("User", "hasUserPerm", parameters)
        if not isinstance(result, dict) or "status" not in result:
            return True
        self.same("status of hasUserPerm", result["status"], 403)
        return False

    async def allowed(self, id: int, perm_id: str, *pairs: str) -> None:
        """Raise Mismatch unless the user has the permission."""
        if not await self.has_permission(id, perm_id, *pairs):
            raise self.mismatch("hasUserPerm", f"that {perm_id} is allowed with {pairs}", "403")

    async def denied(self, id: int, perm_id: str, *pairs: str) -> None:
        """Raise Mismatch unless the user is denied the permission with 403."""
        if await self.has_permission(id, perm_id, *pairs):
            raise self.mismatch("hasUserPerm", f"403 for {perm_id} with {pairs}", "no error")
