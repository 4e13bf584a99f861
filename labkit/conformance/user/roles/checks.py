"""Roles and their parameters. Every check creates its own roles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance import expect
from labkit.conformance.check import check, model_check
from labkit.conformance.probe import WITNESS, Table
from labkit.conformance.roles import WILDCARD, Access, assignment, named, permission
from labkit.conformance.target import Target

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


RESERVED = (
    "me user users permission permissions role roles parameter parameters group groups member members".split()
)


@check("USR-ROLE-1", "a role grants its permission to its user, for the assigned value")
async def story(target: Target) -> None:
    user = Access(target)
    path = f"GET/{target.identity()}/{{sn}}"
    role = await user.role("sn", perms=[path])
    id = await user.inactive_user()
    await user.assign(id, role, ("sn", "1"))
    await user.allowed(id, path, "sn::1")
    await user.denied(id, path, "sn::2")


@check("USR-ROLE-2", "role ids of 1 to 80 letters, digits, hyphens and underscores, and no others")
async def role_ids(target: Target) -> None:
    user, fresh = Access(target), target.identity()
    for role_id in (fresh.ljust(80, "x"), f"{fresh}_-Az09"):
        expect.equal(
            "role_id", (await user.table("createRole", role_id=role_id))["role_id"], role_id, user.last
        )
    short = fresh[-1]  # one character: an earlier run may have created it
    await user.call("User", "createRole", {"role_id": short})
    await user.table("getRole", role_id=short)
    listed = await user.table("listRoles")
    for role_id in (
        "",
        fresh.ljust(81, "x"),
        f"{fresh} ",
        f"{fresh}.",
        f"{fresh}é",
        f"{fresh}/",
        f"{fresh}\n",
    ):
        await user.fails("createRole", role_id=role_id)
    expect.equal("roles", len(await user.table("listRoles")), len(listed), user.last)


@check("USR-ROLE-3", "a role is found, and not made again, in other letters' case")
async def case_of_role_ids(target: Target) -> None:
    user = Access(target)
    role = await user.role("sn")
    user.same("the role", (await user.table("getRole", role_id=role.upper()))["parameter"], named("sn"))
    await user.fails("createRole", role_id=role.upper())
    found = [each["role_id"].lower() for each in await user.table("listRoles")]
    expect.equal("how often it is listed", found.count(role), 1, user.last)


@check("USR-ROLE-4", "a role that exists is 409, and is spelled as at first")
async def first_spelling(target: Target) -> None:
    user = Access(target)
    role = target.identity().capitalize()
    await user.table("createRole", role_id=role)
    for again in (role, role.upper()):
        await user.refused("createRole", 409, role_id=again)
        expect.equal("role_id", (await user.table("getRole", role_id=again))["role_id"], role, user.last)


@check("USR-ROLE-5", "parameter names of 1 to 40 letters, and no others")
async def parameter_names(target: Target) -> None:
    user = Access(target)
    role = await user.role()
    good = ["x", "aZ", "y" * 40]
    result = await user.table("addRoleParam", role_id=role, body=named(*good))
    user.same("the role", result, {"role_id": role, "parameter": named(*good)})
    for name in ("", "z" * 41, "sn1", "s-n", "s_n", "s n", "é"):
        await user.fails("addRoleParam", role_id=role, body=named(name))
        await user.fails("createRole", role_id=target.identity(), parameter=named(name))
    user.same("the role", await user.table("getRole", role_id=role), result)


@check("USR-ROLE-6", "a name counts once in a role in whatever case, and in each role by itself")
async def case_of_names(target: Target) -> None:
    user = Access(target)
    role, other = await user.role("sn"), await user.role("sn")
    await user.call("User", "addRoleParam", {"role_id": role, "body": named("SN")})
    for each in (role, other):
        found = (await user.table("getRole", role_id=each))["parameter"]
        expect.equal("names", [parameter["name"].lower() for parameter in found], ["sn"], user.last)


@check("USR-ROLE-7", "a name that is defined again stays as first spelled")
async def names_again(target: Target) -> None:
    user = Access(target)
    role = await user.role("infoUserId", "INFOUSERID")
    result = await user.table("addRoleParam", role_id=role, body=named("InfoUserID", "sn", "Sn"))
    user.same("the role", result, {"role_id": role, "parameter": named("infoUserId", "sn")})


@check("USR-ROLE-8", "no reserved word names a role or a parameter")
async def reserved(target: Target) -> None:
    user = Access(target)
    role = await user.role()
    for word in RESERVED:
        await user.fails("createRole", role_id=word)
        await user.fails("createRole", role_id=target.identity(), parameter=named(word))
        await user.fails("addRoleParam", role_id=role, body=named(word))
    user.same("parameters", (await user.table("getRole", role_id=role))["parameter"], [])


@check("USR-ROLE-9", "reserved words in other letters' case are 400")
async def reserved_in_any_case(target: Target) -> None:
    user = Access(target)
    role = await user.role()
    for word in ("User", "ROLES", "memberS"):
        await user.refused("createRole", 400, role_id=word)
        await user.refused("addRoleParam", 400, role_id=role, body=named(word))


@check("USR-ROLE-10", "a bad name is 400, and the error names the parameter")
async def bad_names(target: Target) -> None:
    user = Access(target)
    role = await user.role("sn")
    given = {"role_id": role, "parameter_name": "sn", "parameter_value": "1"}
    for field, bad in (("role_id", "a b"), ("parameter_name", "s1"), ("parameter_value", "a-b")):
        message = (await user.refused("listRoleParamUsers", 400, **{**given, field: bad}))["message"]
        expect.true(f"{field} is named", field in message, message, user.last)


@check("USR-ROLE-11", "createRole and getRole give role_id and the list of parameters")
async def record(target: Target) -> None:
    user = Access(target)
    for parameter in (named("sn", "zone"), []):
        role = {"role_id": target.identity(), "parameter": parameter}
        user.same("what createRole gives", await user.table("createRole", **role), role)
        user.same("what getRole gives", await user.table("getRole", role_id=role["role_id"]), role)
    alone = {"role_id": target.identity()}
    user.same("what createRole gives", await user.table("createRole", **alone), {**alone, "parameter": []})


@check("USR-ROLE-12", "listRoles lists each role once, as getRole gives it")
async def listing(target: Target) -> None:
    user = Access(target)
    made = [await user.role("sn", "zone"), await user.role()]
    listed = await user.table("listRoles")
    for role in made:
        found = [each for each in listed if each["role_id"] == role]
        user.same("the role in the list", found, [await user.table("getRole", role_id=role)])


@check("USR-ROLE-13", "roles come in the order of creation, to their own solution alone")
async def order(target: Target) -> None:
    user, other = Access(target), Access(target, WITNESS)
    made = [f"{letter}-{target.identity()}" for letter in "zam"]
    for role in made:
        await user.table("createRole", role_id=role, parameter=named("z", "a"))
    await user.table("addRoleParam", role_id=made[0], body=named("m"))
    found = [each for each in await user.table("listRoles") if each["role_id"] in made]
    names = [named("z", "a", "m"), named("z", "a"), named("z", "a")]
    wanted = [{"role_id": role, "parameter": parameter} for role, parameter in zip(made, names, strict=True)]
    user.same("roles in the list", found, wanted)
    theirs = [each["role_id"] for each in await other.table("listRoles")]
    expect.equal("what another solution sees", [role for role in made if role in theirs], [], other.last)


@check("USR-ROLE-14", "deleteRole gives nil, and the role is gone")
async def deletion(target: Target) -> None:
    user = Access(target)
    role, other = await user.role("sn"), await user.role()
    await user.nothing("deleteRole", role_id=role)
    await user.fails("getRole", role_id=role)
    listed = [each["role_id"] for each in await user.table("listRoles")]
    expect.equal("what is listed", [each for each in listed if each in (role, other)], [other], user.last)


@check("USR-ROLE-15", "addRoleParam adds names and gives the role")
async def adding(target: Target) -> None:
    user = Access(target)
    role = await user.role("sn")
    result = await user.table("addRoleParam", role_id=role, body=named("zone", "color"))
    user.same("what addRoleParam gives", result, {"role_id": role, "parameter": named("sn", "zone", "color")})
    user.same("what getRole gives", await user.table("getRole", role_id=role), result)


@check("USR-ROLE-16", "deleteRoleParam removes one name and gives the role")
async def taking(target: Target) -> None:
    user = Access(target)
    role = await user.role("sn", "zone", "color")
    result = await user.table("deleteRoleParam", role_id=role, parameter_name="zone")
    user.same("what deleteRoleParam gives", result, {"role_id": role, "parameter": named("sn", "color")})
    user.same("what getRole gives", await user.table("getRole", role_id=role), result)


@check("USR-ROLE-17", "a deleted role is removed from users too, and a new one is held by nobody")
async def cascades(target: Target) -> None:
    user = Access(target)
    path = f"GET/{target.identity()}/{{sn}}"
    role, other = await user.role("sn", "zone", perms=[path]), await user.role("sn")
    id = await user.inactive_user()
    await user.assign(id, other, ("sn", "1"))
    await user.assign(id, role, ("sn", "1"), ("zone", WILDCARD))
    await user.table("deleteRoleParam", role_id=role, parameter_name="sn")
    await user.table("addRoleParam", role_id=role, body=named("sn"))
    left = assignment(other, ("sn", "1"))
    user.same("what is held", await user.listed_roles(id), [left, assignment(role, ("zone", WILDCARD))])
    await user.denied(id, path, "sn::1")
    await user.nothing("deleteRole", role_id=role)
    await user.table("createRole", role_id=role, parameter=named("sn", "zone"))
    user.same("what is held", await user.listed_roles(id), [left])
    user.same("permissions of the new role", await user.table("listRolePerms", role_id=role), [])
    user.same("users of the new role", await user.table("listRoleUsers", role_id=role), [])


@check("USR-ROLE-18", "a missing role is 404, a missing parameter 400")
async def missing(target: Target) -> None:
    user, deleted = Access(target), target.identity()
    role, id = await user.role("sn"), await user.inactive_user()
    name: Table = {"parameter_name": "color"}
    value: Table = {"parameter_value": "1"}
    of_roles: dict[str, Table] = {
        "getRole": {},
        "deleteRole": {},
        "addRoleParam": {"body": named("sn")},
        "addRolePerm": {"body": [permission("GET/a")]},
        "deleteRolePerm": {"perm_id": "GET/a"},
        "listRolePerms": {},
        "listRoleUsers": {},
        "deassignUser": {"id": id},
    }
    of_names: dict[str, Table] = {
        "deleteRoleParam": name,
        "deleteRoleParamValue": {**name, **value},
        "listRoleParamUsers": {**name, **value},
        "deassignUserParam": {"id": id, **name, **value},
        "deassignUserParamName": {"id": id, **name},
        "hasUserRoleParam": {"id": id, **name, **value},
        "listUserRoleParamValues": {"id": id, **name},
    }
    for operation, parameters in {**of_roles, **of_names}.items():
        await user.refused(operation, 404, role_id=deleted, **parameters)
    for operation, parameters in of_names.items():
        await user.refused(operation, 400, role_id=role, **parameters)


@check("USR-ROLE-19", "one object is accepted as a list, and a list with one wrong item changes nothing")
async def lists(target: Target) -> None:
    user = Access(target)
    role = await user.role()
    result = await user.table("addRoleParam", role_id=role, body={"name": "sn"})
    user.same("parameters", result["parameter"], named("sn"))
    await user.refused("addRoleParam", 400, role_id=role, body=named("zone", "s1"))
    user.same("the role", await user.table("getRole", role_id=role), result)
    other = target.identity()
    await user.refused("createRole", 400, role_id=other, parameter=named("zone", "s1"))
    await user.refused("getRole", 404, role_id=other)


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
