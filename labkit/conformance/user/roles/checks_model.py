"""Roles, permissions and assignments by a model: operations on a few of them in two solutions, in random order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.conformance.check import model_check
from labkit.conformance.models.search import Model
from labkit.conformance.user.roles.game import Roles

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

ROLES = ("r", "r", "R", "s", "S", "t")
NAMES = ("sn", "sn", "SN", "zone", "Sn")
VALUES = ("1", "1", "2", "a", "A", "7", "*", "x" * 100)
PERMS = (
    ("GET", "/~/x/{sn}"),
    ("GET", "/~/x/{sn}"),
    ("GET", "/~/y"),
    ("POST", "/~/x/{sn}/{ZONE}"),
    ("GET", "/~/X/{sn}"),
    ("GET", "~/y"),
    ("PUT", "/~/{none}"),
)


@dataclass(frozen=True)
class Call:
    """An operation of the game, with the number of the solution and what else it takes."""

    does: str
    solution: int
    given: tuple[Any, ...]

    async def __call__(self, game: Roles) -> None:
        await getattr(game, self.does)(self.solution, *self.given)


def commands() -> SearchStrategy[Any]:
    """What scripts call."""
    from hypothesis import strategies as st

    one_of, tuples = st.sampled_from, st.tuples
    roles, names, values, perms = one_of(ROLES), one_of(NAMES), one_of(VALUES), one_of(PERMS)
    users = one_of([0, 0, 1])
    several = st.lists(names, max_size=3).map(tuple)
    pairs = st.lists(tuples(names, values), max_size=4).map(tuple)
    given = st.lists(
        tuples(names, one_of(("1", "2", "a", "A"))), max_size=2, unique_by=lambda each: each[0].lower()
    )

    def call(does: str, *args: SearchStrategy[Any]) -> SearchStrategy[Call]:
        return st.builds(Call, st.just(does), one_of([0, 0, 1]), tuples(*args))

    takes = one_of(["deassignUser", "deassignUserParam", "deassignUserParamName", "deleteRoleParamValue"])
    return st.one_of(
        call("create", roles, several),
        call("create", roles, st.just(("sn", "zone"))),
        call("assign", users, roles, pairs),
        call("assign", users, roles, pairs),
        call("perms", one_of(["addRolePerm", "addRolePerm", "deleteRolePerm"]), roles, perms),
        call("may", users, perms, given.map(tuple)),
        call("may", users, perms, given.map(tuple)),
        call("perms", one_of(["createPermission", "deletePerm"]), st.just("r"), perms),
        call("add_names", roles, several),
        call("take", users, takes, roles, names, values),
        call("holds", users, roles, names, values),
        call("ask", one_of(["getRole", "listRolePerms", "listRoleUsers"]), roles),
        call("ask_user", users),
        call("values", users, roles, names, tuples(one_of((0, 1, 2)), one_of((100, 1, 2)))),
        call("remove_name", roles, names),
        call("delete", roles),
        call("list_roles"),
        call("list_perms"),
    )


RULES = (
    "USR-ROLE-3 USR-ROLE-4 USR-ROLE-11 USR-ROLE-12 USR-ROLE-14 USR-ROLE-15 USR-ROLE-16 USR-ROLE-18 USR-PERM-4 "
    "USR-PERM-5 USR-PERM-6 USR-PERM-8 USR-PERM-10 USR-PERM-11 USR-ASSIGN-7 USR-ASSIGN-9 USR-ASSIGN-10 "
    "USR-ASSIGN-11 USR-ASSIGN-13 USR-ASSIGN-14 USR-ASSIGN-15 USR-ASSIGN-17 USR-ASSIGN-19 USR-ASSIGN-20"
)

roles = model_check(
    "roles/model",
    "roles, permissions and assignments of two solutions in any order, as a model has them",
    Model(tuple(RULES.split()), commands, Roles),
)
