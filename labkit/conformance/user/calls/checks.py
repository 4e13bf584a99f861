"""Calls of the User service, for the operations of all groups."""

from __future__ import annotations

from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.probe import WITNESS, events_of
from labkit.conformance.target import Target
from labkit.conformance.users import NEW_PASSWORD, NOBODY, PASSWORD, User

# Document 2, Endpoints: the operations of each group with their required parameters.
OPERATIONS = {
    "Jwt": """
        jwtSign key payload algorithm
        jwtVerify key token algorithms""",
    "Oauth": """
        createOauthClient id name redirect
        updateOauthClient id client_id name redirect
        deleteOauthClient id client_id
        getOauthClients id
        getOauthClientRedirectPath client_id
        getOauthAuthorizeApproved token client_id redirect_uri response_type scope
        getOauthToken grant_type client_id client_secret""",
    "Roles": """
        createRole role_id
        getRole role_id
        listRoles
        deleteRole role_id
        addRoleParam role_id body
        deleteRoleParam role_id parameter_name
        deleteRoleParamValue role_id parameter_name parameter_value
        addRolePerm role_id body
        deleteRolePerm role_id perm_id
        listRolePerms role_id
        listRoleUsers role_id
        listRoleParamUsers role_id parameter_name parameter_value
        assignUser id roles
        deassignUser id role_id
        deassignUserParam id role_id parameter_name parameter_value
        deassignUserParamName id role_id parameter_name
        hasUserRoleParam id role_id parameter_name parameter_value
        listUserRoles id
        listUserRoleParamValues id role_id parameter_name""",
    "Socials": """
        createSocial consumer redirect client_id client_secret
        updateSocial consumer
        deleteSocial consumer
        getSocial consumer
        socialList
        getSocialLoginUrl consumer
        getSocialToken consumer
        socialRequest consumer token""",
    "Users": """
        activateUser code
        createPermission method end_point
        createUser email name password
        getUserToken email password
        getCurrentUser token
        listUsers
        resetUserPassword id password
        hasUserPerm id perm_id parameters""",
}


def operations_of(group: str) -> list[tuple[str, list[str]]]:
    """Return the operations of a group with their required parameters."""
    found = [line.split() for line in OPERATIONS[group].strip().splitlines()]
    return [(name, needed) for name, *needed in found]


@check("USR-CALL-1", "parameters arrive by their names, and the result is the value of the call")
async def called(target: Target) -> None:
    user, role = User(target), target.identity()
    made = await user.table("createRole", parameter=[{"name": "area"}], role_id=role)
    user.same("the role", made, {"role_id": role, "parameter": [{"name": "area"}]})
    user.same("the role, as it is read", await user.table("getRole", role_id=role), made)
    code = await user.text("createUser", email=f"{role}@example.com", name="Ann", password=PASSWORD)
    expect.equal("activateUser", await user.text("activateUser", code=code), "OK", user.last)


async def check_group(target: Target, group: str) -> None:
    """Check that every operation of a group exists.

    Without parameters it must succeed if it needs none, else name a missing one.
    """
    user = User(target)
    for name, needed in operations_of(group):
        kind, result = await user.call("User", name, {})
        if not needed:
            expect.true(f"{name} gives a list", kind == "table" and isinstance(result, list), kind, user.last)
            continue
        text = result.get("error", "") if kind == "table" and isinstance(result, dict) else ""
        missing = any(each in text for each in needed)
        expect.true(f"{name} asks for one of {', '.join(needed)}", missing, f"{kind} {text}", user.last)


@check("USR-CALL-2", "the operations of the group Jwt are there")
async def jwt(target: Target) -> None:
    await check_group(target, "Jwt")


@check("USR-CALL-2", "the operations of the group Oauth are there")
async def oauth(target: Target) -> None:
    await check_group(target, "Oauth")


@check("USR-CALL-2", "the operations of the group Roles are there")
async def roles(target: Target) -> None:
    await check_group(target, "Roles")


@check("USR-CALL-2", "the operations of the group Socials are there")
async def socials(target: Target) -> None:
    await check_group(target, "Socials")


@check("USR-CALL-2", "the operations of the group Users are there")
async def users(target: Target) -> None:
    await check_group(target, "Users")


@check("USR-CALL-3", "neither service nor operation has a path")
async def no_paths(target: Target) -> None:
    user, role = User(target), target.identity()
    for path in ("/User/createRole", "/user/createRole", "/api/User/createRole", "/createRole", "/User"):
        expect.status(await user.request("POST", path, json={"role_id": role}), 404)
        expect.status(await user.request("GET", f"{path}?role_id={role}"), 404)
    await user.refused("getRole", 404, role_id=role)


