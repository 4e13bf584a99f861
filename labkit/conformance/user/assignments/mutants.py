"""Faults of what users are assigned."""

from __future__ import annotations

from typing import Any

from labkit.conformance.faults import CALL, given, with_parameters
from labkit.conformance.mutant import mutant
from labkit.core.database import execute
from labkit.services.user.roles import assignments
from labkit.services.user.roles.arguments import fold
from labkit.services.user.roles.tables import names

ASSIGNMENTS = "labkit.services.user.roles.assignments"


@mutant("USR-ASSIGN-2 USR-ASSIGN-4", CALL)
def wildcard_is_a_word(original: Any) -> Any:
    """the wildcard is taken as the text 'wildcard'"""

    def word(value: Any) -> Any:
        if isinstance(value, list):
            return [word(item) for item in value]
        if not isinstance(value, dict):
            return value
        return (
            "wildcard"
            if value == {"type": "wildcard"}
            else {name: word(item) for name, item in value.items()}
        )

    return given(original, "User", lambda operation, parameters: word(parameters))


@mutant("USR-ASSIGN-5", f"{ASSIGNMENTS}:assign")
def last_alone(original: Any) -> Any:
    """assignUser gives the newest assignment alone"""
    return lambda *args: original(*args)[-1:]


@mutant("USR-ASSIGN-5 USR-ASSIGN-19", f"{ASSIGNMENTS}:assignments_of")
def values_by_name(original: Any) -> Any:
    """the parameters of an assignment are an object of values by name"""

    def broken(*args: Any) -> Any:
        return [
            {**held, "parameters": {each["name"]: each["value"] for each in held["parameters"]}}
            for held in original(*args)
        ]

    return broken


@mutant("USR-ASSIGN-7", f"{ASSIGNMENTS}:assign")
def replaced(original: Any) -> Any:
    """assignUser replaces what the user holds"""

    def broken(connection: Any, solution: str, id: int, roles: Any) -> Any:
        statement = "DELETE FROM assignment WHERE solution = ? AND user_id = ?"
        execute(connection, statement, (solution, id))
        return original(connection, solution, id, roles)

    return broken


@mutant("USR-ASSIGN-9", f"{ASSIGNMENTS}:delete_value")
def in_all_roles(original: Any) -> Any:
    """deleteRoleParamValue takes the value in all roles"""

    def broken(connection: Any, solution: str, role_id: str, name: str, value: str) -> None:
        statement = "DELETE FROM assigned_value WHERE solution = ? AND parameter = ? AND value = ?"
        execute(connection, statement, (solution, name, value))

    return broken


@mutant("USR-ASSIGN-9", f"{ASSIGNMENTS}:delete_value")
def value_stays(original: Any) -> Any:
    """deleteRoleParamValue deletes nothing"""
    return lambda *args: None


@mutant("USR-ASSIGN-10", f"{ASSIGNMENTS}:holders")
def ids_as_text(original: Any) -> Any:
    """listRoleUsers gives ids as texts"""
    return lambda *args: [str(id) for id in original(*args)]


@mutant("USR-ASSIGN-11", f"{ASSIGNMENTS}:value_holders")
def holders_of_role(original: Any) -> Any:
    """listRoleParamUsers gives all who hold the role"""
    return lambda connection, solution, role_id, name, value: assignments.holders(
        connection, solution, role_id
    )


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
    return lambda connection, solution, user, role_id: assignments.assignments_of(connection, solution, user)


@mutant("USR-ASSIGN-14 USR-PERM-17", f"{ASSIGNMENTS}:deassign_values")
def all_values(original: Any) -> Any:
    """deassignUserParam takes all values of the parameter"""
    return lambda *args: original(*args[:5])


@mutant("USR-ASSIGN-14 USR-ASSIGN-15 USR-PERM-17", f"{ASSIGNMENTS}:deassign_values")
def values_stay(original: Any) -> Any:
    """deassignUserParam and deassignUserParamName take nothing"""
    return lambda connection, solution, user, *rest: assignments.assignments_of(connection, solution, user)


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
    return lambda connection, solution, user, role_id, *rest: (
        user in assignments.holders(connection, solution, role_id)
    )


@mutant("USR-ASSIGN-12", f"{ASSIGNMENTS}:value_holders")
def without_wildcards(original: Any) -> Any:
    """listRoleParamUsers leaves out who holds the wildcard"""

    def broken(connection: Any, solution: str, role_id: str, name: str, value: str) -> Any:
        query = "SELECT user_id FROM assigned_value WHERE role = ? AND parameter = ? AND value = ? ORDER BY user_id"
        return [id for (id,) in execute(connection, query, (role_id, name, value))]

    return broken


@mutant("USR-ASSIGN-20", f"{ASSIGNMENTS}:page")
def total_of_page(original: Any) -> Any:
    """total is the number of items on the page"""

    def broken(*args: Any) -> Any:
        page = original(*args)
        return {**page, "total": len(page["items"])}

    return broken


@mutant("USR-ASSIGN-20", f"{ASSIGNMENTS}:page")
def first_page(original: Any) -> Any:
    """offset does not count"""
    return lambda *args: original(*args[:5], 0, *args[6:])


@mutant("USR-ASSIGN-21", CALL)
def ten_by_default(original: Any) -> Any:
    """limit is 10 where it is not given"""
    return with_parameters(
        original, "listUserRoleParamValues", lambda parameters: {"limit": 10, **parameters}
    )


@mutant("USR-ASSIGN-21", CALL)
def limit_cut(original: Any) -> Any:
    """a limit above 100 counts as 100"""

    def cut(operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
        limit = parameters.get("limit")
        return {**parameters, "limit": min(limit, 100)} if isinstance(limit, int) else parameters

    return given(original, "User", cut)
