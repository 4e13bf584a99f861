"""The OAuth provider: token sets, their exchange, and their lifetime."""

from __future__ import annotations

import asyncio
import re

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.device_client import now
from labkit.conformance.jwts import decode
from labkit.conformance.target import Target
from labkit.conformance.user.oauth.client import CALLBACK, SECOND
from labkit.conformance.user.oauth.steps import Shop
from labkit.conformance.users import NOBODY, User

CODE_LIFETIME = 600  # seconds
ACCESS_LIFETIME = 1_296_000
REFRESH_LIFETIME = 31_104_000
UNFIT_LIFETIMES = (0, -1, 1.5, "soon", True)


# ---- token sets


@check("USR-OAUTH-18", "a token set has its four fields, from a code and from a refresh token")
async def token_sets(target: Target) -> None:
    shop = await Shop.open(target)
    first = await shop.tokens()
    for tokens in (first, await shop.refresh(first["refresh_token"])):
        kinds = {name: type(value).__name__ for name, value in tokens.items()}
        wanted = {
            "expires_in": "int",
            **dict.fromkeys(("token_type", "access_token", "refresh_token"), "str"),
        }
        expect.equal("fields of the set", kinds, wanted, shop.last)


@check("USR-OAUTH-19", "the fields of a token set, and the claims of its access token")
async def claims(target: Target) -> None:
    shop, device = await Shop.open(target), target.device("token-open")
    code, before = await shop.approve(scope="profile email"), await now(device)
    tokens = await shop.redeem(code, access_token_ttl=60)
    after = await now(device)
    shop.same("token_type", tokens.get("token_type"), "Bearer")
    fits = re.fullmatch(r"[A-Za-z0-9_-]{40,}", str(tokens["refresh_token"]))
    expect.true("the refresh token is long and safe in a URL", fits, tokens["refresh_token"], shop.last)
    header, body, _ = decode(tokens["access_token"])
    shop.same("alg", header.get("alg"), "RS256")
    given = {name: body.get(name) for name in ("aud", "sub", "scopes")}
    wanted = {"aud": str(shop.client.id), "sub": str(shop.ann.id), "scopes": ["profile", "email"]}
    shop.same("claims", given, wanted)
    expect.true("jti is a text", isinstance(body.get("jti"), str), body.get("jti"), shop.last)
    start = body.get("iat")
    in_time = isinstance(start, int | float) and before <= start < after + 1
    expect.true("iat is in this second", in_time, start, shop.last)
    shop.same("nbf and exp", [body.get("nbf"), body.get("exp")], [start, (start or 0) + 60])
    tokens = await shop.redeem(await shop.approve(scope=""))
    shop.same("scopes of none", decode(tokens["access_token"])[1].get("scopes"), [])


@check("USR-OAUTH-20", "a new set ends the one before")
async def one_alive(target: Target) -> None:
    shop = await Shop.open(target)
    sets = [await shop.tokens()]
    sets.append(await shop.tokens())
    await shop.expect_ended(sets[0])
    await shop.refused_refresh(400, sets[0]["refresh_token"])
    sets.append(await shop.refresh(sets[1]["refresh_token"]))
    await shop.expect_ended(sets[1])
    await shop.expect_valid(sets[2])
    await shop.refused_refresh(400, sets[1]["refresh_token"])


@check("USR-OAUTH-21", "each user and each client has a set of its own")
async def sets_apart(target: Target) -> None:
    shop = await Shop.open(target)
    bob = await shop.person()
    other = await shop.register(bob)
    as_other = {"client_id": other["id"], "client_secret": other["secret"]}
    anns = await shop.tokens()
    bobs = await shop.redeem(await shop.approve(token=await shop.login(bob)))
    elsewhere = await shop.redeem(await shop.approve(client_id=other["id"]), **as_other)
    await shop.expect_valid(anns)
    await shop.expect_valid(bobs, bob)
    anns = await shop.refresh(anns["refresh_token"])
    await shop.expect_valid(bobs, bob)
    await shop.expect_valid(elsewhere)


# ---- exchanges


