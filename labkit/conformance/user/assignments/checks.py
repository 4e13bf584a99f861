"""Assignments of roles and values to users. Every check creates its own roles and users."""

from __future__ import annotations

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.probe import Table
from labkit.conformance.roles import WILDCARD, Access, assignment
from labkit.conformance.target import Target
from labkit.conformance.users import NOBODY


def sn(id: int, role: str, value: object = None) -> Table:
    """Return the parameters for a user, a role, its parameter sn and, if given, a value."""
    given: Table = {"id": id, "role_id": role, "parameter_name": "sn"}
    return given if value is None else {**given, "parameter_value": value}


@check("USR-ASSIGN-1", "values of 1 to 100 letters and digits, and no others")
async def values(target: Target) -> None:
    user = Access(target)
    role, id = await user.role("sn"), await user.inactive_user()
    good = ["1", "aZ09", "x" * 100]
    result = await user.assign(id, role, *(("sn", value) for value in good))
    user.same("what is held", result, [assignment(role, *(("sn", value) for value in good))])
    for value in ("", "x" * 101, "a-b", "a b", "a.b", "a_b", "é", "*"):
        await user.fails("assignUser", id=id, roles=[assignment(role, ("sn", value))])
    user.same("what is held", await user.listed_roles(id), result)


@check("USR-ASSIGN-2", "the wildcard gives every value of its parameter, and of no other")
async def wildcard(target: Target) -> None:
    user = Access(target)
    path, other = (f"GET/{target.identity()}/{{{name}}}" for name in ("sn", "zone"))
    role, id = await user.role("sn", "zone", perms=[path, other]), await user.inactive_user()
    await user.assign(id, role, ("sn", WILDCARD))
    for value in ("1", "anything"):
        has = await user.text("hasUserRoleParam", **sn(id, role, value))
        expect.equal(f"sn {value}", has, "OK", user.last)
        await user.allowed(id, path, f"sn::{value}")
        await user.denied(id, other, f"zone::{value}")
    await user.fails("hasUserRoleParam", **{**sn(id, role, "1"), "parameter_name": "zone"})


@check("USR-ASSIGN-3", "whole numbers are stored as digits, and an invalid value is 400")
async def kinds_of_values(target: Target) -> None:
    user = Access(target)
    role, id = await user.role("sn"), await user.inactive_user()
    result = await user.assign(id, role, ("sn", 7), ("sn", 21.0), ("sn", "7"))
    user.same("what is held", result, [assignment(role, ("sn", "7"), ("sn", "21"))])
    expect.equal("sn 7", await user.text("hasUserRoleParam", **sn(id, role, 7)), "OK", user.last)
    for number in (0, 109, 2**31, 2**53, 10**20):
        held = await user.inactive_user()
        found = await user.assign(held, role, ("sn", number))
        user.same("what is held", found, [assignment(role, ("sn", str(number)))])
        expect.equal(f"sn {number}", await user.text("hasUserRoleParam", **sn(held, role, str(number))), "OK")
    wrong: list[object] = [{"type": "all"}, {}, {**WILDCARD, "x": 1}, ["1"], True, 1.5, -1]
    for value in wrong:
        await user.refused("assignUser", 400, id=id, roles=[assignment(role, ("sn", value))])
    user.same("what is held", await user.listed_roles(id), result)


@check("USR-ASSIGN-4", "the wildcard is listed as a value of its own")
async def wildcard_held(target: Target) -> None:
    user = Access(target)
    role, id = await user.role("sn"), await user.inactive_user()
    result = await user.assign(id, role, ("sn", "1"), ("sn", WILDCARD))
    user.same("what is held", result, [assignment(role, ("sn", "1"), ("sn", WILDCARD))])
    result = await user.table("deassignUserParam", **sn(id, role, WILDCARD))
    user.same("what is left", result, [assignment(role, ("sn", "1"))])
    await user.fails("hasUserRoleParam", **sn(id, role, "2"))


