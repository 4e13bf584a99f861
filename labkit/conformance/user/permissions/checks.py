"""Permissions: registration, assignment to roles, and queries. Every check uses its own paths."""

from __future__ import annotations

from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.roles import Access, permission
from labkit.conformance.target import Target
from labkit.conformance.users import NOBODY


@check("USR-PERM-1", "methods of 1 to 10 capital letters, and no others")
async def methods(target: Target) -> None:
    user, path = Access(target), target.identity()
    role = await user.role(perms=[f"{method}/{path}" for method in ("G", "ABCDEFGHIJ")])
    for method in ("P", "BCDEFGHIJK"):
        await user.works("createPermission", method=method, end_point=path)
    for method in ("", "ABCDEFGHIJK", "get", "G3T", "GE T", "GÉT"):
        body = [{"method": method, "end_point": path}]
        await user.fails("createPermission", **body[0])
        await user.fails("addRolePerm", role_id=role, body=body)
    expect.equal("permissions", len(await user.table("listRolePerms", role_id=role)), 2, user.last)


@check("USR-PERM-2", "end points of 1 to 150 letters, digits and - / _ { }, and no others")
async def end_points(target: Target) -> None:
    user, path = Access(target), target.identity()
    good = [path.ljust(150, "x"), f"{path}/A-z_09/{{sn}}", "x"]
    role = await user.role("sn", perms=[f"GET/{each}" for each in good])
    listed = [each["end_point"] for each in await user.table("listRolePerms", role_id=role)]
    expect.equal("end points", sorted(listed), sorted(good), user.last)
    for end_point in ("y", path.ljust(150, "y")):
        await user.works("createPermission", method="GET", end_point=end_point)
    for end_point in ("", path.ljust(151, "x"), f"{path} ", f"{path}?", f"{path}.", f"{path}*", f"{path}é"):
        body = [{"method": "GET", "end_point": end_point}]
        await user.fails("createPermission", **body[0])
        await user.fails("addRolePerm", role_id=role, body=body)
    after = await user.table("listRolePerms", role_id=role)
    expect.equal("end points", len(after), len(good), user.last)


@check("USR-PERM-3", "malformed placeholders are never permitted, and a leading slash counts")
async def braces(target: Target) -> None:
    user, path = Access(target), target.identity()
    odd = ("{", "}", "{}", "}{", "{sn", "{sn}}", "{a{sn}}", "{s1}", "{s-n}", "{user}", "{" + "n" * 41 + "}")
    end_points = [f"{path}/{each}" for each in odd]
    for end_point in end_points:
        await user.works("createPermission", method="GET", end_point=end_point)
    role = await user.role("sn", "n", perms=[f"GET/{path}/{{sn}}", *(f"GET/{each}" for each in end_points)])
    id = await user.inactive_user()
    await user.assign(id, role, ("sn", {"type": "wildcard"}), ("n", {"type": "wildcard"}))
    given = ("sn::1", "n::1", "s1::1", "s-n::1", "user::1", "::1", f"{'n' * 41}::1")
    await user.allowed(id, f"GET/{path}/{{sn}}", *given)
    for end_point in end_points:
        await user.denied(id, f"GET/{end_point}", *given)
    both = [f"GET//{path}", f"GET/{path}"]
    role = await user.role(perms=both)
    found = await user.table("listRolePerms", role_id=role)
    user.same("permissions", found, [permission(perm_id) for perm_id in both])


@check("USR-PERM-4", "deleteRolePerm takes the permission of a perm_id, and gives the others")
async def detaching(target: Target) -> None:
    user, path = Access(target), f"{target.identity()}/a/{{sn}}"
    role = await user.role(perms=[f"GET/{path}", f"PUT/{path}"])
    left = await user.table("deleteRolePerm", role_id=role, perm_id=f"GET/{path}")
    user.same("what deleteRolePerm gives", left, [permission(f"PUT/{path}")])
    user.same("what listRolePerms gives", await user.table("listRolePerms", role_id=role), left)


@check("USR-PERM-5", "the first slash parts a perm_id; a bad one is 400, a missing permission 404")
async def perm_ids(target: Target) -> None:
    user, path = Access(target), target.identity()
    role = await user.role(perms=[f"GET//{path}", f"GET/{path}"])
    left = await user.table("deleteRolePerm", role_id=role, perm_id=f"GET//{path}")
    user.same("what is left", left, [permission(f"GET/{path}")])
    for bad in ("", "GET", f"/{path}", "GET/", f"get/{path}"):
        await user.refused("deleteRolePerm", 400, role_id=role, perm_id=bad)
        await user.refused("deletePerm", 400, perm_id=bad)
        await user.denied(1, bad, "sn::1")
    await user.refused("deleteRolePerm", 404, role_id=role, perm_id=f"GET//{path}")
    await user.refused("deletePerm", 404, perm_id=f"PUT/{path}")


