"""Model check of roles, permissions and assignments: operations in two solutions, in random order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.conformance.check import model_check
from labkit.conformance.models.search import LONG_SEQUENCES, Model
from labkit.conformance.user.roles.game import Roles

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

ROLES = ("r", "r", "r", "R", "s", "s", "S", "t")
WRONG_ROLES = ("80", "81", "", "!é", "!a b", "!users", "!me", "!Roles", "a/b", "a.b")
NAMES = ("sn", "sn", "SN", "zone", "Zone")
MORE_NAMES = ("sn", "ZONE", "other", "x" * 40, "x" * 41, "s1", "", "member", "Roles", "é", "a_b")
VALUES = ("1", "1", "2", "2", "a", "A", "7", "*")
MORE_VALUES = ("x" * 100, "x" * 101, "007", "é", "a b", "a-b", "")
PERMS = (
    ("GET", "/~/x/{sn}"),
    ("GET", "/~/x/{sn}"),
    ("POST", "/~/x/{sn}"),
    ("POST", "/~/x/{sn}/{ZONE}"),
    ("POST", "/~/x/{sn}/{ZONE}"),
    ("GET", "/~/y"),
    ("GET", "/~/X/{sn}"),
    ("GET", "~/y"),
    ("PUT", "/~/{none}"),
    ("PUT", "/~/{}"),
)
WRONG_PERMS = (
    ("get", "/~/y"),
    ("GETGETGETGE", "/~/y"),
    ("", "/~/y"),
    ("GET", ""),
    ("GET", "/~/é"),
    ("G1", "/~/y"),
)
DEASSIGNMENTS = (
    *("deassignUser", "deassignUserParam", "deassignUserParamName"),
    *("deleteRoleParamValue", "deleteRoleParamValue"),
)


@dataclass(frozen=True)
class Call:
    """A command: a method of the game, the number of the solution, and the other arguments."""

    action: str
    solution: int
    arguments: tuple[Any, ...]

    async def __call__(self, game: Roles) -> None:
        await getattr(game, self.action)(self.solution, *self.arguments)


def commands() -> SearchStrategy[Any]:
    """Return the strategy for commands: calls of scripts."""
    from hypothesis import strategies as st

    one_of, tuples = st.sampled_from, st.tuples
    roles, names, values, perms = one_of(ROLES), one_of(NAMES), one_of(VALUES), one_of(PERMS)
    users = one_of([0, 0, 1, 1, 2])
    several = st.lists(one_of((*NAMES, *MORE_NAMES)), max_size=3).map(tuple)
    pairs = st.lists(tuples(names, values), max_size=4).map(tuple)
    any_pairs = st.lists(tuples(one_of((*NAMES, "other")), one_of((*VALUES, *MORE_VALUES))), max_size=2).map(
        tuple
    )
    given = st.lists(
        tuples(names, one_of(("1", "1", "2", "a", "a", "A"))),
        min_size=1,
        max_size=3,
        unique_by=lambda each: each[0].lower(),
    ).map(tuple)

    def call(action: str, *args: SearchStrategy[Any]) -> SearchStrategy[Call]:
        return st.builds(Call, st.just(action), one_of([0, 0, 1]), tuples(*args))

    return st.one_of(
        call("create", one_of(("t", *ROLES, *WRONG_ROLES)), several),
        call("assign", users, tuples(tuples(roles, pairs))),
        call("assign", users, st.lists(tuples(roles, any_pairs), max_size=2).map(tuple)),
        call("check_permission", users, perms, given),
        call("check_permission", users, perms, given),
        call("check_permission", users, perms, given),
        call("add_perms", roles, st.lists(one_of((*PERMS, *PERMS, *WRONG_PERMS)), max_size=2).map(tuple)),
        call(
            "change_perm",
            one_of(("deleteRolePerm", "deleteRolePerm", "deletePerm", "createPermission")),
            roles,
            perms,
        ),
        call("change_perm", st.just("createPermission"), st.just("r"), one_of(WRONG_PERMS)),
        call("add_names", roles, several),
        call("add_names", roles, st.lists(one_of((*NAMES, "ZONE")), max_size=2).map(tuple)),
        call("deassign", users, one_of(DEASSIGNMENTS), roles, names, values),
        call("deassign", users, one_of(DEASSIGNMENTS), roles, names, values),
        call("check_value", users, roles, names, values),
        call("check_value", users, roles, names, one_of(("1", "a", "A", "A"))),
        call("read_role", one_of(("getRole", "listRolePerms", "listRoleUsers")), roles),
        call("list_user_roles", users),
        call(
            "list_values", users, roles, names, tuples(one_of((0, 0, 1, 2, -1)), one_of((100, 1, 2, 101, 0)))
        ),
        call("remove_name", roles, names),
        call("delete", roles),
        call("delete_user", users),
        call("list_roles"),
        call("list_perms"),
    )


RULES = (
    "USR-ROLE-2 USR-ROLE-3 USR-ROLE-4 USR-ROLE-5 USR-ROLE-8 USR-ROLE-9 USR-ROLE-10 USR-ROLE-11 USR-ROLE-12 "
    "USR-ROLE-14 USR-ROLE-15 USR-ROLE-16 USR-ROLE-18 USR-PERM-1 USR-PERM-2 USR-PERM-4 USR-PERM-5 USR-PERM-6 "
    "USR-PERM-8 USR-PERM-9 USR-PERM-10 USR-PERM-11 USR-PERM-13 USR-PERM-14 USR-ASSIGN-1 USR-ASSIGN-3 USR-ASSIGN-7 "
    "USR-ASSIGN-8 USR-ASSIGN-9 USR-ASSIGN-10 USR-ASSIGN-11 USR-ASSIGN-13 USR-ASSIGN-14 USR-ASSIGN-15 USR-ASSIGN-17 "
    "USR-ASSIGN-18 USR-ASSIGN-19 USR-ASSIGN-20 USR-ASSIGN-21 USR-ASSIGN-22 USR-ASSIGN-23"
)

roles = model_check(
    "roles/model",
    "roles, permissions and assignments of two solutions in any order, as a model has them",
    Model(tuple(RULES.split()), commands, Roles, LONG_SEQUENCES),
)