def failing_calls(target: Target) -> list[tuple[str, dict[str, Any]]]:
    """Return failing calls of every group."""
    name = target.identity()
    return [
        ("getRole", {"role_id": name}),
        ("createRole", {"role_id": "me"}),
        ("createUser", {"email": "no address", "name": "Ann", "password": PASSWORD}),
        ("getUserToken", {"email": f"{name}@example.com", "password": PASSWORD}),
        ("activateUser", {"code": name}),
        ("resetUserPassword", {"id": NOBODY, "password": PASSWORD}),
        ("getOauthToken", {"grant_type": "authorization_code", "client_id": NOBODY, "client_secret": name,
                           "code": name, "redirect_uri": "https://example.com/"}),
        ("getSocialToken", {"consumer": name, "code": name}),
        ("jwtVerify", {"key": name, "token": name, "algorithms": ["HS256"]}),
    ]  # fmt: skip


@check("USR-CALL-4", "a failed call of any group gives type, error and status; the script goes on")
async def errors(target: Target) -> None:
    user = User(target)
    for operation, parameters in failing_calls(target):
        kind, result = await user.call("User", operation, parameters)
        found = result if kind == "table" and isinstance(result, dict) else {}
        kinds = {name: type(found.get(name)).__name__ for name in ("type", "error", "status")}
        user.same(f"error of {operation}", kinds, {"type": "str", "error": "str", "status": "int"})
        expect.true(f"error of {operation} says why", found["error"], found, user.last)


@check("USR-CALL-16", "a failed call of any group carries its status twice")
async def status_twice(target: Target) -> None:
    for user in (User(target), User(target, WITNESS)):
        for operation, parameters in [*failing_calls(target), ("nothing", {})]:
            _, result = await user.call("User", operation, parameters)
            user.same(f"status_code of {operation}", result.get("status_code"), result.get("status"))


@check("USR-CALL-5", "operations without payload give nil")
async def nil(target: Target) -> None:
    user, role = User(target), target.identity()
    await user.table("createRole", role_id=role, parameter=[{"name": "area"}])
    await user.nothing("deleteRoleParamValue", role_id=role, parameter_name="area", parameter_value="none")
    await user.nothing("deleteRole", role_id=role)
    owner = await user.person()
    client = await user.table(
        "createOauthClient", id=owner.id, name="an app", redirect="https://app.example/"
    )
    await user.nothing("deleteOauthClient", id=owner.id, client_id=client["id"])


@check("USR-CALL-6", "a script that has shown nothing is served")
async def no_credential(target: Target) -> None:
    user = User(target)
    await user.table("listRoles")
    await user.table("socialList")
    await user.table(
        "jwtSign", key="a key of sixteen and more characters", payload={"a": 1}, algorithm="HS256"
    )
    person = await user.person()
    await user.table("getOauthClients", id=person.id)
    await user.table("resetUserPassword", id=person.id, password=PASSWORD)
    for each in (user.last, await user.request("POST", "/call/User/listRoles", json={})):
        sent = dict(each.request.headers) if each is not None else {}
        shown = {"authorization", "cookie"} & set(sent)
        expect.true("nothing was shown", not shown, sorted(shown), each)
        expect.true("no cookie comes", each is not None and not each.cookies, "a cookie", each)


@check("USR-CALL-7", "refusals of every group are QueryErrors whose error is JSON with the message")
async def errors_as_json(target: Target) -> None:
    user = User(target)
    for operation, parameters in failing_calls(target):
        _, result = await user.call("User", operation, parameters)
        status = result.get("status") if isinstance(result, dict) else None
        refused = isinstance(status, int) and 400 <= status <= 499
        expect.true(f"status of {operation} blames the caller", refused, status, user.last)
        await user.refused(operation, int(status or 0), **parameters)


@check("USR-CALL-8", "a missing or wrong parameter is named, one too many is ignored")
async def parameters(target: Target) -> None:
    user, role = User(target), target.identity()
    for group in OPERATIONS:
        for name, needed in operations_of(group):
            if needed and name != "hasUserPerm":  # without parameters it denies: 403 (USR-PERM-15)
                message = (await user.refused(name, 400))["message"]
                wanted = [f"Parameter {each} is required." for each in needed]
                expect.true(f"{name} names the parameter", message in wanted, message, user.last)
    for operation, wrong in (
        ("createRole", {"role_id": [role]}),
        ("listUserRoles", {"id": "one"}),
        ("jwtVerify", {"key": 1, "token": "a.b.c", "algorithms": ["HS256"]}),
    ):
        message = (await user.refused(operation, 400, **wrong))["message"]
        expect.true("the parameter is named", next(iter(wrong)) in message, message, user.last)
    made = await user.table("createRole", role_id=role, colour="red", parameter=[])
    user.same("the role", made, {"role_id": role, "parameter": []})


