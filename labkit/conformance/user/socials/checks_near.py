"""Social login: near misses of states and tokens, their use in another solution, and concurrent use."""

from __future__ import annotations

from functools import partial

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.near_misses import CASE, near_misses
from labkit.conformance.probe import WITNESS
from labkit.conformance.races import ORDERS, at_once
from labkit.conformance.socials import GOOGLE, TWITTER, Socials
from labkit.conformance.target import Target


@check("USR-SOC-17 USR-SOC-5", "near misses of states and consumers")
async def near_states(target: Target) -> None:
    user = Socials(target)
    await user.create_social()
    callback = await user.callback()
    for _, wrong in near_misses(callback["state"]):
        await user.refused("getSocialToken", 400, **{**callback, "state": wrong})
    for _, wrong in near_misses(GOOGLE, but=CASE):
        await user.fails("getSocialToken", **{**callback, "consumer": wrong})
        await user.fails("deleteSocial", consumer=wrong)
    await user.expect_ann(GOOGLE, await user.text("getSocialToken", **callback))


@check("USR-SOC-19 USR-SOC-9", "near misses of request tokens and social tokens")
async def near_tokens(target: Target) -> None:
    user = Socials(target)
    await user.create_social(TWITTER)
    callback = await user.callback(TWITTER)
    for name in ("reqToken", "oauth_token"):
        for _, wrong in near_misses(callback[name]):
            await user.refused("getSocialToken", 400, **{**callback, name: wrong})
    token = await user.text("getSocialToken", **callback)
    for _, wrong in near_misses(token):
        await user.fails("socialRequest", consumer=TWITTER, token=wrong)
    await user.expect_ann(TWITTER, token)


@check("USR-CALL-12 USR-SOC-19", "a login that began at one solution does not end at another")
async def of_another_solution(target: Target) -> None:
    user, other = Socials(target), Socials(target, WITNESS)
    for each in (user, other):
        for consumer in (GOOGLE, TWITTER):
            await each.create_social(consumer)
    for consumer in (GOOGLE, TWITTER):
        callback = await user.callback(consumer)
        await other.refused("getSocialToken", 400, **callback)
        token = await user.text("getSocialToken", **callback)
        if consumer == TWITTER:  # signing needs the secret that the solution stores with its own tokens
            await other.refused("socialRequest", 401, consumer=consumer, token=token)
            await other.refused(
                "getSocialLoginUrl", 400, consumer=consumer, reqToken=await user.url(consumer)
            )
        await other.nothing("updateSocial", consumer=consumer, client_id="another")
        await other.nothing("deleteSocial", consumer=consumer)
        await user.expect_ann(consumer, token)
        user.same("the social", await user.table("getSocial", consumer=consumer), user.described(consumer))


@check("USR-SOC-17 USR-SOC-19", "a state and a request token are spent before the provider is asked")
async def spent_first(target: Target) -> None:
    user = Socials(target)
    for consumer, name in ((GOOGLE, "code"), (TWITTER, "oauth_verifier")):
        await user.create_social(consumer)
        callback = await user.callback(consumer)
        await user.refused("getSocialToken", 400, **{**callback, name: "refused"})
        await user.refused("getSocialToken", 400, **callback)
    for turned in ORDERS:
        one, other = await user.callback(), await user.callback()
        again = await user.callback(TWITTER)
        for pair in ((one, {**other, "state": one["state"]}), (again, again)):
            tries = [partial(user.call, "User", "getSocialToken", each) for each in pair]
            kinds = sorted(kind for kind, _ in await at_once(*tries, turned=turned))
            expect.equal("two logins with one state or token", kinds, ["string", "table"], user.last)
