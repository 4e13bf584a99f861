"""Races: logins, codes and refresh tokens while passwords change, users are deleted, or codes are used."""

from __future__ import annotations

from functools import partial
from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.races import ORDERS, at_once
from labkit.conformance.target import Target
from labkit.conformance.user.oauth.steps import Shop
from labkit.conformance.users import NEW_PASSWORD, User

# Rounds of a login beside a change of its password, since whether they overlap depends on two hashes in threads.
ROUNDS = 3


def later_call(user: User, operation: str, **given: object) -> Any:
    """Return a call that may fail, to be started later."""
    return partial(user.call, "User", operation, given)


@check("USR-TOKEN-8 USR-TOKEN-12", "a login with a password that is replaced meanwhile")
async def replaced_password(target: Target) -> None:
    user = User(target)
    for turned in ORDERS * ROUNDS:
        for change in ("resetUserPassword", "updateUser"):
            person = await user.person()
            given = {"original_password": person.password} if change == "updateUser" else {}
            (kind, token), _ = await at_once(
                later_call(user, "getUserToken", email=person.email, password=person.password),
                later_call(user, change, id=person.id, password=NEW_PASSWORD, **given),
                turned=turned,
            )
            if kind == "string":
                await user.expect_unusable(token, "of a password that was replaced meanwhile")
            await user.refused("getUserToken", 401, email=person.email, password=person.password)
            await user.text("getUserToken", email=person.email, password=NEW_PASSWORD)


@check("USR-TOKEN-8 USR-TOKEN-1", "a login of a user who is deactivated or deleted meanwhile")
async def gone_meanwhile(target: Target) -> None:
    user = User(target)
    for turned in ORDERS:
        for change, given, status in (("updateUser", {"status": 0}, 400), ("deleteUser", {}, 401)):
            person = await user.person()
            (kind, token), _ = await at_once(
                later_call(user, "getUserToken", email=person.email, password=person.password),
                later_call(user, change, id=person.id, **given),
                turned=turned,
            )
            if kind == "string":
                await user.expect_unusable(token, f"after {change}")
            await user.refused("getUserToken", status, email=person.email, password=person.password)


@check("USR-USER-10 USR-USER-9", "a code that is used twice at once counts once")
async def code_at_once(target: Target) -> None:
    user = User(target)
    for turned in ORDERS:
        _, _, code = await user.sign_up()
        activate = later_call(user, "activateUser", code=code)
        kinds = sorted(kind for kind, _ in await at_once(activate, activate, turned=turned))
        expect.equal("two activations by one code", kinds, ["string", "table"], user.last)


@check(
    "USR-OAUTH-20 USR-OAUTH-32 USR-OAUTH-33",
    "codes and refresh tokens that are used while the password changes, the user goes, or twice at once",
)
async def approvals_at_once(target: Target) -> None:
    for turned in ORDERS:
        for change, given in (
            ("resetUserPassword", {"password": NEW_PASSWORD}),
            ("updateUser", {"status": 0}),
            ("deleteOauthClient", {}),
        ):
            shop = await Shop.open(target)
            named = {"client_id": shop.client.id} if change == "deleteOauthClient" else {}
            tokens = await shop.tokens()
            code = await shop.approve()
            results = await at_once(
                later_call(shop, "getOauthAuthorizeApproved", **shop.client.approval()),
                later_call(shop, "getOauthToken", **shop.client.exchange(code)),
                later_call(shop, "getOauthToken", **shop.client.renewal(tokens["refresh_token"])),
                later_call(shop, change, id=shop.ann.id, **given, **named),
                turned=turned,
            )
            for kind, result in results[:3]:
                if kind == "string":
                    await shop.fails("getOauthToken", **shop.client.exchange(result))
                elif "refresh_token" in result:
                    await shop.expect_unusable(result["access_token"], f"after {change}")
                    await shop.fails("getOauthToken", **shop.client.renewal(result["refresh_token"]))
            await shop.fails("getOauthToken", **shop.client.exchange(code))
            await shop.fails("getOauthToken", **shop.client.renewal(tokens["refresh_token"]))
        shop = await Shop.open(target)
        renewal = shop.client.renewal((await shop.tokens())["refresh_token"])
        for once in (renewal, shop.client.exchange(await shop.approve())):
            use = later_call(shop, "getOauthToken", **once)
            found = [result for _, result in await at_once(use, use, turned=turned)]
            sets = [each for each in found if "refresh_token" in each]
            expect.true("one of two uses at once succeeds at most", len(sets) <= 1, len(sets), shop.last)


@check("USR-OAUTH-1 USR-OAUTH-19", "every token set of an approval has the approved scopes")
async def scopes(target: Target) -> None:
    import jwt

    shop = await Shop.open(target)
    for scope in ("profile email", "", "email"):
        tokens = await shop.redeem(await shop.approve(scope=scope))
        for renewed in range(3):
            claims = jwt.decode(tokens["access_token"], options={"verify_signature": False})
            shop.same(f"scopes after {renewed} renewals", claims.get("scopes"), scope.split())
            shop.same(
                "the user", (claims.get("sub"), claims.get("aud")), (str(shop.ann.id), str(shop.client.id))
            )
            tokens = await shop.refresh(tokens["refresh_token"], scope="profile admin")
