"""Faults of roles and their parameters."""

from __future__ import annotations

import re
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.services.user.roles import roles

ARGUMENTS = "labkit.services.user.roles.arguments"
ROLES = "labkit.services.user.roles.roles"


@mutant("USR-ROLE-2 USR-ROLE-5 USR-PERM-1 USR-PERM-2 USR-ASSIGN-1", f"{ARGUMENTS}:matching")
def ends_unseen(original: Any) -> Any:
    """of names and values the beginning alone is looked at"""

    def broken(value: Any, pattern: re.Pattern[str], expected: str) -> Any:
        begins = isinstance(value, str) and pattern.match(value)
        return value if begins else original(value, pattern, expected)

    return broken


@mutant("USR-ROLE-2 USR-ROLE-5 USR-PERM-1 USR-PERM-2 USR-ASSIGN-1", f"{ARGUMENTS}:matching")
def shorter_by_one(original: Any) -> Any:
    """the longest name and the longest value that are allowed are refused"""

    def broken(value: Any, pattern: re.Pattern[str], expected: str) -> Any:
        longer = f"{value}{str(value)[-1:]}"  # of the same characters
        return original(value if value == "" or pattern.fullmatch(longer) else None, pattern, expected)

    return broken


@mutant(
    "USR-ROLE-3 USR-ROLE-4 USR-ROLE-6 USR-ROLE-7 USR-ROLE-9 USR-PERM-13 USR-ASSIGN-18", f"{ARGUMENTS}:fold"
)
def case_counts(original: Any) -> Any:
    """letters' case tells names apart"""
    return lambda name: name


@mutant("USR-ROLE-4", f"{ROLES}:create")
def lower_case(original: Any) -> Any:
    """a role_id is kept in lower case"""
    return lambda connection, solution, role_id, *rest: original(connection, solution, role_id.lower(), *rest)


@mutant("USR-ROLE-8", f"{ARGUMENTS}:unreserved")
def word_forgotten(original: Any) -> Any:
    """one of the reserved words is none"""
    return lambda name: name if name == "parameters" else original(name)


@mutant("USR-ROLE-11", f"{ROLES}:shown")
def plain_names(original: Any) -> Any:
    """the parameters of a role are a list of texts"""

    def broken(*args: Any) -> dict[str, object]:
        role = original(*args)
        return {**role, "parameter": [parameter["name"] for parameter in role["parameter"]]}

    return broken


@mutant("USR-ROLE-11 USR-ROLE-15", f"{ROLES}:add_parameters")
def first_alone(original: Any) -> Any:
    """of several parameters the first alone is defined"""
    return lambda *args: original(*args[:3], list(args[3])[:1])


@mutant("USR-ROLE-12", f"{ROLES}:all_roles")
def empty_unlisted(original: Any) -> Any:
    """a role without parameters is not listed"""
    return lambda *args: [role for role in original(*args) if role["parameter"]]


@mutant("USR-ROLE-13", f"{ROLES}:all_roles")
def by_name(original: Any) -> Any:
    """roles are listed by their names"""
    return lambda *args: sorted(original(*args), key=lambda role: str(role["role_id"]))


@mutant("USR-ROLE-14 USR-ROLE-17", f"{ROLES}:delete_role")
def role_stays(original: Any) -> Any:
    """deleteRole deletes nothing"""
    return lambda *args: None


@mutant("USR-ROLE-15", f"{ROLES}:add_parameters")
def only_new(original: Any) -> Any:
    """addRoleParam gives the new parameters alone"""

    def broken(connection: Any, solution: str, role_id: str, parameters: Any) -> dict[str, object]:
        role = original(connection, solution, role_id, parameters)
        return {**role, "parameter": [{"name": parameter.name} for parameter in parameters]}

    return broken


@mutant("USR-ROLE-16", f"{ROLES}:remove_parameters")
def as_before(original: Any) -> Any:
    """deleteRoleParam gives the role as it was before"""

    def broken(connection: Any, solution: str, role_id: str, name: str) -> dict[str, object]:
        before = roles.shown(connection, solution, role_id)
        original(connection, solution, role_id, name)
        return before

    return broken
