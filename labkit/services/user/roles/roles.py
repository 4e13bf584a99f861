"""The group Roles of the User service: roles and their parameters.

The permissions of roles are in `permissions`, their assignment to users in `assignments`.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.sqlite import insert

from labkit.core.errors import ServiceError
from labkit.services.operation import Caller, operation
from labkit.services.user.group import Group
from labkit.services.user.roles.arguments import ParameterName, Parameters, RoleId, RoleParameter, fold
from labkit.services.user.roles.tables import (
    names,
    parameter_table,
    require_parameter,
    require_role,
    role_table,
    where,
)


class Roles(Group):
    """Operations on roles and their parameters."""

    @operation
    async def createRole(
        self, caller: Caller, role_id: RoleId, parameter: Parameters = ()
    ) -> dict[str, object]:
        """Create a role. Returns `{role_id, parameter: [{name}]}`; 409 if the name exists in any letter case.

        role_id: 1 to 80 of A-Z a-z 0-9 - _; parameter: a list of `{name}`, or one; a name has 1 to 40 letters.
        Reserved words are refused (document 2, Name rules).
        """
        return await self._run(caller, create, role_id, parameter)

    @operation
    async def getRole(self, caller: Caller, role_id: RoleId) -> dict[str, object]:
        """Return a role, found in any letter case: `{role_id, parameter: [{name}]}`. 404 if there is none."""
        return await self._read(caller, shown, role_id)

    @operation
    async def listRoles(self, caller: Caller) -> list[dict[str, object]]:
        """List all roles, in the order of their creation: `{role_id, parameter: [{name}]}`."""
        return await self._read(caller, all_roles)

    @operation
    async def deleteRole(self, caller: Caller, role_id: RoleId) -> None:
        """Delete a role, also from the users who have it. Returns nil; 404 if there is none.

        Its permissions stay registered.
        """
        await self._run(caller, delete_role, role_id)

    @operation
    async def addRoleParam(self, caller: Caller, role_id: RoleId, body: Parameters) -> dict[str, object]:
        """Add parameters to a role: a list of `{name}`, or one. Returns the role.

        A name that the role has already stays as it is. 404 if there is no such role.
        """
        return await self._run(caller, add_parameters, role_id, body)

    @operation
    async def deleteRoleParam(
        self, caller: Caller, role_id: RoleId, parameter_name: ParameterName
    ) -> dict[str, object]:
        """Remove a parameter from a role, and its values from all users. Returns the role.

        404 if there is no such role, 400 if it has no such parameter.
        """
        return await self._run(caller, remove_parameters, role_id, parameter_name)


def create(
    connection: Connection, solution: str, role_id: str, parameters: Iterable[RoleParameter]
) -> dict[str, object]:
    """Create a role and return it in the format of operations' results. Raises ServiceError 409 if it exists."""
    created = connection.execute(
        insert(role_table)
        .values(solution=solution, role=fold(role_id), role_id=role_id)
        .on_conflict_do_nothing()
    )
    if not created.rowcount:
        raise ServiceError(409, f"Role {role_id} already exists.")
    return add_parameters(connection, solution, role_id, parameters)


def shown(connection: Connection, solution: str, role_id: str) -> dict[str, object]:
    """Return a role in the format of operations' results. Raises ServiceError 404 if it is missing."""
    role = require_role(connection, solution, role_id)
    spelling = connection.execute(
        select(role_table.c.role_id).where(*where(role_table, solution=solution, role=role))
    ).scalar_one()
    defined = names(connection, solution, role).values()
    return {"role_id": spelling, "parameter": [{"name": name} for name in defined]}


def all_roles(connection: Connection, solution: str) -> list[dict[str, object]]:
    """Return all roles with their parameters, in the order of creation."""
    roles, parameters = role_table.c, parameter_table.c
    rows = connection.execute(
        select(roles.role_id, parameters.name)
        .outerjoin(parameter_table, (parameters.solution == roles.solution) & (parameters.role == roles.role))
        .where(roles.solution == solution)
        .order_by(roles.position, parameters.position)
    )
    found: dict[str, list[dict[str, str]]] = {}
    for role_id, name in rows:
        found.setdefault(role_id, []).extend([] if name is None else [{"name": name}])
    return [{"role_id": role_id, "parameter": defined} for role_id, defined in found.items()]


def delete_role(connection: Connection, solution: str, role_id: str) -> None:
    """Delete a role and its assignments. Raises ServiceError 404 if it is missing."""
    role = require_role(connection, solution, role_id)
    connection.execute(delete(role_table).where(*where(role_table, solution=solution, role=role)))


def add_parameters(
    connection: Connection, solution: str, role_id: str, parameters: Iterable[RoleParameter]
) -> dict[str, object]:
    """Add parameters to a role, unless it has them, and return the role. Raises ServiceError 404 if it is missing."""
    role = require_role(connection, solution, role_id)
    rows = [
        {"solution": solution, "role": role, "parameter": fold(parameter.name), "name": parameter.name}
        for parameter in parameters
    ]
    if rows:
        connection.execute(insert(parameter_table).on_conflict_do_nothing(), rows)
    return shown(connection, solution, role_id)


def remove_parameters(connection: Connection, solution: str, role_id: str, name: str) -> dict[str, object]:
    """Remove a parameter from a role and return the role. Raises ServiceError 404 or 400 if either is missing."""
    role, parameter = require_parameter(connection, solution, role_id, name)
    row = where(parameter_table, solution=solution, role=role, parameter=parameter)
    connection.execute(delete(parameter_table).where(*row))
    return shown(connection, solution, role_id)
