"""The example solution of the guides: access by role, and by the scopes of clients."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.guide import Guide
from labkit.conformance.probe import decoded
from labkit.conformance.roles import assignment, named
from labkit.conformance.target import Target
from labkit.conformance.user.oauth.client import OAuthClient
from labkit.conformance.users import Person

ROLES = {role: named("infoUserId") for role in ("owner", "guest")}


async def guide_with_roles(target: Target) -> Guide:
    """Return the solution after /_init has created its roles."""
    guide = Guide(target)
    expect.status(await guide.get("/_init"), 200)
    return guide


async def assign(guide: Guide, person: Person, role: str, name: str, value: object) -> None:
    """Assign a role by the User service, as a solution's developer does: no endpoint assigns these roles."""
    await guide.table("assignUser", id=person.id, roles=[assignment(role, (name, value))])


async def info(guide: Guide, email: str, sid: str = "") -> httpx.Response:
    """Request the information about an email's user, with a session if `sid` is given."""
    return await guide.get(f"/api/user/info/{quote(email)}", sid=sid)


async def info_as_seen_by(guide: Guide, caller: Person, person: Person) -> Any:
    """Log the caller in and return the information that it gets about a person."""
    return decoded(expect.status(await info(guide, person.email, await guide.login(caller)), 200))


# ---- access to information by role


@check("USR-GUIDE-17 USR-GUIDE-18", "the set-up creates the two roles, may run again, and assigns no role")
async def set_up(target: Target) -> None:
    guide = await guide_with_roles(target)
    person = await guide.person()
    expect.status(await guide.get("/_init", sid=await guide.login(person)), 200)
    for role, parameters in ROLES.items():
        made = await guide.table("getRole", role_id=role)
        guide.same(f"role {role}", made, {"role_id": role, "parameter": parameters})
    guide.same("roles of who ran it", await guide.table("listUserRoles", id=person.id), [])


@check("USR-GUIDE-19", "an owner sees all of a user")
async def owner(target: Target) -> None:
    guide = await guide_with_roles(target)
    caller, person = await guide.person(), await guide.person()
    for role in ("guest", "owner"):  # with both roles the owner's applies
        await assign(guide, caller, role, "infoUserId", person.id)
    await assign(guide, person, "guest", "infoUserId", caller.id)
    roles = [assignment("guest", ("infoUserId", str(caller.id)))]
    expected = {**await guide.shown(person.email), "roles": roles}
    fields = {"id", "name", "email", "status", "creation_date", "roles"}
    expect.equal("fields of a user", set(expected), fields, guide.last)
    guide.same("what an owner sees", await info_as_seen_by(guide, caller, person), expected)
    other = await guide.person()
    await assign(guide, caller, "owner", "infoUserId", other.id)
    guide.same("roles of who has none", (await info_as_seen_by(guide, caller, other)).get("roles"), [])


@check("USR-GUIDE-20", "a guest sees email and creation date of a user")
async def guest(target: Target) -> None:
    guide = await guide_with_roles(target)
    caller, person = await guide.person(), await guide.person()
    await assign(guide, caller, "guest", "infoUserId", person.id)
    user = await guide.shown(person.email)
    expected = {name: user[name] for name in ("email", "creation_date")}
    guide.same("what a guest sees", await info_as_seen_by(guide, caller, person), expected)


@check("USR-GUIDE-21", "a caller without a role for a user sees the email")
async def no_role(target: Target) -> None:
    guide = await guide_with_roles(target)
    caller, person = await guide.person(), await guide.person()
    guide.same("what anybody sees", await info_as_seen_by(guide, caller, person), {"email": person.email})
    await assign(guide, caller, "owner", "infoUserId", caller.id)
    await assign(guide, caller, "guest", "infoUserId", caller.id)
    guide.same("what anybody sees", await info_as_seen_by(guide, caller, person), {"email": person.email})


@check("USR-GUIDE-22", "an unknown email is 404 for a logged-in caller")
async def nobody(target: Target) -> None:
    guide = await guide_with_roles(target)
    person = await guide.person()
    sid = await guide.login(person)
    near = (person.email[1:], f"_{person.email[1:]}", f"%{person.email[1:]}", "%", "_")
    for email in (f"{target.identity()}@example.com", *near):
        guide.message(expect.status(await info(guide, email, sid), 404))
        expect.true("free", "available" in guide.message(await info(guide, email)), email, guide.last)


@check("USR-GUIDE-23", "without a login the answer says whether an email is taken")
async def taken_or_available(target: Target) -> None:
    guide = await guide_with_roles(target)
    taken, free = (await guide.person()).email, f"{target.identity()}@example.com"
    for email, word, other in ((taken, "taken", "available"), (free, "available", "taken")):
        for sid in ("", "nonsense"):
            message = guide.message(expect.status(await info(guide, email, sid), 200))
            expect.true(f"the message says {word}", word in message and other not in message, message)


# ---- access to actions by role


@check("USR-GUIDE-24 USR-GUIDE-25", "a device is open to the readers that its keeper assigns")
async def devices(target: Target) -> None:
    guide = await guide_with_roles(target)
    expect.status(await guide.post("/_init/devices"), 200)
    keeper, reader = await guide.person(), await guide.person()
    boss, other = await guide.login(keeper), await guide.login(reader)
    sn = f"sn{keeper.id}"
    device, readers = f"/api/devices/{sn}", f"/api/devices/{sn}/readers"
    await assign(guide, keeper, "keeper", "sn", sn)

    async def change(method: str, sid: str) -> httpx.Response:
        email = {"params": {"email": reader.email}, "json": {"email": reader.email}}
        return await guide.request(method, readers, headers={"Cookie": f"sid={sid}"}, **email)

    expect.status(await guide.get(device), 401)
    expect.status(await change("PUT", ""), 401)
    expect.status(await guide.get(device, sid=other), 403)
    expect.status(await change("PUT", other), 403)
    expect.status(await change("PUT", boss), 200)
    expect.status(await guide.get(device, sid=other), 200)
    expect.status(await guide.get(f"{device}0", sid=other), 403)
    expect.status(await change("PUT", other), 403)
    expect.status(await change("DELETE", other), 403)
    expect.status(await change("DELETE", boss), 200)
    expect.status(await guide.get(device, sid=other), 403)
    for email in (f"{target.identity()}@example.com", ""):
        for method in ("PUT", "DELETE"):
            unknown = {"params": {"email": email}, "json": {"email": email}}
            headers = {"Cookie": f"sid={boss}"}
            expect.status(await guide.request(method, readers, headers=headers, **unknown), 404)


# ---- access of clients


@check("USR-GUIDE-26", "a client's wishes for lifetimes have no effect")
async def lifetimes(target: Target) -> None:
    guide = Guide(target)
    person = await guide.person()
    client = await OAuthClient.registered(guide.table, person.id, await guide.login(person))
    code = await client.with_call(guide.text).approve()
    wishes = client.exchange(code, access_token_ttl=77, refresh_token_ttl=77)
    response = expect.status(await guide.request("POST", "/oauth/token", data=wishes), 200)
    expect.equal("expires_in", decoded(response).get("expires_in"), 1_296_000, response)
