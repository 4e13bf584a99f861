"""Code mutants of assignments, for faults that no fault row can express."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import call_before, change_result
from labkit.conformance.mutant import patch
from labkit.services.user.roles.arguments import fold
from labkit.services.user.roles.assignments import assignments_of, holders
from labkit.services.user.roles.tables import names
from labkit.storage.database import execute

ASSIGNMENTS = "labkit.services.user.roles.assignments"
DEASSIGN, DEASSIGN_VALUES = f"{ASSIGNMENTS}:deassign", f"{ASSIGNMENTS}:deassign_values"
DELETE_VALUE, HOLDERS = f"{ASSIGNMENTS}:delete_value", f"{ASSIGNMENTS}:value_holders"
THEIRS = "DELETE FROM assignment WHERE solution = ? AND user_id = ?"
VALUE = "DELETE FROM assigned_value WHERE solution = ? AND parameter = ? AND value = ?"
EXACT = "SELECT user_id FROM assigned_value WHERE role = ? AND parameter = ? AND value = ? ORDER BY user_id"

replaced = patch("USR-ASSIGN-7", f"{ASSIGNMENTS}:assign", "assignUser replaces the user's assignments")(
    call_before(lambda connection, solution, user, roles: execute(connection, THEIRS, (solution, user)))
)
in_all_roles = patch("USR-ASSIGN-9", DELETE_VALUE, "deleteRoleParamValue removes the value from all roles")(
    lambda original, connection, solution, role_id, *of: execute(connection, VALUE, (solution, *of))
)
holders_of_role = patch("USR-ASSIGN-11", HOLDERS, "listRoleParamUsers returns all users of the role")(
    lambda original, connection, solution, role_id, *of: holders(connection, solution, role_id)
)
without_wildcards = patch("USR-ASSIGN-12", HOLDERS, "listRoleParamUsers omits users with the wildcard")(
    lambda original, connection, solution, *of: [id for (id,) in execute(connection, EXACT, of)]
)
role_stays = patch("USR-ASSIGN-13", DEASSIGN, "deassignUser removes nothing")(
    lambda original, connection, solution, user, role_id: assignments_of(connection, solution, user)
)
all_values = patch(
    "USR-ASSIGN-14 USR-PERM-17", DEASSIGN_VALUES, "deassignUserParam removes all values of the parameter"
)(lambda original, *of: original(*of[:5]))
values_stay = patch(
    "USR-ASSIGN-14 USR-ASSIGN-15 USR-PERM-17",
    DEASSIGN_VALUES,
    "deassignUserParam and deassignUserParamName remove nothing",
)(lambda original, connection, solution, user, *of: assignments_of(connection, solution, user))
empty_unlisted = patch(
    "USR-ASSIGN-16", f"{ASSIGNMENTS}:assignments_of", "an assigned role without values is not listed"
)(change_result(lambda roles: [held for held in roles if held["parameters"]]))
role_is_enough = patch("USR-ASSIGN-17", f"{ASSIGNMENTS}:has_role", "hasUserRoleParam ignores the value")(
    lambda original, connection, solution, user, role_id, *_: user in holders(connection, solution, role_id)
)


@patch("USR-ASSIGN-13", DEASSIGN)
def from_everybody(original: Any, connection: Any, solution: str, id: int, role_id: str) -> Any:
    """deassignUser removes the role from all users"""
    for holder in holders(connection, solution, role_id):
        original(connection, solution, holder, role_id)
    return assignments_of(connection, solution, id)


@patch("USR-ASSIGN-15", DEASSIGN_VALUES)
def all_names(original: Any, connection: Any, solution: str, user: int, role_id: str, *of: str) -> Any:
    """deassignUserParamName removes the values of all parameters"""
    for name in of[:1] if of[1:] else names(connection, solution, fold(role_id)):
        original(connection, solution, user, role_id, name, *of[1:])
    return assignments_of(connection, solution, user)


@patch("USR-ASSIGN-14 USR-ASSIGN-15", DEASSIGN_VALUES)
def of_every_role(original: Any, connection: Any, solution: str, user: int, role_id: str, *of: str) -> Any:
    """removing values of a parameter also removes them from the user's other roles"""
    left = original(connection, solution, user, role_id, *of)
    for each in left:
        if fold(of[0]) in names(connection, solution, fold(each["role_id"])):
            left = original(connection, solution, user, each["role_id"], *of)
    return left