@check("USR-OAUTH-22 USR-OAUTH-23", "grant_type decides what is exchanged, whatever else is sent")
async def grants(target: Target) -> None:
    shop = await Shop.open(target)
    tokens, code = await shop.tokens(), await shop.approve()
    everything = {"refresh_token": tokens["refresh_token"], "code": code, "redirect_uri": CALLBACK}
    for grant in ("password", "client_credentials", "Refresh_Token", ""):
        name = await shop.refused_redemption(400, **everything, grant_type=grant)
        expect.equal("name", name, "unsupported_grant_type", shop.last)
    refreshed = await shop.redeem(**everything, grant_type="refresh_token")
    await shop.refused_refresh(400, tokens["refresh_token"])
    await shop.expect_ended(refreshed)
    await shop.expect_valid(await shop.redeem(**everything))
    await shop.refused("getOauthToken", 400, client_id=shop.client.id, code=code, redirect_uri=CALLBACK)


@check("USR-OAUTH-24 USR-OAUTH-25", "a code and a refresh token are valid only for their client")
async def clients(target: Target) -> None:
    shop = await Shop.open(target)
    other = await shop.register(shop.ann)
    tokens, code = await shop.tokens(), await shop.approve()
    for changes in (
        {"client_id": other["id"], "client_secret": other["secret"]},
        {"client_id": other["id"], "client_secret": None},
    ):
        await shop.refused_redemption(400, code, **changes)
        await shop.refused_refresh(400, tokens["refresh_token"], **changes)
    await shop.refused("getOauthToken", 400, grant_type="authorization_code", code=code)
    name = await shop.refused_redemption(401, code, client_id=NOBODY)
    expect.equal("name", name, "invalid_client", shop.last)
    text = str(shop.client.id)
    await shop.expect_valid(await shop.refresh(tokens["refresh_token"], client_id=text))
    await shop.expect_valid(await shop.redeem(code, client_id=text))


@check("USR-OAUTH-26 USR-OAUTH-27", "a wrong client_secret is refused, none at all is not")
async def secrets(target: Target) -> None:
    shop = await Shop.open(target)
    code = await shop.approve()
    for wrong in ("", "wrong", shop.client.secret[:-1], shop.client.secret.swapcase()):
        name = await shop.refused_redemption(401, code, client_secret=wrong)
        expect.equal("name", name, "invalid_client", shop.last)
    tokens = await shop.redeem(code)
    await shop.refused_refresh(401, tokens["refresh_token"], client_secret="wrong")
    tokens = await shop.refresh(tokens["refresh_token"], client_secret=None)
    await shop.expect_valid(tokens)
    await shop.expect_valid(await shop.redeem(await shop.approve(), client_secret=None))


@check("USR-OAUTH-28 USR-OAUTH-31", "nothing but a code and a refresh token that were given is exchanged")
async def credentials(target: Target) -> None:
    shop = await Shop.open(target)
    tokens, code = await shop.tokens(), await shop.approve()
    for wrong in (None, "", "0" * 40, code[:-1], tokens["refresh_token"], tokens["access_token"]):
        await shop.refused_redemption(400, wrong)
    for wrong in (None, "", "0" * 40, tokens["refresh_token"][:-1], code, tokens["access_token"]):
        await shop.refused_refresh(400, wrong)
    await shop.expect_valid(tokens)
    await shop.expect_valid(await shop.redeem(code))


@check("USR-OAUTH-29 USR-OAUTH-30", "a code is exchanged with the redirect that it was asked with")
async def redirect_of_the_code(target: Target) -> None:
    shop = await Shop.open(target, [CALLBACK, SECOND])
    code = await shop.approve()
    expect.equal(
        "name", await shop.refused_redemption(400, code, redirect_uri=None), "invalid_request", shop.last
    )
    for wrong in (SECOND, f"{CALLBACK}/", CALLBACK.upper(), ""):
        name = await shop.refused_redemption(400, code, redirect_uri=wrong)
        expect.equal("name", name, "invalid_grant", shop.last)
    tokens = await shop.redeem(code)
    await shop.expect_valid(await shop.refresh(tokens["refresh_token"], redirect_uri="https://else.example"))


@check("USR-OAUTH-32", "a code is valid once, and its second use revokes its tokens")
async def codes_twice(target: Target) -> None:
    shop = await Shop.open(target)
    code = await shop.approve()
    tokens = await shop.redeem(code)
    tokens = await shop.refresh(tokens["refresh_token"])
    expect.equal("name", await shop.refused_redemption(400, code), "invalid_grant", shop.last)
    await shop.expect_ended(tokens)
    await shop.refused_refresh(400, tokens["refresh_token"])
    code = await shop.approve()
    request = {"grant_type": "authorization_code", "client_id": shop.client.id, "redirect_uri": CALLBACK}
    racing = await asyncio.gather(
        *(User(target).call("User", "getOauthToken", {**request, "code": code}) for _ in range(2))
    )
    won = [result for _, result in racing if isinstance(result, dict) and "access_token" in result]
    expect.true("of two uses at one time one succeeds at most", len(won) <= 1, len(won))


