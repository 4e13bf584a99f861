"""The database tables of roles, permissions and assignments, and the lookup of a role.

Rows refer to roles and parameters by their lower-case names; the original spelling is stored with the role or parameter
itself. `position` increases with every row, so it orders rows by insertion.
"""

from __future__ import annotations

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    ForeignKeyConstraint,
    Index,
    Integer,
    Table,
)
from sqlalchemy import UniqueConstraint as Unique

from labkit.core.errors import ServiceError
from labkit.services.user.accounts import belongs_to_user
from labkit.services.user.errors import unknown
from labkit.services.user.roles.arguments import fold
from labkit.storage.database import execute
from labkit.storage.schema import metadata, numbers, texts

_ROLE = ["role.solution", "role.role"]


def _position() -> Column[int]:
    return Column("position", Integer, primary_key=True)


role_table = Table(
    "role",
    metadata,
    *texts("solution", "role"),
    *texts("role_id"),  # as first spelled
    _position(),
    Unique("solution", "role"),
)

parameter_table = Table(
    "role_parameter",
    metadata,
    *texts("solution", "role", "parameter"),
    *texts("name"),  # as first spelled
    _position(),
    Unique("solution", "role", "parameter"),
    ForeignKeyConstraint(["solution", "role"], _ROLE, ondelete="CASCADE"),
)

permission_table = Table(
    "permission",
    metadata,
    *texts("solution", "method", "end_point"),
    _position(),
    Unique("solution", "method", "end_point"),
)

role_permission_table = Table(
    "role_permission",
    metadata,
    *texts("solution", "method", "end_point", "role"),
    _position(),
    Unique("solution", "method", "end_point", "role"),
    ForeignKeyConstraint(["solution", "role"], _ROLE, ondelete="CASCADE"),
    ForeignKeyConstraint(
        ["solution", "method", "end_point"],
        ["permission.solution", "permission.method", "permission.end_point"],
        ondelete="CASCADE",
    ),
    Index("role_permission_of_role", "solution", "role"),
)

assignment_table = Table(
    "assignment",
    metadata,
    *texts("solution"),
    *numbers("user_id"),
    *texts("role"),
    _position(),
    Unique("solution", "user_id", "role"),
    belongs_to_user(),
    ForeignKeyConstraint(["solution", "role"], _ROLE, ondelete="CASCADE"),
    Index("assignment_of_role", "solution", "role", "user_id"),
)

value_table = Table(
    "assigned_value",
    metadata,
    *texts("solution"),
    *numbers("user_id"),
    *texts("role", "parameter", "value"),
    _position(),
    Unique("solution", "user_id", "role", "parameter", "value"),
    ForeignKeyConstraint(
        ["solution", "user_id", "role"],
        ["assignment.solution", "assignment.user_id", "assignment.role"],
        ondelete="CASCADE",
    ),
    ForeignKeyConstraint(
        ["solution", "role", "parameter"],
        ["role_parameter.solution", "role_parameter.role", "role_parameter.parameter"],
        ondelete="CASCADE",
    ),
    Index("assigned_value_of_role", "solution", "role", "parameter", "value", "user_id"),
)

# Nearly every operation on roles runs these statements, so they bypass SQLAlchemy for speed.
ROLE = "SELECT 1 FROM role WHERE solution = ? AND role = ?"
PARAMETERS = "SELECT parameter, name FROM role_parameter WHERE solution = ? AND role = ? ORDER BY position"


def where(table: Table, **row: object) -> list[ColumnElement[bool]]:
    """Return conditions that select the rows of a table with these values in their columns."""
    return [table.c[name] == value for name, value in row.items()]


def require_role(connection: Connection, solution: str, role_id: str) -> str:
    """Return a role's name as tables store it. Raises ServiceError 404 if there is no such role."""
    role = fold(role_id)
    if execute(connection, ROLE, (solution, role)).fetchone() is None:
        raise unknown("Role", role_id)
    return role


def names(connection: Connection, solution: str, role: str) -> dict[str, str]:
    """Return the parameters of a role in the order of definition: original spelling by lower-case name."""
    return dict(execute(connection, PARAMETERS, (solution, role)))


def require_parameter(connection: Connection, solution: str, role_id: str, name: str) -> tuple[str, str]:
    """Return role and parameter as tables store them. Raises ServiceError 404 without role, 400 without parameter."""
    role = require_role(connection, solution, role_id)
    if fold(name) not in names(connection, solution, role):
        raise undefined(role_id, name)
    return role, fold(name)


def undefined(role_id: str, name: str) -> ServiceError:
    """Return a ServiceError 400 for a role that has no such parameter."""
    return ServiceError(400, f"Role {role_id} has no parameter {name}, add it with addRoleParam first.")