@check("USR-ASSIGN-5 USR-ASSIGN-19", "assignUser gives the user roles and values, and lists them")
async def assigning(target: Target) -> None:
    user = Access(target)
    one, other = await user.role("sn", "zone"), await user.role("sn")
    ann, bea = await user.inactive_user(), await user.inactive_user()
    user.same("what is held at first", await user.listed_roles(ann), [])
    given = [assignment(one, ("sn", "1"), ("zone", "a")), assignment(other, ("sn", "2"))]
    result = await user.table("assignUser", id=ann, roles=given)
    user.same("what assignUser gives", result, given)
    user.same("what listUserRoles gives", await user.listed_roles(ann), given)
    user.same("what someone else holds", await user.listed_roles(bea), [])


@check("USR-ASSIGN-6", "a role without values permits nothing")
async def no_values(target: Target) -> None:
    user = Access(target)
    path = f"GET/{target.identity()}"
    role, id = await user.role("sn", perms=[path, f"{path}/{{sn}}"]), await user.inactive_user()
    user.same("what is held", await user.assign(id, role), [assignment(role)])
    await user.denied(id, path)
    await user.denied(id, f"{path}/{{sn}}", "sn::1")
    await user.fails("hasUserRoleParam", **sn(id, role, "1"))


@check("USR-ASSIGN-7", "assignUser adds, each value once and in the order of assigning")
async def adding(target: Target) -> None:
    user = Access(target)
    role, other = await user.role("sn", "Zone"), await user.role("sn")
    id = await user.inactive_user()
    await user.assign(id, role, ("sn", "2"))
    await user.assign(id, other, ("sn", "2"))
    result = await user.assign(id, role.upper(), ("SN", "1"), ("zone", "a"), ("sn", "2"), ("sn", "3"))
    wanted = [
        assignment(role, ("sn", "2"), ("sn", "1"), ("Zone", "a"), ("sn", "3")),
        assignment(other, ("sn", "2")),
    ]
    user.same("what assignUser gives", result, wanted)


@check("USR-ASSIGN-8", "one object is accepted as a list; with one wrong item nothing is assigned")
async def lists(target: Target) -> None:
    user = Access(target)
    role, id = await user.role("sn"), await user.inactive_user()
    one = {"role_id": role, "parameters": {"name": "sn", "value": "1"}}
    held = [assignment(role, ("sn", "1"))]
    user.same("what is held", await user.table("assignUser", id=id, roles=one), held)
    good = assignment(role, ("sn", "2"))
    await user.refused("assignUser", 404, id=id, roles=[good, assignment(target.identity())])
    await user.refused("assignUser", 400, id=id, roles=[good, assignment(role, ("color", "1"))])
    user.same("what is held", await user.listed_roles(id), held)


@check("USR-ASSIGN-9", "deleteRoleParamValue removes a value from every user")
async def value_deleted(target: Target) -> None:
    user = Access(target)
    role, other = await user.role("sn", "zone"), await user.role("sn")
    ann, bea = await user.inactive_user(), await user.inactive_user()
    await user.assign(ann, role, ("sn", "1"), ("sn", "2"), ("zone", "1"))
    await user.assign(bea, role, ("sn", "3"), ("sn", "1"))
    await user.assign(bea, other, ("sn", "1"))
    await user.nothing("deleteRoleParamValue", role_id=role, parameter_name="sn", parameter_value="1")
    user.same(
        "what one has left", await user.listed_roles(ann), [assignment(role, ("sn", "2"), ("zone", "1"))]
    )
    left = [assignment(role, ("sn", "3")), assignment(other, ("sn", "1"))]
    user.same("what the other has left", await user.listed_roles(bea), left)


@check("USR-ASSIGN-10", "listRoleUsers lists the users of the role")
async def users_of_role(target: Target) -> None:
    user = Access(target)
    role, other = await user.role("sn"), await user.role("sn")
    ann, bea = await user.inactive_user(), await user.inactive_user()
    user.same("at first", await user.table("listRoleUsers", role_id=role), [])
    await user.assign(ann, role, ("sn", "1"), ("sn", "2"))
    await user.assign(bea, other, ("sn", "1"))
    user.same("with one", await user.table("listRoleUsers", role_id=role), [ann])
    await user.assign(bea, role, ("sn", "1"))
    user.same("with both", sorted(await user.table("listRoleUsers", role_id=role)), sorted([ann, bea]))