@check("USR-CALL-9", "whatever is named and not there is 404")
async def unknown(target: Target) -> None:
    user, name = User(target), target.identity()
    person = await user.person()
    for operation, given in (
        ("getRole", {"role_id": name}),
        ("deleteRole", {"role_id": name}),
        ("listRolePerms", {"role_id": name}),
        ("assignUser", {"id": person.id, "roles": [{"role_id": name, "parameters": []}]}),
        ("assignUser", {"id": NOBODY, "roles": []}),
        ("listUserRoles", {"id": NOBODY}),
        ("resetUserPassword", {"id": NOBODY, "password": PASSWORD}),
        ("createOauthClient", {"id": NOBODY, "name": "an app", "redirect": "https://app.example/"}),
        ("getOauthClients", {"id": NOBODY}),
        ("deleteOauthClient", {"id": person.id, "client_id": NOBODY}),
        ("getSocial", {"consumer": name}),
        ("deleteSocial", {"consumer": name}),
        ("getSocialLoginUrl", {"consumer": name}),
    ):
        await user.refused(operation, 404, **given)


@check("USR-CALL-10", "an id may be text, and anything but a whole number is 400")
async def id_as_text(target: Target) -> None:
    user, role = User(target), target.identity()
    person = await user.person()
    await user.table("createRole", role_id=role)
    await user.table("assignUser", id=str(person.id), roles=[{"role_id": role, "parameters": []}])
    listed = await user.table("listUserRoles", id=person.id)
    user.same("roles", listed, [{"role_id": role, "parameters": []}])
    user.same("roles by text", await user.table("listUserRoles", id=str(person.id)), listed)
    for wrong in ("", "one", f"{person.id}.0", person.id + 0.5, -person.id, True, [person.id]):
        await user.refused("listUserRoles", 400, id=wrong)


@check("USR-CALL-11", "empty lists stay lists")
async def empty_lists(target: Target) -> None:
    user, role = User(target), target.identity()
    person = await user.person()
    made = await user.table("createRole", role_id=role)
    user.same("the role", made, {"role_id": role, "parameter": []})
    user.same("its permissions", await user.table("listRolePerms", role_id=role), [])
    user.same("its users", await user.table("listRoleUsers", role_id=role), [])
    user.same("users", await user.table("listUsers", filter=f"email::like::no-{role}"), [])
    user.same("clients", await user.table("getOauthClients", id=person.id), {"oauth_clients": []})
    user.same("roles", await user.table("listUserRoles", id=person.id), [])


@check("USR-CALL-12", "another solution does not know them, and may use their names")
async def solutions(target: Target) -> None:
    user, other, role = User(target), User(target, WITNESS), target.identity()
    person = await user.person()
    token = await user.login(person)
    await user.table("createRole", role_id=role)
    user.same("users there", await other.table("listUsers", filter=f"email::like::{person.email}"), [])
    await other.refused("getUserToken", 401, email=person.email, password=person.password)
    await other.refused("getRole", 404, role_id=role)
    made = await other.table("createRole", role_id=role, parameter=[{"name": "area"}])
    other.same("the role there", made, {"role_id": role, "parameter": [{"name": "area"}]})
    await other.text("createUser", email=person.email, name="Bea", password="another horse")
    await other.expect_unusable(token, "of another solution's token")
    user.same("the role here", await user.table("getRole", role_id=role), {"role_id": role, "parameter": []})
    expect.equal("the user here", await user.id_of(person.email), person.id, user.last)


@check("USR-CALL-13", "creating, changing and deleting a user raises account, each once")
async def account(target: Target) -> None:
    user = User(target)
    email, _, code = await user.sign_up()
    id = await user.id_of(email)
    await user.text("activateUser", code=code)
    await user.table("updateUser", id=id, name="Anna")
    await user.table("updateUser", id=id)
    await user.table("resetUserPassword", id=id, password=NEW_PASSWORD)
    await user.nothing("deleteUser", id=id)
    found = await events_of(target, email, 5)
    expect.equal("handlers", [each["handler"] for each in found], ["account"] * 5)
    events = [each["event"] for each in found]
    updates = (("activateUser", ["status"]), ("updateUser", ["name"]), ("resetUserPassword", ["password"]))
    wanted = [("CREATE", None, None), *(("UPDATE", *each) for each in updates), ("DELETE", None, None)]
    seen = [(each.get("type"), each.get("operation"), each.get("changed")) for each in events]
    expect.equal("types and changes", seen, wanted)
    for each in events:
        shown = {name: each.get(name) for name in ("id", "email")}
        expect.equal("whom it is about", shown, {"id": id, "email": email})
    ids = {each.get("solution_id") for each in events}
    expect.true("solution_id is one text", len(ids) == 1 and all(isinstance(each, str) for each in ids), ids)
