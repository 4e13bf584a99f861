"""Assignments of roles to users in the User service, with values of the roles' parameters.

A role without values permits nothing. The wildcard is a value of its own that matches every value; it may be assigned
beside other values.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects.sqlite import insert

from labkit.core.errors import ServiceError
from labkit.services.arguments import Offset
from labkit.services.operation import Caller, operation
from labkit.services.user.accounts import Id, require
from labkit.services.user.group import Group
from labkit.services.user.roles.arguments import (
    LARGEST_PAGE,
    WILDCARD,
    AssignedRole,
    AssignedRoles,
    Limit,
    ParameterName,
    ParameterValue,
    RoleId,
    fold,
)
from labkit.services.user.roles.tables import (
    assignment_table,
    names,
    require_parameter,
    require_role,
    undefined,
    value_table,
    where,
)
from labkit.storage.database import execute

# Solutions run these checks on every request, so the statements bypass SQLAlchemy for speed.
HAS = (
    "SELECT 1 FROM assigned_value "
    "WHERE solution = ? AND user_id = ? AND role = ? AND parameter = ? AND value IN (?, ?)"
)
# Two queries of the index, merged: for `IN` SQLite would walk over all users, who are in order.
WITH = "SELECT user_id FROM assigned_value WHERE solution = ? AND role = ? AND parameter = ? AND value = ?"
HOLDERS = f"{WITH} UNION {WITH} ORDER BY user_id"
HELD = (
    "SELECT role.role_id, defined.name, had.value FROM assignment AS held "
    "JOIN role ON role.solution = held.solution AND role.role = held.role "
    "LEFT JOIN assigned_value AS had"
    " ON had.solution = held.solution AND had.user_id = held.user_id AND had.role = held.role "
    "LEFT JOIN role_parameter AS defined"
    " ON defined.solution = had.solution AND defined.role = had.role AND defined.parameter = had.parameter "
    "WHERE held.solution = ? AND held.user_id = ? ORDER BY held.position, had.position"
)


class Assignments(Group):
    """Operations on the roles assigned to users, in the groups Roles and Users.

    An assignment is `{role_id, parameters: [{name, value}]}`; the wildcard is the value `{type: 'wildcard'}`. Results
    list all assignments of the user, in the order of assigning.
    """

    @operation
    async def assignUser(self, caller: Caller, id: Id, roles: AssignedRoles) -> list[dict[str, object]]:
        """Assign roles to a user: a list of assignments, or one. Returns the list of all assignments of the user.

        An assignment is `{role_id, parameters: [{name, value}]}`. value: 1 to 100 of A-Z a-z 0-9, a whole number,
        or `{type: 'wildcard'}` for every value; a role without values permits nothing. 404 if there is no such
        user or role, 400 if the role has no such parameter: then nothing is assigned.
        """
        return await self._run(caller, assign, id, roles)

    @operation
    async def deassignUser(self, caller: Caller, id: Id, role_id: RoleId) -> list[dict[str, object]]:
        """Remove a role from a user; no error if the user lacks it. Returns the list of the remaining assignments."""
        return await self._run(caller, deassign, id, role_id)

    @operation
    async def deassignUserParam(
        self,
        caller: Caller,
        id: Id,
        role_id: RoleId,
        parameter_name: ParameterName,
        parameter_value: ParameterValue,
    ) -> list[dict[str, object]]:
        """Remove one parameter value from a user; the role stays, even without values. Returns the assignments."""
        return await self._run(caller, deassign_values, id, role_id, parameter_name, parameter_value)

    @operation
    async def deassignUserParamName(
        self, caller: Caller, id: Id, role_id: RoleId, parameter_name: ParameterName
    ) -> list[dict[str, object]]:
        """Remove all values of a parameter from a user; the role stays. Returns the assignments."""
        return await self._run(caller, deassign_values, id, role_id, parameter_name)

    @operation
    async def hasUserRoleParam(
        self,
        caller: Caller,
        id: Id,
        role_id: RoleId,
        parameter_name: ParameterName,
        parameter_value: ParameterValue,
    ) -> str:
        """Check a parameter value of a user's role. Returns 'OK' if the user has the value or the wildcard, else 403.

        404 if there is no such user or role, 400 if the role has no such parameter.
        """
        if not await self._read(caller, has_role, id, role_id, parameter_name, parameter_value):
            raise ServiceError(
                403, f"User {id} does not hold role {role_id} with this value of {parameter_name}."
            )
        return "OK"

    @operation
    async def listUserRoles(self, caller: Caller, id: Id) -> list[dict[str, object]]:
        """List the roles assigned to a user, with parameter values: `{role_id, parameters: [{name, value}]}`."""
        return await self._read(caller, assignments_of, id)

    @operation
    async def listUserRoleParamValues(
        self,
        caller: Caller,
        id: Id,
        role_id: RoleId,
        parameter_name: ParameterName,
        offset: Offset = 0,
        limit: Limit = LARGEST_PAGE,
    ) -> dict[str, object]:
        """List a user's values of a role's parameter: `{items, total}`; the wildcard is `*`. limit: 1 to 100."""
        return await self._read(caller, page, id, role_id, parameter_name, offset, limit)

    @operation
    async def listRoleUsers(self, caller: Caller, role_id: RoleId) -> list[int]:
        """List the ids of the users who have a role, in ascending order."""
        return await self._read(caller, holders, role_id)

    @operation
    async def listRoleParamUsers(
        self,
        caller: Caller,
        role_id: RoleId,
        parameter_name: ParameterName,
        parameter_value: ParameterValue,
    ) -> list[int]:
        """List the ids of the users who have a parameter value or the wildcard, in ascending order."""
        return await self._read(caller, value_holders, role_id, parameter_name, parameter_value)

    @operation
    async def deleteRoleParamValue(
        self,
        caller: Caller,
        role_id: RoleId,
        parameter_name: ParameterName,
        parameter_value: ParameterValue,
    ) -> None:
        """Remove a value of a parameter from all users. Returns nil."""
        await self._run(caller, delete_value, role_id, parameter_name, parameter_value)


def assign(
    connection: Connection, solution: str, id: int, roles: Iterable[AssignedRole]
) -> list[dict[str, object]]:
    """Assign roles to a user and return all assignments. Raises ServiceError 404 or 400, as assignUser does."""
    require(connection, solution, id)
    held: list[dict[str, object]] = []
    values: list[dict[str, object]] = []
    defined: dict[str, dict[str, str]] = {}
    for assigned in roles:
        role = fold(assigned.role_id)
        if role not in defined:
            defined[role] = names(connection, solution, require_role(connection, solution, assigned.role_id))
        row: dict[str, object] = {"solution": solution, "user_id": id, "role": role}
        held.append(row)
        for value in assigned.parameters:
            if fold(value.name) not in defined[role]:
                raise undefined(assigned.role_id, value.name)
            values.append({**row, "parameter": fold(value.name), "value": value.value})
    for table, rows in ((assignment_table, held), (value_table, values)):
        if rows:
            connection.execute(insert(table).on_conflict_do_nothing(), rows)
    return assignments_of(connection, solution, id)


def assignments_of(connection: Connection, solution: str, id: int) -> list[dict[str, object]]:
    """Return the assignments of a user. Raises ServiceError 404 if there is no such user."""
    require(connection, solution, id)
    rows = execute(connection, HELD, (solution, id))
    found: dict[str, list[dict[str, object]]] = {}
    for role_id, name, value in rows:
        found.setdefault(role_id, []).extend([] if name is None else [{"name": name, "value": _shown(value)}])
    return [{"role_id": role_id, "parameters": assigned} for role_id, assigned in found.items()]


def _shown(value: str) -> object:
    return {"type": "wildcard"} if value == WILDCARD else value


def deassign(connection: Connection, solution: str, id: int, role_id: str) -> list[dict[str, object]]:
    """Remove a role from a user and return the other assignments. Raises ServiceError 404 without user or role."""
    require(connection, solution, id)
    role = require_role(connection, solution, role_id)
    row = where(assignment_table, solution=solution, user_id=id, role=role)
    connection.execute(delete(assignment_table).where(*row))
    return assignments_of(connection, solution, id)


def deassign_values(
    connection: Connection, solution: str, id: int, role_id: str, name: str, *values: str
) -> list[dict[str, object]]:
    """Remove values of a parameter from a user, all if none are given. Returns the user's assignments."""
    require(connection, solution, id)
    role, parameter = require_parameter(connection, solution, role_id, name)
    rows = where(value_table, solution=solution, user_id=id, role=role, parameter=parameter)
    if values:
        rows.append(value_table.c.value.in_(values))
    connection.execute(delete(value_table).where(*rows))
    return assignments_of(connection, solution, id)


