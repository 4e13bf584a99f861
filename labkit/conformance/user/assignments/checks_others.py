"""Assignments of users: isolation from equal names in another solution and in other roles."""

from __future__ import annotations

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.probe import WITNESS, Table
from labkit.conformance.roles import WILDCARD, Access, assignment, named, permission
from labkit.conformance.target import Target

VALUES = (("sn", "1"), ("sn", "2"), ("zone", "1"))


@check(
    "USR-ASSIGN-9 USR-ASSIGN-13 USR-ASSIGN-14 USR-ASSIGN-15 USR-CALL-12",
    "deletions of equal names in another solution change nothing here",
)
async def namesakes(target: Target) -> None:
    name, perm = target.identity(), f"GET/{target.identity()}/{{sn}}"
    solutions = Access(target), Access(target, WITNESS)
    ids = [await each.inactive_user() for each in solutions]
    for each, id in zip(solutions, ids, strict=True):
        await each.table("createRole", role_id=name, parameter=named("sn", "zone"))
        await each.table("addRolePerm", role_id=name, body=[permission(perm)])
        await each.assign(id, name, *VALUES)
    (here, there), (own, other) = solutions, ids
    value: Table = {"role_id": name, "parameter_name": "sn", "parameter_value": "1"}
    of_name = {"role_id": name, "parameter_name": "zone"}
    changes: tuple[tuple[str, Table], ...] = (
        ("deleteRoleParamValue", value),
        ("deassignUserParam", {"id": other, **value, "parameter_value": "2"}),
        ("deassignUserParamName", {"id": other, **of_name}),
        ("deleteRoleParam", of_name),
        ("deassignUser", {"id": other, "role_id": name}),
        ("deleteRolePerm", {"role_id": name, "perm_id": perm}),
        ("deletePerm", {"perm_id": perm}),
        ("deleteRole", {"role_id": name}),
        ("deleteUser", {"id": other}),
    )
    for operation, parameters in changes:
        await there.call("User", operation, parameters)
        here.same(
            f"what is held after {operation} elsewhere",
            await here.listed_roles(own),
            [assignment(name, *VALUES)],
        )
        role = {"role_id": name, "parameter": named("sn", "zone")}
        here.same("the role", await here.table("getRole", role_id=name), role)
        await here.allowed(own, perm, "sn::1")


@check("USR-ASSIGN-11", "a user who holds a value and the wildcard is listed once")
async def listed_once(target: Target) -> None:
    user = Access(target)
    role, ann, bea = await user.role("sn"), await user.inactive_user(), await user.inactive_user()
    await user.assign(ann, role, ("sn", "1"), ("sn", WILDCARD), ("sn", "2"))
    await user.assign(bea, role, ("sn", "1"))
    for value, wanted in (("1", [ann, bea]), ("2", [ann]), ("3", [ann])):
        asked = {"role_id": role, "parameter_name": "sn", "parameter_value": value}
        found = await user.table("listRoleParamUsers", **asked)
        expect.equal(f"who holds {value}", sorted(found), sorted(wanted), user.last)


@check(
    "USR-ASSIGN-9 USR-ASSIGN-13 USR-ASSIGN-14 USR-ASSIGN-15",
    "removals from one role change no equal names in another",
)
async def other_roles(target: Target) -> None:
    user = Access(target)
    ann, bea = await user.inactive_user(), await user.inactive_user()
    kept, names = await user.role("sn", "zone"), {"parameter_name": "sn"}
    for operation, parameters, left in (
        ("deassignUserParam", {**names, "parameter_value": "1"}, VALUES[1:]),
        ("deassignUserParamName", names, VALUES[2:]),
        ("deassignUser", {}, None),
        ("deleteRoleParamValue", {**names, "parameter_value": "2"}, (VALUES[0], VALUES[2])),
        ("deleteRoleParam", names, VALUES[2:]),
        ("deleteRole", {}, None),
    ):
        role = await user.role("sn", "zone")
        for id in (ann, bea):
            await user.assign(id, kept, *VALUES)
            await user.assign(id, role, *VALUES)
        await user.call("User", operation, {"id": ann, "role_id": role, **parameters})
        of_kept = assignment(kept, *VALUES)
        wanted = [of_kept] if left is None else [of_kept, assignment(role, *left)]
        user.same(f"what is held after {operation}", await user.listed_roles(ann), wanted)
        for id in (ann, bea):
            await user.call("User", "deassignUser", {"id": id, "role_id": role})