@check("USR-ASSIGN-11", "listRoleParamUsers lists the users who hold the value")
async def users_of_value(target: Target) -> None:
    user = Access(target)
    role, other = await user.role("sn", "zone"), await user.role("sn")
    ann, bea = await user.inactive_user(), await user.inactive_user()
    await user.assign(ann, role, ("sn", "1"), ("sn", "2"))
    await user.assign(bea, role, ("zone", "1"), ("sn", "2"))
    await user.assign(bea, other, ("sn", "1"))
    for value, holders in (("1", [ann]), ("2", sorted([ann, bea])), ("3", [])):
        named = {"role_id": role, "parameter_name": "sn", "parameter_value": value}
        found = await user.table("listRoleParamUsers", **named)
        user.same(f"who holds {value}", sorted(found), holders)


@check("USR-ASSIGN-12", "ids are in their order, and holders of the wildcard among them")
async def order_of_users(target: Target) -> None:
    user = Access(target)
    role = await user.role("sn")
    ids = [await user.inactive_user() for _ in range(3)]
    for id, value in zip(reversed(ids), ("1", WILDCARD, "1"), strict=True):
        await user.assign(id, role, ("sn", value))
    user.same("who holds the role", await user.table("listRoleUsers", role_id=role), ids)
    for value, holders in (("1", ids), ("2", ids[1:2])):
        named = {"role_id": role, "parameter_name": "sn", "parameter_value": value}
        user.same(f"who holds {value}", await user.table("listRoleParamUsers", **named), holders)


@check("USR-ASSIGN-13", "deassignUser removes a role and its values from one user")
async def role_taken(target: Target) -> None:
    user = Access(target)
    role, other = await user.role("sn"), await user.role("sn")
    ann, bea = await user.inactive_user(), await user.inactive_user()
    for id in (ann, bea):
        await user.table("assignUser", id=id, roles=[assignment(each, ("sn", "1")) for each in (role, other)])
    left = [assignment(other, ("sn", "1"))]
    user.same("what deassignUser gives", await user.table("deassignUser", id=ann, role_id=role), left)
    user.same("what is left", await user.listed_roles(ann), left)
    user.same("who else holds it", await user.table("listRoleUsers", role_id=role), [bea])
    user.same("assigned anew", await user.assign(ann, role), [*left, assignment(role)])


@check("USR-ASSIGN-14", "deassignUserParam removes one value from one user")
async def value_taken(target: Target) -> None:
    user = Access(target)
    role = await user.role("sn", "zone")
    ann, bea = await user.inactive_user(), await user.inactive_user()
    held = [("sn", "1"), ("sn", "2"), ("zone", "1")]
    for id in (ann, bea):
        await user.assign(id, role, *held)
    left = [assignment(role, *held[1:])]
    user.same("what is given", await user.table("deassignUserParam", **sn(ann, role, "1")), left)
    user.same("what is left", await user.listed_roles(ann), left)
    user.same("what someone else holds", await user.listed_roles(bea), [assignment(role, *held)])


@check("USR-ASSIGN-15", "deassignUserParamName removes all values of a parameter from one user")
async def name_taken(target: Target) -> None:
    user = Access(target)
    role = await user.role("sn", "zone")
    ann, bea = await user.inactive_user(), await user.inactive_user()
    held: list[tuple[str, object]] = [("sn", "1"), ("zone", "1"), ("sn", WILDCARD)]
    for id in (ann, bea):
        await user.assign(id, role, *held)
    left = [assignment(role, ("zone", "1"))]
    user.same("what is given", await user.table("deassignUserParamName", **sn(ann, role)), left)
    user.same("what is left", await user.listed_roles(ann), left)
    user.same("what someone else holds", await user.listed_roles(bea), [assignment(role, *held)])