@check("USR-PERM-6 USR-PERM-8", "addRolePerm and listRolePerms give the permissions of this role")
async def attaching(target: Target) -> None:
    user, path = Access(target), target.identity()
    first, second, third = (permission(f"{method}/{path}/{{sn}}") for method in ("GET", "PUT", "POST"))
    for each in (first, second, third):
        await user.call("User", "createPermission", each)
    role, other = await user.role(), await user.role()
    user.same("permissions at first", await user.table("listRolePerms", role_id=role), [])
    user.same("after one", await user.table("addRolePerm", role_id=role, body=[first]), [first])
    await user.table("addRolePerm", role_id=other, body=[third])
    result = await user.table("addRolePerm", role_id=role, body=[second])
    by_method = sorted(result, key=lambda each: str(each.get("method")))
    user.same("what addRolePerm gives", by_method, [first, second])
    user.same("what listRolePerms gives", await user.table("listRolePerms", role_id=role), result)
    user.same("those of the other role", await user.table("listRolePerms", role_id=other), [third])


@check("USR-PERM-7", "addRolePerm registers what is new, takes one object, and adds nothing twice")
async def on_the_fly(target: Target) -> None:
    user = Access(target)
    role, one = await user.role(), permission(f"GET/{target.identity()}")
    for _ in range(2):
        user.same("permissions", await user.table("addRolePerm", role_id=role, body=one), [one])
    both = [permission(f"PUT/{one['end_point']}"), one]
    user.same("permissions", await user.table("addRolePerm", role_id=role, body=both), both[::-1])
    listed = [each for each in await user.table("listPerms") if each in both]
    user.same("permissions of the solution", listed, both[::-1])
    bad = [permission(f"POST/{one['end_point']}"), permission("GET/?")]
    await user.refused("addRolePerm", 400, role_id=role, body=bad)
    user.same("permissions", len(await user.table("listRolePerms", role_id=role)), 2)


@check("USR-PERM-9", "createPermission registers a permission")
async def registering(target: Target) -> None:
    user = Access(target)
    one = permission(f"GET/{target.identity()}/{{sn}}")
    await user.works("createPermission", **one)
    expect.true("it is registered", one in await user.table("listPerms"), "it is not listed", user.last)


@check("USR-PERM-10", "createPermission gives the permission each time; deletePerm takes it from all roles")
async def permissions_of_solution(target: Target) -> None:
    user = Access(target)
    one = permission(f"GET/{target.identity()}/{{sn}}")
    for _ in range(2):
        user.same("what createPermission gives", await user.table("createPermission", **one), one)
    listed = await user.table("listPerms")
    expect.equal("how often it is listed", listed.count(one), 1, user.last)
    perm_id = f"GET/{one['end_point']}"
    roles = [await user.role(perms=[perm_id]) for _ in range(2)]
    await user.nothing("deletePerm", perm_id=perm_id)
    for role in roles:
        user.same("permissions of a role", await user.table("listRolePerms", role_id=role), [])
    expect.true("it is gone", one not in await user.table("listPerms"), "it is listed", user.last)


@check("USR-PERM-11", "hasUserPerm allows the value that is held, and denies others with 403")
async def asking(target: Target) -> None:
    user = Access(target)
    path, elsewhere = (f"GET/{target.identity()}/{{sn}}" for _ in range(2))
    role = await user.role("sn", "zone", perms=[path])
    other = await user.role("sn", perms=[elsewhere])
    ann, bea = await user.inactive_user(), await user.inactive_user()
    await user.assign(ann, role, ("sn", "1"), ("zone", "3"))
    await user.assign(bea, other, ("sn", "1"))
    await user.allowed(ann, path, "sn::1")
    for value in ("2", "11", "3", "", "a-b", "1::1", "*", "é", "1\n", "x" * 101):
        await user.denied(ann, path, f"sn::{value}")
    await user.denied(ann, elsewhere, "sn::1")
    await user.denied(bea, path, "sn::1")
    await user.assign(bea, role, ("zone", "1"))
    await user.denied(bea, path, "sn::1")


