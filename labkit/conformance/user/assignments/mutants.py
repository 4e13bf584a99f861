"""Faults of what users are assigned that no row can say: what is kept, and whose."""

from __future__ import annotations

import json
from typing import Any

from labkit.conformance.breaking import CALL, beforehand, given
from labkit.conformance.mutant import mutant
from labkit.core.database import execute
from labkit.services.user.roles import assignments
from labkit.services.user.roles.arguments import fold
from labkit.services.user.roles.tables import names

ASSIGNMENTS = "labkit.services.user.roles.assignments"


@mutant("USR-ASSIGN-2 USR-ASSIGN-4", CALL)
def wildcard_is_a_word(original: Any) -> Any:
    """the wildcard is taken as the text 'wildcard'"""
    return given(
        original,
        "User",
        lambda _, parameters: json.loads(
            json.dumps(parameters).replace('{"type": "wildcard"}', '"wildcard"')
        ),
    )


@mutant("USR-ASSIGN-7", f"{ASSIGNMENTS}:assign")
def replaced(original: Any) -> Any:
    """assignUser replaces what the user holds"""
    delete = "DELETE FROM assignment WHERE solution = ? AND user_id = ?"
    return beforehand(
        original, lambda connection, solution, user, roles: execute(connection, delete, (solution, user))
    )


@mutant("USR-ASSIGN-9", f"{ASSIGNMENTS}:delete_value")
def in_all_roles(original: Any) -> Any:
    """deleteRoleParamValue takes the value in all roles"""
    delete = "DELETE FROM assigned_value WHERE solution = ? AND parameter = ? AND value = ?"
    return lambda connection, solution, role_id, *of: execute(connection, delete, (solution, *of))


@mutant("USR-ASSIGN-9", f"{ASSIGNMENTS}:delete_value")
def value_stays(original: Any) -> Any:
    """deleteRoleParamValue deletes nothing"""
    return lambda *args: None


@mutant("USR-ASSIGN-11", f"{ASSIGNMENTS}:value_holders")
def holders_of_role(original: Any) -> Any:
    """listRoleParamUsers gives all who hold the role"""
    return lambda *args: assignments.holders(*args[:3])


@mutant("USR-ASSIGN-13", f"{ASSIGNMENTS}:deassign")
def from_everybody(original: Any) -> Any:
    """deassignUser takes the role from all users"""

    def broken(connection: Any, solution: str, id: int, role_id: str) -> Any:
        for holder in assignments.holders(connection, solution, role_id):
            original(connection, solution, holder, role_id)
        return assignments.assignments_of(connection, solution, id)

    return broken


@mutant("USR-ASSIGN-13", f"{ASSIGNMENTS}:deassign")
def role_stays(original: Any) -> Any:
    """deassignUser takes nothing"""
    return lambda *args: assignments.assignments_of(*args[:3])


@mutant("USR-ASSIGN-14 USR-PERM-17", f"{ASSIGNMENTS}:deassign_values")
def all_values(original: Any) -> Any:
    """deassignUserParam takes all values of the parameter"""
    return lambda *args: original(*args[:5])


@mutant("USR-ASSIGN-14 USR-ASSIGN-15 USR-PERM-17", f"{ASSIGNMENTS}:deassign_values")
def values_stay(original: Any) -> Any:
    """deassignUserParam and deassignUserParamName take nothing"""
    return lambda *args: assignments.assignments_of(*args[:3])


@mutant("USR-ASSIGN-15", f"{ASSIGNMENTS}:deassign_values")
def all_names(original: Any) -> Any:
    """deassignUserParamName takes the values of all parameters"""

    def broken(connection: Any, solution: str, user: int, role_id: str, parameter: str, *values: str) -> Any:
        for name in [parameter] if values else names(connection, solution, fold(role_id)):
            original(connection, solution, user, role_id, name, *values)
        return assignments.assignments_of(connection, solution, user)

    return broken


@mutant("USR-ASSIGN-16", f"{ASSIGNMENTS}:assignments_of")
def empty_unlisted(original: Any) -> Any:
    """a role that is held without values is not listed"""
    return lambda *args: [held for held in original(*args) if held["parameters"]]


@mutant("USR-ASSIGN-17", f"{ASSIGNMENTS}:has_role")
def role_is_enough(original: Any) -> Any:
    """hasUserRoleParam says OK to who holds the role"""
    return lambda connection, solution, user, role_id, *_: (
        user in assignments.holders(connection, solution, role_id)
    )


@mutant("USR-ASSIGN-12", f"{ASSIGNMENTS}:value_holders")
def without_wildcards(original: Any) -> Any:
    """listRoleParamUsers leaves out who holds the wildcard"""
    query = (
        "SELECT user_id FROM assigned_value WHERE role = ? AND parameter = ? AND value = ? ORDER BY user_id"
    )
    return lambda connection, solution, *of: [id for (id,) in execute(connection, query, of)]