@check("USR-OAUTH-33", "a refresh token is valid once, and its second use revokes the new set")
async def refresh_tokens_twice(target: Target) -> None:
    shop = await Shop.open(target)
    first = await shop.tokens()
    second = await shop.refresh(first["refresh_token"])
    third = await shop.refresh(second["refresh_token"])
    name = await shop.refused_refresh(400, first["refresh_token"])
    expect.equal("name", name, "invalid_grant", shop.last)
    await shop.expect_ended(third)
    await shop.refused_refresh(400, third["refresh_token"])


# ---- lifetimes


@check(
    "USR-OAUTH-34 USR-OAUTH-36", "lifetimes are whole seconds from 1, and expires_in tells the access token's"
)
async def lifetimes(target: Target) -> None:
    shop = await Shop.open(target)
    code = await shop.approve()
    for wrong in UNFIT_LIFETIMES:
        await shop.refused_redemption(400, code, access_token_ttl=wrong)
        await shop.refused_redemption(400, code, refresh_token_ttl=wrong)
    tokens = await shop.redeem(code)
    shop.same("expires_in without access_token_ttl", tokens.get("expires_in"), ACCESS_LIFETIME)
    for ttl in (1, 86_400):
        tokens = await shop.refresh(tokens["refresh_token"], access_token_ttl=ttl, refresh_token_ttl=86_400)
        shop.same("expires_in", tokens.get("expires_in"), ttl)
    tokens = await shop.refresh(tokens["refresh_token"])
    shop.same("expires_in without access_token_ttl", tokens.get("expires_in"), ACCESS_LIFETIME)


@check("USR-OAUTH-35 USR-OAUTH-36 USR-OAUTH-37", "each lifetime ends at its last second", needs={"clock"})
async def last_seconds(target: Target) -> None:
    shop = await Shop.open(target)
    bob = await shop.person()
    await target.advance(1.75 - target.lab_time() % 1)
    early = await shop.tokens(access_token_ttl=60, refresh_token_ttl=61)
    late = await shop.redeem(await shop.approve(token=await shop.login(bob)), refresh_token_ttl=61)
    alive, dead = await shop.approve(), await shop.approve()
    await target.advance(59.5)
    await shop.expect_valid(early)
    await target.advance(0.5)
    await shop.expect_ended(early)
    await target.advance(0.5)
    early = await shop.refresh(early["refresh_token"])
    await target.advance(0.5)
    await shop.refused_refresh(400, late["refresh_token"])
    await shop.expect_valid(late, bob)
    await target.advance(CODE_LIFETIME - 61.5)
    await shop.expect_valid(await shop.redeem(alive))
    await target.advance(0.5)
    expect.equal("name", await shop.refused_redemption(400, dead), "invalid_grant", shop.last)


@check("USR-OAUTH-35 USR-OAUTH-36", "an access token that outlives its refresh token", needs={"clock"})
async def apart_from_each_other(target: Target) -> None:
    shops = [await Shop.open(target) for _ in range(2)]
    sets = [(each, await each.tokens(access_token_ttl=100, refresh_token_ttl=10)) for each in shops]
    await target.advance(11)
    for each, tokens in sets:
        await each.refused_refresh(400, tokens["refresh_token"])
        await each.approve()  # these codes are never exchanged
        await each.expect_valid(tokens)
    await target.advance(88)
    for each, tokens in sets:
        await each.approve()
        await each.expect_valid(tokens)
    await target.advance(1)
    for each, tokens in sets:
        await each.expect_ended(tokens)


@check("USR-OAUTH-35 USR-OAUTH-36", "the default lifetimes are those of the document", needs={"clock"})
async def default_lifetimes(target: Target) -> None:
    shop = await Shop.open(target)
    bob = await shop.person()
    anns = await shop.tokens()
    bobs = await shop.redeem(await shop.approve(token=await shop.login(bob)))
    await target.advance(ACCESS_LIFETIME - 1)
    await shop.expect_valid(anns)
    await target.advance(1)
    await shop.expect_ended(anns)
    await target.advance(REFRESH_LIFETIME - ACCESS_LIFETIME - 1)
    await shop.expect_valid(await shop.refresh(anns["refresh_token"]))
    await target.advance(1)
    await shop.refused_refresh(400, bobs["refresh_token"])
