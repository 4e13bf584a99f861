"""Faults of roles and their parameters that no row can say."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import mutant

ARGUMENTS = "labkit.services.user.roles.arguments"
ROLES = "labkit.services.user.roles.roles"


@mutant("USR-ROLE-2 USR-ROLE-5 USR-PERM-1 USR-PERM-2 USR-ASSIGN-1", f"{ARGUMENTS}:matching")
def ends_unseen(original: Any) -> Any:
    """of names and values the beginning alone is looked at"""
    return lambda value, pattern, expected: (
        value if isinstance(value, str) and pattern.match(value) else original(value, pattern, expected)
    )


@mutant("USR-ROLE-2 USR-ROLE-5 USR-PERM-1 USR-PERM-2 USR-ASSIGN-1", f"{ARGUMENTS}:matching")
def shorter_by_one(original: Any) -> Any:
    """the longest name and the longest value that are allowed are refused"""
    return lambda value, pattern, expected: original(
        value if value == "" or pattern.fullmatch(f"{value}{str(value)[-1:]}") else None, pattern, expected
    )


@mutant(
    "USR-ROLE-3 USR-ROLE-4 USR-ROLE-6 USR-ROLE-7 USR-ROLE-9 USR-PERM-13 USR-ASSIGN-18", f"{ARGUMENTS}:fold"
)
def case_counts(original: Any) -> Any:
    """letters' case tells names apart"""
    return lambda name: name


@mutant("USR-ROLE-8", f"{ARGUMENTS}:unreserved")
def word_forgotten(original: Any) -> Any:
    """one of the reserved words is none"""
    return lambda name: name if name == "parameters" else original(name)


@mutant("USR-ROLE-12", f"{ROLES}:all_roles")
def empty_unlisted(original: Any) -> Any:
    """a role without parameters is not listed"""
    return lambda *args: [role for role in original(*args) if role["parameter"]]


@mutant("USR-ROLE-14 USR-ROLE-17", f"{ROLES}:delete_role")
def role_stays(original: Any) -> Any:
    """deleteRole deletes nothing"""
    return lambda *args: None