@check("USR-ASSIGN-16", "the role stays without values, and removing a missing value is no error")
async def nothing_left(target: Target) -> None:
    user = Access(target)
    role, id = await user.role("sn"), await user.inactive_user()
    await user.assign(id, role, ("sn", "1"))
    for _ in range(2):
        user.same(
            "what is left", await user.table("deassignUserParam", **sn(id, role, "1")), [assignment(role)]
        )
    user.same("what is left", await user.table("deassignUserParamName", **sn(id, role)), [assignment(role)])
    for _ in range(2):
        user.same("what is left", await user.table("deassignUser", id=id, role_id=role), [])


@check("USR-ASSIGN-17", "hasUserRoleParam gives 'OK' or an error object")
async def has(target: Target) -> None:
    user = Access(target)
    role, other = await user.role("sn", "zone"), await user.role("sn")
    ann, bea = await user.inactive_user(), await user.inactive_user()
    await user.assign(ann, role, ("sn", "1"), ("zone", "2"))
    found = await user.text("hasUserRoleParam", **sn(ann, role, "1"))
    expect.equal("what hasUserRoleParam gives", found, "OK", user.last)
    for query in (sn(ann, role, "2"), sn(ann, other, "1"), sn(bea, role, "1")):
        await user.fails("hasUserRoleParam", **query)


@check("USR-ASSIGN-18", "hasUserRoleParam says no with 403, and minds the case of values")
async def has_not(target: Target) -> None:
    user = Access(target)
    role, id = await user.role("sn"), await user.inactive_user()
    await user.assign(id, role, ("sn", "aB"))
    for value in ("AB", "ab", "a", WILDCARD):
        await user.refused("hasUserRoleParam", 403, **sn(id, role, value))
    query = {**sn(id, role.upper(), "aB"), "parameter_name": "Sn"}
    expect.equal("in other case", await user.text("hasUserRoleParam", **query), "OK", user.last)


@check("USR-ASSIGN-20 USR-ASSIGN-21", "values are listed in pages of up to 100, with their total number")
async def pages(target: Target) -> None:
    user = Access(target)
    role, id = await user.role("sn", "zone"), await user.inactive_user()
    held = [str(number) for number in range(101)]
    await user.assign(id, role, ("zone", "a"), *(("sn", value) for value in held))
    seen: list[str] = []
    for page, count in (({}, 100), ({"offset": 100}, 1), ({"limit": 100}, 100), ({"limit": 1}, 1)):
        found = await user.table("listUserRoleParamValues", **sn(id, role), **page)
        expect.equal("fields", sorted(found), ["items", "total"], user.last)
        expect.equal(
            f"items and total with {page}", (len(found["items"]), found["total"]), (count, 101), user.last
        )
        seen += found["items"]
    user.same("values on the first two pages", sorted(seen[:101]), sorted(held))
    for limit in (0, 101, -1):
        await user.fails("listUserRoleParamValues", **sn(id, role), limit=limit)


@check("USR-ASSIGN-22", "pages are in the order of assigning; out of range is 400")
async def order_of_pages(target: Target) -> None:
    user = Access(target)
    role, id = await user.role("sn"), await user.inactive_user()
    await user.assign(id, role, ("sn", "3"), ("sn", WILDCARD), ("sn", "1"), ("sn", "2"))
    for offset, limit, items in (
        (0, 2, ["3", "*"]),
        (2, 2, ["1", "2"]),
        (3, 9, ["2"]),
        (4, 9, []),
        (2**62, 9, []),
    ):
        found = await user.table("listUserRoleParamValues", **sn(id, role), offset=offset, limit=limit)
        user.same("the page", found, {"items": items, "total": 4})
    for page in ({"offset": -1}, {"offset": 2**63}, {"limit": 0}, {"limit": 101}, {"limit": 1.5}):
        await user.refused("listUserRoleParamValues", 400, **sn(id, role), **page)


@check("USR-ASSIGN-23", "a user who does not exist is 404")
async def nobody(target: Target) -> None:
    user = Access(target)
    role = await user.role("sn")
    query = {**sn(NOBODY, role, "1"), "roles": [assignment(role, ("sn", "1"))]}
    for operation in """assignUser deassignUser deassignUserParam deassignUserParamName hasUserRoleParam
            listUserRoles listUserRoleParamValues""".split():
        await user.refused(operation, 404, **query)
    user.same("who holds the role", await user.table("listRoleUsers", role_id=role), [])
