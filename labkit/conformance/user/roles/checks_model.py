"""Model check of roles, permissions and assignments: operations in two solutions, in random order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance.check import model_check

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


@model_check(
    "USR-ROLE-2 USR-ROLE-3 USR-ROLE-4 USR-ROLE-5 USR-ROLE-8 USR-ROLE-9 USR-ROLE-10 USR-ROLE-11 USR-ROLE-12 "
    "USR-ROLE-14 USR-ROLE-15 USR-ROLE-16 USR-ROLE-18 USR-PERM-1 USR-PERM-2 USR-PERM-4 USR-PERM-5 USR-PERM-6 "
    "USR-PERM-8 USR-PERM-9 USR-PERM-10 USR-PERM-11 USR-PERM-13 USR-PERM-14 USR-ASSIGN-1 USR-ASSIGN-3 USR-ASSIGN-7 "
    "USR-ASSIGN-8 USR-ASSIGN-9 USR-ASSIGN-10 USR-ASSIGN-11 USR-ASSIGN-13 USR-ASSIGN-14 USR-ASSIGN-15 USR-ASSIGN-17 "
    "USR-ASSIGN-18 USR-ASSIGN-19 USR-ASSIGN-20 USR-ASSIGN-21 USR-ASSIGN-22 USR-ASSIGN-23",
    "roles, permissions and assignments of two solutions in any order, as a model has them",
)
def model() -> type[Game]:
    """Return the game of roles."""
    from labkit.conformance.user.roles.roles import Roles

    return Roles
