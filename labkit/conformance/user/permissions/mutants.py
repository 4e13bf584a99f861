"""Code mutants of permissions, for faults that no fault row can express."""

from __future__ import annotations

import re
from typing import Any

from labkit.conformance.breaking import always, change_arguments
from labkit.conformance.mutant import patch
from labkit.services.user.roles.arguments import WILDCARD, Permission
from labkit.services.user.roles.permissions import ANY, HELD, ONE, THAT_PERMITS
from labkit.storage.database import execute

PERMISSIONS = "labkit.services.user.roles.permissions"
ALLOWED = f"{PERMISSIONS}:is_allowed"


def _holds(
    connection: Any, solution: str, user: int, asked: Permission, condition: str, *values: object
) -> bool:
    """Return whether a user has a role with the permission, and with a matching value."""
    row = (solution, user, asked.method, asked.end_point, *values)
    return execute(connection, HELD + THAT_PERMITS + condition, row).fetchone() is not None


def _values(connection: Any, id: int) -> set[str]:
    """Return the values of all parameters that a user holds."""
    held = execute(connection, "SELECT value FROM assigned_value WHERE user_id = ?", (id,))
    return {value for (value,) in held.fetchall()}


not_taken = patch("USR-PERM-4", f"{PERMISSIONS}:delete_row", "deletePerm and deleteRolePerm remove nothing")(
    always(True)
)
of_all_roles = patch(
    "USR-PERM-6 USR-PERM-8",
    f"{PERMISSIONS}:list_permissions",
    "listRolePerms returns the permissions of all roles",
)(change_arguments(of=lambda of: {"solution": of["solution"]}))
unregistered = patch(
    "USR-PERM-9 USR-PERM-10", f"{PERMISSIONS}:register", "createPermission registers nothing"
)(always(None))


# ---- hasUserPerm


@patch("USR-ASSIGN-2", ALLOWED)
def no_wildcard(original: Any, connection: Any, solution: str, user: int, asked: Any, of: Any) -> Any:
    """hasUserPerm ignores the wildcard"""
    may = original(connection, solution, user, asked, of)
    return may and {*of.values()} <= _values(connection, user)


@patch("USR-ROLE-1 USR-PERM-11", ALLOWED)
def any_value(original: Any, connection: Any, solution: str, user: int, asked: Any, of: Any) -> Any:
    """hasUserPerm accepts any value that the user holds"""
    held = [dict.fromkeys(asked.placeholders, value) for value in _values(connection, user)]
    return any(original(connection, solution, user, asked, each) for each in held)


@patch("USR-PERM-3", ALLOWED)
def odd_braces(original: Any, connection: Any, solution: str, user: int, asked: Any, of: Any) -> Any:
    """malformed placeholders are ignored"""
    if re.fullmatch(r".*\{[A-Za-z]{1,40}\}", asked.end_point):
        return original(connection, solution, user, asked, of)
    return _holds(connection, solution, user, asked, ANY)


@patch("USR-PERM-13", ALLOWED)
def over_roles(original: Any, connection: Any, solution: str, user: int, asked: Any, of: Any) -> Any:
    """the values of two placeholders may be held in different roles"""
    held = [(name, of.get(name), WILDCARD) for name in asked.placeholders]
    return all(_holds(connection, solution, user, asked, ONE, *each) for each in held)


@patch("USR-PERM-13", ALLOWED)
def not_given(original: Any, connection: Any, solution: str, user: int, asked: Any, of: Any) -> Any:
    """a placeholder without a given value is ignored"""
    held = [(name, of[name], WILDCARD) for name in asked.placeholders if name in of]
    return _holds(connection, solution, user, asked, ONE * len(held), *sum(held, ()))


@patch("USR-ASSIGN-6", ALLOWED)
def role_is_enough(original: Any, connection: Any, solution: str, user: int, asked: Any, of: Any) -> Any:
    """a role without values permits end_points without placeholders"""
    if asked.placeholders:
        return original(connection, solution, user, asked, of)
    return _holds(connection, solution, user, asked, ANY.replace("assigned_value", "assignment"))


@patch("USR-PERM-14", ALLOWED)
def placeholders_needed(original: Any, connection: Any, solution: str, user: int, asked: Any, of: Any) -> Any:
    """an end_point without placeholders is never permitted"""
    return bool(asked.placeholders) and original(connection, solution, user, asked, of)