@check("USR-PERM-12", "hasUserPerm gives 'OK', and 403 for what does not exist")
async def outcomes(target: Target) -> None:
    user = Access(target)
    path = f"GET/{target.identity()}/{{sn}}"
    role, id = await user.role("sn", perms=[path]), await user.inactive_user()
    await user.assign(id, role, ("sn", "1"))
    query = {"id": id, "perm_id": path, "parameters": ["sn::1"]}
    for given in (query, {**query, "id": str(id), "parameters": "sn::1"}):
        expect.equal("what hasUserPerm gives", await user.text("hasUserPerm", **given), "OK", user.last)
    await user.refused("hasUserPerm", 403, **{**query, "perm_id": f"PUT/{target.identity()}/{{sn}}"})
    await user.refused("hasUserPerm", 403, **{**query, "id": NOBODY})


@check(
    "USR-PERM-13", "all placeholders are wanted in one role, in any letters' case; other names are ignored"
)
async def placeholders(target: Target) -> None:
    user = Access(target)
    path = f"GET/{target.identity()}/{{sn}}/{{zone}}"
    one, other = [await user.role("sn", "zone", perms=[path]) for _ in range(2)]
    id = await user.inactive_user()
    await user.assign(id, one, ("sn", "1"))
    await user.assign(id, other, ("zone", "a"))
    await user.denied(id, path, "sn::1", "zone::a")
    await user.assign(id, one, ("zone", "a"))
    await user.allowed(id, path, "sn::1", "zone::a")
    await user.allowed(id, path, "SN::1", "Zone::a", "color::red")
    for wrong in (["sn::1"], ["sn::1", "zone::A"], ["\u017fn::1", "zone::a"]):  # a long s is no s
        await user.denied(id, path, *wrong)


@check("USR-PERM-14", "without placeholders any value in the role will do")
async def without_placeholders(target: Target) -> None:
    user = Access(target)
    path = f"GET/{target.identity()}"
    role, other = await user.role("sn", perms=[path]), await user.role("sn")
    id = await user.inactive_user()
    await user.assign(id, other, ("sn", "1"))
    await user.denied(id, path)
    await user.assign(id, role, ("sn", "7"))
    await user.allowed(id, path)
    await user.allowed(id, path, "sn::1")


@check("USR-PERM-15", "arguments that are missing, malformed or contradict each other are 403")
async def malformed(target: Target) -> None:
    user = Access(target)
    path = f"GET/{target.identity()}/{{sn}}"
    role, id = await user.role("sn", perms=[path]), await user.inactive_user()
    await user.assign(id, role, ("sn", "1"))
    query: dict[str, Any] = {"id": id, "perm_id": path, "parameters": ["sn::1"]}
    for name in query:
        without = {each: value for each, value in query.items() if each != name}
        await user.refused("hasUserPerm", 403, **without)
    for name, values in {
        "id": ("", "one", f"{id} or 1", -1, 1.5, True, 10**30, [id], {"id": id}),
        "perm_id": ("", "GET", "*", 7, True, [path], f"get{path[3:]}", path + "x" * 151),
        "parameters": ("sn", "sn:1", "", ["sn"], ["sn::1", "sn"], [["sn::1"]], [7], 7, True, {"sn": "1"}),
    }.items():
        for value in values:
            await user.refused("hasUserPerm", 403, **{**query, name: value})
    await user.denied(id, path, "sn::1", "SN::2")
    await user.allowed(id, path, "sn::1")


@check("USR-PERM-16 USR-PERM-17", "access begins with the last step of the set-up, and ends with the value")
async def set_up(target: Target) -> None:
    user, role = Access(target), target.identity()
    path = f"GET/{target.identity()}/{{sn}}"
    id = await user.inactive_user()
    await user.denied(id, path, "sn::5")
    await user.call("User", "createPermission", permission(path))
    await user.table("createRole", role_id=role)
    await user.table("addRolePerm", role_id=role, body=[permission(path)])
    await user.table("addRoleParam", role_id=role, body=[{"name": "sn"}])
    await user.denied(id, path, "sn::5")
    await user.assign(id, role, ("sn", "5"), ("sn", "6"))
    await user.allowed(id, path, "sn::5")
    await user.denied(id, path, "sn::7")
    taken = {"id": id, "role_id": role, "parameter_name": "sn", "parameter_value": "5"}
    await user.table("deassignUserParam", **taken)
    await user.denied(id, path, "sn::5")
    await user.allowed(id, path, "sn::6")
