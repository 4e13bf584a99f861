"""Faults of permissions that no row can say: who holds what, and where."""

from __future__ import annotations

import re
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.core.database import execute
from labkit.services.user.roles.arguments import WILDCARD, Permission
from labkit.services.user.roles.permissions import AND_HELD, AS_VALUE, ROLE_THAT_HAS

PERMISSIONS = "labkit.services.user.roles.permissions"
ALLOWED = f"{PERMISSIONS}:is_allowed"
ANY, ONE = f"{AND_HELD})", f"{AND_HELD}{AS_VALUE})"


def _holds(connection: Any, solution: str, asked: Permission, condition: str, *values: object) -> bool:
    """Has a role the permission, for whose holders a condition is true?"""
    found = execute(connection, ROLE_THAT_HAS + condition, [solution, asked.method, asked.end_point, *values])
    return found.fetchone() is not None


def _values(connection: Any, id: int) -> set[str]:
    """The values that a user holds, whatever they are of."""
    held = execute(connection, "SELECT value FROM assigned_value WHERE user_id = ?", (id,))
    return {value for (value,) in held.fetchall()}


@mutant("USR-PERM-4", f"{PERMISSIONS}:delete_row")
def not_taken(original: Any) -> Any:
    """a permission is not taken"""
    return lambda *args: True


@mutant("USR-PERM-6 USR-PERM-8", f"{PERMISSIONS}:listed")
def of_all_roles(original: Any) -> Any:
    """the permissions of a role are those of all roles"""
    return lambda connection, table, of: original(connection, table, {"solution": of["solution"]})


@mutant("USR-PERM-9 USR-PERM-10", f"{PERMISSIONS}:register")
def unregistered(original: Any) -> Any:
    """createPermission registers nothing"""
    return lambda *args: None


@mutant("USR-ASSIGN-2", ALLOWED)
def no_wildcard(original: Any) -> Any:
    """hasUserPerm does not know the wildcard"""
    return lambda connection, solution, user, asked, given: (
        original(connection, solution, user, asked, given) and {*given.values()} <= _values(connection, user)
    )


@mutant("USR-ROLE-1 USR-PERM-11", ALLOWED)
def any_value(original: Any) -> Any:
    """hasUserPerm takes any value that the user holds"""
    return lambda connection, solution, user, asked, given: any(
        original(connection, solution, user, asked, dict.fromkeys(asked.placeholders, value))
        for value in _values(connection, user)
    )


@mutant("USR-PERM-3", ALLOWED)
def odd_braces(original: Any) -> Any:
    """braces that enclose no name of a parameter are not looked at"""
    return lambda connection, solution, user, asked, given: (
        original(connection, solution, user, asked, given)
        if re.fullmatch(r".*\{[A-Za-z]{1,40}\}", asked.end_point)
        else _holds(connection, solution, asked, ANY, user)
    )


@mutant("USR-PERM-13", ALLOWED)
def over_roles(original: Any) -> Any:
    """one placeholder may be held in one role, another in another"""
    return lambda connection, solution, user, asked, given: all(
        _holds(connection, solution, asked, ONE, user, name, given.get(name), WILDCARD)
        for name in asked.placeholders
    )


@mutant("USR-PERM-13", ALLOWED)
def not_given(original: Any) -> Any:
    """a placeholder that is not given is not looked at"""

    def broken(connection: Any, solution: str, id: int, asked: Permission, given: Any) -> bool:
        values = [(id, name, given[name], WILDCARD) for name in asked.placeholders if name in given]
        return _holds(connection, solution, asked, ONE * len(values), *sum(values, ()))

    return broken


@mutant("USR-ASSIGN-6", ALLOWED)
def role_is_enough(original: Any) -> Any:
    """who holds a role without values may use its end_points without placeholders"""
    holds = ANY.replace("assigned_value", "assignment")
    return lambda connection, solution, user, asked, given: (
        original(connection, solution, user, asked, given)
        if asked.placeholders
        else _holds(connection, solution, asked, holds, user)
    )
