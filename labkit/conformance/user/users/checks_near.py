"""Near misses of codes, passwords, tokens, names and values."""

from __future__ import annotations

from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.near_misses import CASE, EMPTY, SPACE, near_misses
from labkit.conformance.roles import Access, assignment, named, permission
from labkit.conformance.target import Target
from labkit.conformance.user.oauth.steps import Shop
from labkit.conformance.users import User
from labkit.conformance.verdict import Mismatch


async def expect_refused(
    user: User, operation: str, name: str, right: str, given: dict[str, Any], *but: str
) -> None:
    """Raise a Mismatch unless an operation fails with near misses of a parameter, and then works with it."""
    for kind, wrong in near_misses(right, but=but):
        found, result = await user.call("User", operation, {**given, name: wrong})
        if not isinstance(result, dict) or "error" not in result:
            raise Mismatch(
                f"{operation} with {kind} as {name}", "an error", found, expect.exchange(user.last)
            )
    await user.works(operation, **given, **{name: right})


@check("USR-USER-10 USR-TOKEN-3 USR-TOKEN-7 USR-TOKEN-12", "near misses of codes, passwords and tokens")
async def near_accounts(target: Target) -> None:
    user = User(target)
    email, _, code = await user.sign_up()
    await expect_refused(user, "activateUser", "code", code, {})
    password = "Correct Horse"
    id = await user.id_of(email)
    await user.table("resetUserPassword", id=id, password=password)
    await expect_refused(user, "getUserToken", "password", password, {"email": email})
    await expect_refused(user, "getUserToken", "email", email, {"password": password}, *CASE, *SPACE)
    token = await user.text("getUserToken", email=email, password=password)
    await expect_refused(user, "getCurrentUser", "token", token, {})


@check(
    "USR-OAUTH-13 USR-OAUTH-16 USR-OAUTH-26 USR-OAUTH-28 USR-OAUTH-30 USR-OAUTH-31",
    "near misses of codes, secrets, redirects and tokens of clients",
)
async def near_clients(target: Target) -> None:
    shop = await Shop.open(target)
    approval = shop.client.approval()
    for name in ("token", "redirect_uri"):
        right = approval.pop(name)
        await expect_refused(shop, "getOauthAuthorizeApproved", name, right, approval)
        approval[name] = right
    for name in ("code", "client_secret", "redirect_uri"):
        exchange = shop.client.exchange(await shop.approve())
        await expect_refused(shop, "getOauthToken", name, exchange.pop(name), exchange)
    tokens = await shop.tokens()
    renewal = shop.client.renewal(tokens["refresh_token"])
    await expect_refused(shop, "getOauthToken", "refresh_token", renewal.pop("refresh_token"), renewal)


@check(
    "USR-ASSIGN-17 USR-ASSIGN-14 USR-ASSIGN-9 USR-ASSIGN-11 USR-PERM-11 USR-PERM-4",
    "near misses of held values, names and permissions",
)
async def near_values(target: Target) -> None:
    user = Access(target)
    path, value = f"GET/{target.identity()}/{{sn}}", "Ab12Cd"
    # the role ends in letters, since roles of other checks differ in their last digits only
    role, id = f"{target.identity()}-Role", await user.inactive_user()
    await user.table("createRole", role_id=role, parameter=named("sn"))
    await user.table("addRolePerm", role_id=role, body=[permission(path)])
    await user.assign(id, role, ("sn", value))
    held = [assignment(role, ("sn", value))]
    of = {"role_id": role, "parameter_name": "sn"}
    for kind, wrong in near_misses(value):
        await user.denied(id, path, f"sn::{wrong}")
        await user.fails("hasUserRoleParam", id=id, **of, parameter_value=wrong)
        if wrong.isalnum():
            found = await user.table("listRoleParamUsers", **of, parameter_value=wrong)
            user.same(f"who holds {kind}", found, [])
            await user.table("deassignUserParam", id=id, **of, parameter_value=wrong)
            await user.nothing("deleteRoleParamValue", **of, parameter_value=wrong)
        user.same(f"what is held after {kind}", await user.listed_roles(id), held)
    for name, but in (("role_id", (*CASE, *SPACE)), ("parameter_name", CASE)):
        for _, wrong in near_misses(of[name], but=but):
            await user.fails("hasUserRoleParam", id=id, **{**of, name: wrong}, parameter_value=value)
            await user.fails("deassignUserParam", id=id, **{**of, name: wrong}, parameter_value=value)
    for _, wrong in near_misses("sn", but=CASE):
        await user.denied(id, path, f"{wrong}::{value}")
    for _, wrong in near_misses(path):
        await user.denied(id, wrong, f"sn::{value}")
        await user.fails("deleteRolePerm", role_id=role, perm_id=wrong)
    user.same("permissions", await user.table("listRolePerms", role_id=role), [permission(path)])
    user.same("what is held at last", await user.listed_roles(id), held)
    await user.allowed(id, path, f"sn::{value}")


@check("USR-USER-12 USR-USER-18", "near misses of a user's address and id")
async def near_addresses(target: Target) -> None:
    user = User(target)
    person = await user.person()
    for kind, wrong in near_misses(person.email, but=(*CASE, *SPACE, *EMPTY)):
        for operator in ("eq", "in"):
            _, found = await user.call("User", "listUsers", {"filter": f"email::{operator}::{wrong}"})
            listed = [each.get("id") for each in found] if isinstance(found, list) else []
            expect.true(f"{kind} of an address is nobody's", person.id not in listed, found, user.last)
    for filter in (f"id::eq::{person.id}0", f"id::gt::{person.id}", f"id::lt::{person.id}"):
        listed = [each["id"] for each in await user.table("listUsers", filter=filter)]
        expect.true(f"{filter} leaves the user out", person.id not in listed, listed, user.last)
    await user.expect_owner(await user.login(person), person)