def has_role(connection: Connection, solution: str, id: int, role_id: str, name: str, value: str) -> bool:
    """Return whether a user has a parameter value or the wildcard in a role."""
    require(connection, solution, id)
    role, parameter = require_parameter(connection, solution, role_id, name)
    row = (solution, id, role, parameter, value, WILDCARD)
    return execute(connection, HAS, row).fetchone() is not None


def page(
    connection: Connection, solution: str, id: int, role_id: str, name: str, offset: int, limit: int
) -> dict[str, object]:
    """Return a page of a user's values of a parameter, as {items, total}."""
    require(connection, solution, id)
    role, parameter = require_parameter(connection, solution, role_id, name)
    rows = where(value_table, solution=solution, user_id=id, role=role, parameter=parameter)
    columns = value_table.c
    items = select(columns.value).where(*rows).order_by(columns.position).limit(limit).offset(offset)
    return {
        "items": list(connection.execute(items).scalars()),
        "total": connection.execute(select(func.count()).where(*rows)).scalar_one(),
    }


def holders(connection: Connection, solution: str, role_id: str) -> list[int]:
    """Return the ids of the users with a role, ascending."""
    role = require_role(connection, solution, role_id)
    id = assignment_table.c.user_id
    held = select(id).where(*where(assignment_table, solution=solution, role=role)).order_by(id)
    return list(connection.execute(held).scalars())


def value_holders(connection: Connection, solution: str, role_id: str, name: str, value: str) -> list[int]:
    """Return the ids of the users with a parameter value or the wildcard in a role, ascending."""
    role, parameter = require_parameter(connection, solution, role_id, name)
    row = (solution, role, parameter)
    return [id for (id,) in execute(connection, HOLDERS, (*row, value, *row, WILDCARD))]


def delete_value(connection: Connection, solution: str, role_id: str, name: str, value: str) -> None:
    """Remove a parameter value of a role from all users."""
    role, parameter = require_parameter(connection, solution, role_id, name)
    row = where(value_table, solution=solution, role=role, parameter=parameter, value=value)
    connection.execute(delete(value_table).where(*row))
