"""The permissions of the User service: registration, permissions of roles, and the check of a user's permission.

A permission is a method and a path of the solution. A user has a permission through a role that contains it, if the
user's assignment of that role has the requested value, or the wildcard, for every placeholder of the path. For a path
without placeholders, the assignment needs any value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, Table, delete, select
from sqlalchemy.dialects.sqlite import insert

from labkit.core.errors import ServiceError
from labkit.services.operation import Caller, operation
from labkit.services.user.errors import unknown
from labkit.services.user.group import Group
from labkit.services.user.roles.arguments import (
    NO_PAIRS,
    WILDCARD,
    EndPoint,
    Method,
    OptionalId,
    OptionalPairs,
    OptionalPermission,
    PermId,
    Permission,
    PermissionList,
    RoleId,
)
from labkit.services.user.roles.tables import permission_table, require_role, role_permission_table, where
from labkit.storage.database import execute

# Solutions run this check on every request, so it bypasses SQLAlchemy for speed. It begins with the roles of the user,
# who has few (SQLite keeps the order of a CROSS JOIN), where a permission may be in many.
HELD = "SELECT 1 FROM assignment AS held CROSS JOIN role_permission AS permits"
THAT_PERMITS = (
    " WHERE held.solution = ?1 AND held.user_id = ?2 AND permits.solution = ?1 AND permits.method = ?3"
    " AND permits.end_point = ?4 AND permits.role = held.role"
)
AND_HAS = (
    " AND EXISTS (SELECT 1 FROM assigned_value WHERE solution = ?1 AND user_id = ?2 AND role = held.role"
)
ANY, ONE = f"{AND_HAS})", f"{AND_HAS} AND parameter = ? AND value IN (?, ?))"


class Permissions(Group):
    """Operations on permissions, in the groups Users and Roles."""

    @operation
    async def createPermission(self, caller: Caller, method: Method, end_point: EndPoint) -> dict[str, str]:
        """Register a permission, unless it exists. Returns `{method, end_point}`.

        method: 1 to 10 of A-Z; end_point: 1 to 150 of A-Z a-z 0-9 - / _ { }, where {name} is a placeholder for a
        role's parameter, and usually without a leading slash.
        """
        permission = Permission(method, end_point)
        await self._run(caller, register, [permission])
        return {"method": method, "end_point": end_point}

    @operation
    async def listPerms(self, caller: Caller) -> list[dict[str, str]]:
        """List all permissions, in the order of their registration: `{method, end_point}`."""
        return await self._read(caller, _read_all)

    @operation
    async def deletePerm(self, caller: Caller, perm_id: PermId) -> None:
        """Delete a permission, also from the roles that have it. Returns nil; 404 if there is none.

        perm_id: `{method}/{end_point}`.
        """
        await self._run(caller, _unregister, perm_id)

    @operation
    async def addRolePerm(
        self, caller: Caller, role_id: RoleId, body: PermissionList
    ) -> list[dict[str, str]]:
        """Add permissions to a role: a list of `{method, end_point}`, or one. Returns all permissions of the role.

        Permissions that are not registered yet are registered.
        """
        return await self._run(caller, attach, role_id, body)

    @operation
    async def deleteRolePerm(self, caller: Caller, role_id: RoleId, perm_id: PermId) -> list[dict[str, str]]:
        """Remove a permission from a role. Returns the remaining ones; 404 if the role does not have it.

        perm_id: `{method}/{end_point}`.
        """
        return await self._run(caller, detach, role_id, perm_id)

    @operation
    async def listRolePerms(self, caller: Caller, role_id: RoleId) -> list[dict[str, str]]:
        """List the permissions of a role, in the order in which they were added: `{method, end_point}`."""
        return await self._read(caller, permissions_of_role, role_id)

    @operation
    async def hasUserPerm(
        self,
        caller: Caller,
        id: OptionalId = None,
        perm_id: OptionalPermission = None,
        parameters: OptionalPairs = NO_PAIRS,
    ) -> str:
        """Check a user's permission with values of its placeholders. Returns 'OK', or 403 if it is not allowed.

        perm_id: `{method}/{end_point}`; parameters: a list of `name::value`, or one; names that are not
        placeholders are ignored. Also 403: a missing user or permission; a placeholder without value, with two values,
        or with an invalid one, or whose name no parameter can have; missing or malformed arguments.
        """
        if id is None or perm_id is None or parameters is None:
            wrong = "id" if id is None else "perm_id" if perm_id is None else "parameters"
            raise ServiceError(403, f"Parameter {wrong} is missing or malformed, so nothing is allowed.")
        if not await self._read(caller, is_allowed, id, perm_id, parameters):
            raise ServiceError(403, f"User {id} may not use {perm_id}.")
        return "OK"


def is_allowed(
    connection: Connection, solution: str, id: int, permission: Permission, given: Mapping[str, str | None]
) -> bool:
    """Return whether a user has a permission. given: value by placeholder, None for an invalid value."""
    names = permission.placeholders
    if any(given.get(name) is None for name in names):
        return False
    values = (each for name in names for each in (name, given[name], WILDCARD))
    row = (solution, id, permission.method, permission.end_point, *values)
    return execute(connection, HELD + THAT_PERMITS + (ONE * len(names) or ANY), row).fetchone() is not None


def register(connection: Connection, solution: str, permissions: Iterable[Permission]) -> None:
    """Add permissions, unless they exist."""
    _insert(connection, permission_table, [_row(solution, permission) for permission in permissions])


def attach(
    connection: Connection, solution: str, role_id: str, permissions: Iterable[Permission]
) -> list[dict[str, str]]:
    """Add permissions to a role and return all it has. Raises ServiceError 404 if there is no such role."""
    of_role = {"role": require_role(connection, solution, role_id)}
    rows = [_row(solution, permission) for permission in permissions]
    _insert(connection, permission_table, rows)
    _insert(connection, role_permission_table, [row | of_role for row in rows])
    return permissions_of_role(connection, solution, role_id)


def detach(
    connection: Connection, solution: str, role_id: str, permission: Permission
) -> list[dict[str, str]]:
    """Remove a permission from a role and return the others. Raises ServiceError 404 without role or permission."""
    row = _row(solution, permission) | {"role": require_role(connection, solution, role_id)}
    if not delete_row(connection, role_permission_table, row):
        raise ServiceError(404, f"Role {role_id} has no permission {permission}.")
    return permissions_of_role(connection, solution, role_id)


def permissions_of_role(connection: Connection, solution: str, role_id: str) -> list[dict[str, str]]:
    """Return the permissions of a role. Raises ServiceError 404 if there is no such role."""
    role = require_role(connection, solution, role_id)
    return list_permissions(connection, role_permission_table, {"solution": solution, "role": role})


def _read_all(connection: Connection, solution: str) -> list[dict[str, str]]:
    return list_permissions(connection, permission_table, {"solution": solution})


def _unregister(connection: Connection, solution: str, permission: Permission) -> None:
    if not delete_row(connection, permission_table, _row(solution, permission)):
        raise unknown("Permission", permission)


def _row(solution: str, permission: Permission) -> dict[str, str]:
    return {"solution": solution, "method": permission.method, "end_point": permission.end_point}


def _insert(connection: Connection, table: Table, rows: list[dict[str, str]]) -> None:
    if rows:
        connection.execute(insert(table).on_conflict_do_nothing(), rows)


def list_permissions(connection: Connection, table: Table, of: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the permissions in a table in the order of insertion. of: values of the columns to match."""
    columns = table.c
    rows = connection.execute(
        select(columns.method, columns.end_point).where(*where(table, **of)).order_by(columns.position)
    )
    return [{"method": method, "end_point": end_point} for method, end_point in rows]


def delete_row(connection: Connection, table: Table, row: Mapping[str, str]) -> bool:
    """Delete the row with these column values. Returns False if there is none."""
    return connection.execute(delete(table).where(*where(table, **row))).rowcount > 0
