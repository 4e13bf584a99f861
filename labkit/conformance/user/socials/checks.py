"""Social login with the identity providers of lab.yaml: google and github (OAuth 2), twitter (OAuth 1)."""

from __future__ import annotations

from urllib.parse import urlsplit

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.probe import Table
from labkit.conformance.socials import GOOGLE, MISSING, TWITTER, Socials, query
from labkit.conformance.target import Target

ELSEWHERE: Table = {"redirect": "https://app.example/elsewhere"}  # which no provider knows

# ---- whole logins


@check("USR-SOC-1 USR-SOC-8 USR-SOC-9 USR-SOC-10", "a person logs in by OAuth 2")
async def oauth2(target: Target) -> None:
    user = Socials(target)
    await user.create_social()
    callback = await user.callback()
    expect.true("code and state came", {"code", "state"} <= callback.keys(), sorted(callback), user.last)
    await user.expect_ann(GOOGLE, await user.text("getSocialToken", **callback))


@check("USR-SOC-1", "a person logs in by OAuth 2 where the provider asks")
async def oauth2_with_consent(target: Target) -> None:
    user = Socials(target)
    await user.create_social("github")
    browser = target.browser()
    await browser.request("GET", await user.url("github"))
    page = await browser.submit("authorize", person="p-2", decision="approve")
    token = await user.text("getSocialToken", consumer="github", **query(str(page.url)))
    user.same("who it is", (await user.info("github", token)).get("login"), "p-2")


@check("USR-SOC-2 USR-SOC-8 USR-SOC-9 USR-SOC-10 USR-SOC-12", "a person logs in by OAuth 1")
async def oauth1(target: Target) -> None:
    user = Socials(target)
    await user.create_social(TWITTER)
    callback = await user.callback(TWITTER)
    expect.true("a verifier came", "oauth_verifier" in callback, sorted(callback), user.last)
    token = await user.text("getSocialToken", **callback)
    await user.expect_ann(TWITTER, token)
    again = await user.text("getSocialToken", **await user.callback(TWITTER))
    for each in (token, again, token):  # several tokens are valid at once
        await user.expect_ann(TWITTER, each)


# ---- socials


@check("USR-SOC-3 USR-SOC-6 USR-SOC-7", "a social has the given fields, wherever it is read")
async def created(target: Target) -> None:
    user = Socials(target)
    social, other = (
        await user.create_social(client_secret='one: it\'s "kept"'),
        await user.create_social(TWITTER),
    )
    user.same("getSocial", await user.table("getSocial", consumer=GOOGLE), social)
    user.same("getSocial of another", await user.table("getSocial", consumer=TWITTER), other)
    listed = await user.table("socialList")
    for wanted in (social, other):
        objects = [each if isinstance(each, dict) else {"consumer": each} for each in listed]
        mine = [each for each in objects if each.get("consumer") == wanted["consumer"]]
        user.same("socialList", mine, [wanted])


@check("USR-SOC-4", "an update changes what it is given")
async def updated(target: Target) -> None:
    user = Socials(target)
    social = await user.create_social()
    changes: list[Table] = [
        {"scope": []},
        {"scope": ["openid", "calendar"]},
        {"redirect": "https://app.example/back?a=b"},
        {"client_id": "another"},
        {"client_secret": "another secret"},
        {"scope": ["email"], "redirect": "https://app.example/", "client_id": "i", "client_secret": "s"},
        {},
    ]
    for change in changes:
        social = {**social, **change}
        await user.nothing("updateSocial", consumer=GOOGLE, **change)
        user.same("the social", await user.table("getSocial", consumer=GOOGLE), social)


@check("USR-SOC-5", "a deleted social is gone, and no other")
async def deleted(target: Target) -> None:
    user = Socials(target)
    await user.create_social()
    other = await user.create_social(TWITTER)
    await user.nothing("deleteSocial", consumer=GOOGLE)
    await user.refused("getSocial", 404, consumer=GOOGLE)
    listed = [each.get("consumer") for each in await user.table("socialList")]
    expect.true("it is not listed", GOOGLE not in listed, listed, user.last)
    user.same("the other", await user.table("getSocial", consumer=TWITTER), other)


@check("USR-SOC-11 USR-SOC-16", "the login URL has the fields of the social, and a state of its own")
async def login_url(target: Target) -> None:
    user = Socials(target)
    social = await user.create_social()
    states = set()
    for scope in (["profile", "email"], ["https://scopes.example/calendar.readonly"], []):
        await user.nothing("updateSocial", consumer=GOOGLE, scope=scope)
        url = await user.url(GOOGLE)
        parameters = query(url)
        states.add(parameters.pop("state", ""))
        wanted = {
            "response_type": "code",
            "client_id": social["client_id"],
            "redirect_uri": social["redirect"],
        }
        scopes = {"scope": " ".join(scope)} if scope else {}
        expect.equal("scheme", urlsplit(url).scheme, "https", user.last)
        user.same("parameters", parameters, {**wanted, **scopes})
    expect.true("each state is another", len(states - {""}) == 3, len(states - {""}), user.last)


@check("USR-SOC-11", "the granted scope is the requested one")
async def granted(target: Target) -> None:
    user = Socials(target)
    for scope, known in ((["email"], {"sub", "email"}), ([], {"sub"})):
        await user.create_social(scope=scope)
        token = await user.text("getSocialToken", **await user.callback())
        found = await user.info(GOOGLE, token)
        user.same("fields of the answer", sorted(found.keys() - {"email_verified"}), sorted(known))


@check("USR-SOC-12", "a social without scope has an empty one")
async def without_scope(target: Target) -> None:
    user = Socials(target)
    await user.delete_social(TWITTER)
    given = user.described(TWITTER)
    del given["scope"]
    user.same("the social", await user.table("createSocial", **given), {**given, "scope": []})


@check("USR-SOC-13", "names fit in any letter case, and keep their spelling")
async def letter_case(target: Target) -> None:
    user = Socials(target)
    social = await user.create_social("Google")
    for name in (GOOGLE, "GOOGLE", "Google"):
        user.same("the social", await user.table("getSocial", consumer=name), social)
        await user.refused("createSocial", 409, **user.described(name, client_id="another"))
    await user.nothing("updateSocial", consumer=GOOGLE, client_id="another")
    user.same("client_id", (await user.table("getSocial", consumer="Google"))["client_id"], "another")
    await user.nothing("deleteSocial", consumer="gOOGLE")
    await user.refused("getSocial", 404, consumer="Google")


@check("USR-SOC-14", "a consumer without provider, and one without social")
async def unknown(target: Target) -> None:
    user = Socials(target)
    await user.refused("createSocial", 400, **{**user.described(), "consumer": MISSING})
    for operation, given in (
        ("updateSocial", {"client_id": "another"}),
        ("deleteSocial", {}),
        ("getSocial", {}),
        ("getSocialLoginUrl", {}),
        ("getSocialToken", {"code": "code"}),
        ("socialRequest", {"token": "token"}),
    ):
        await user.refused(operation, 404, consumer=MISSING, **given)


@check("USR-SOC-15", "fields that are wrong are 400")
async def wrong_fields(target: Target) -> None:
    user = Socials(target)
    social = await user.create_social()
    wrong: list[Table] = [
        {"redirect": "/social/handle"},
        {"redirect": "javascript:alert(1)"},
        {"redirect": ""},
        {"redirect": "https://"},
        {"redirect": "https://acme.example/#part"},
        {"redirect": "https://acme.example/a b"},
        {"redirect": "https://acme.example/\r\nSet-Cookie: a=b"},
        {"client_id": ""},
        {"client_secret": ""},
        {"client_secret": ["x"]},
        {"scope": 7},
        {"scope": [7]},
        {"scope": [""]},
        {"scope": [["email"]]},
        {"scope": {"email": True}},
    ]
    for change in wrong:
        await user.refused("updateSocial", 400, consumer=GOOGLE, **change)
        user.same("the social", await user.table("getSocial", consumer=GOOGLE), social)
    await user.nothing("deleteSocial", consumer=GOOGLE)
    for change in wrong:
        await user.refused("createSocial", 400, **{**social, **change})
    for name in ("", "a/b", "a b", f"{GOOGLE}\n", "x" * 101, 7):
        await user.refused("createSocial", 400, **{**social, "consumer": name})
    await user.refused("getSocial", 404, consumer=GOOGLE)
    made = await user.table("createSocial", **{**social, "scope": "email"})
    user.same("one scope as text", made, {**social, "scope": ["email"]})


@check("USR-SOC-15", "fields at their bounds are kept, and beyond them are 400")
async def bounds_of_fields(target: Target) -> None:
    user = Socials(target)
    social = await user.create_social()
    host = "https://a.example/"
    for change, beyond in (
        (
            {"scope": [f"s{number}" for number in range(50)]},
            {"scope": [f"s{number}" for number in range(51)]},
        ),
        ({"scope": ["s" * 500]}, {"scope": ["s" * 501]}),
        ({"redirect": host + "x" * (2000 - len(host))}, {"redirect": host + "x" * (2001 - len(host))}),
        ({"client_id": "c" * 500}, {"client_id": "c" * 501}),
    ):
        await user.nothing("updateSocial", consumer=GOOGLE, **change)
        social |= change
        user.same("the social", await user.table("getSocial", consumer=GOOGLE), social)
        await user.refused("updateSocial", 400, consumer=GOOGLE, **beyond)
        user.same("the social", await user.table("getSocial", consumer=GOOGLE), social)


# ---- state and request token


@check("USR-SOC-17", "a state counts once, and for its own consumer")
async def state(target: Target) -> None:
    user = Socials(target)
    await user.create_social()
    await user.create_social("github")
    first, second = await user.callback(), await user.callback()
    await user.refused("getSocialToken", 400, **{**first, "consumer": "github"})
    await user.refused("getSocialToken", 400, **{**first, "state": "another"})
    await user.refused("getSocialToken", 400, **{**first, "state": ""})
    await user.text("getSocialToken", **first)
    await user.refused("getSocialToken", 400, **{**second, "state": first["state"]})
    del second["state"]
    await user.text("getSocialToken", **second)


@check("USR-SOC-17", "a state lives for less than 600 seconds", needs={"clock"})
async def state_dies(target: Target) -> None:
    user = Socials(target)
    await user.create_social()
    for waited, alive in ((599, True), (600, False), (601, False)):
        state = query(await user.url(GOOGLE))["state"]
        await target.advance(waited - 1)
        callback = {**await user.callback(), "state": state}
        await target.advance(1)
        if alive:
            await user.text("getSocialToken", **callback)
        else:
            await user.refused("getSocialToken", 400, **callback)


@check("USR-SOC-18 USR-SOC-8", "first a request token, then the URL that carries it")
async def request_token(target: Target) -> None:
    user = Socials(target)
    await user.create_social(TWITTER)
    token = await user.url(TWITTER)
    expect.true(
        "it is letters and digits", token.isascii() and token.isalnum(), "other characters", user.last
    )
    for _ in range(2):
        url = await user.url(TWITTER, reqToken=token)
        expect.equal("scheme", urlsplit(url).scheme, "https", user.last)
        user.same("parameters", query(url), {"oauth_token": token})
    expect.true("the next is another", await user.url(TWITTER) != token, "the same", user.last)
    await user.refused("getSocialLoginUrl", 400, consumer=TWITTER, reqToken=f"{token}x")


@check("USR-SOC-19", "a request token counts once, with the token that belongs to it")
async def request_token_once(target: Target) -> None:
    user = Socials(target)
    await user.create_social(TWITTER)
    callback, other = await user.callback(TWITTER), await user.url(TWITTER)
    await user.refused("getSocialToken", 400, **{**callback, "oauth_token": other})
    await user.refused("getSocialToken", 400, **{**callback, "reqToken": other})
    await user.refused("getSocialToken", 400, **{**callback, "reqToken": "another"})
    await user.text("getSocialToken", **callback)
    await user.refused("getSocialToken", 400, **callback)
    await user.refused("getSocialLoginUrl", 400, consumer=TWITTER, reqToken=callback["reqToken"])


@check("USR-SOC-19", "a request token lives for less than 600 seconds", needs={"clock"})
async def request_token_dies(target: Target) -> None:
    user = Socials(target)
    await user.create_social(TWITTER)
    for waited, alive in ((599, True), (600, False), (601, False)):
        token = await user.url(TWITTER)
        await target.advance(waited)
        if alive:
            await user.url(TWITTER, reqToken=token)
        else:
            await user.refused("getSocialLoginUrl", 400, consumer=TWITTER, reqToken=token)


# ---- callbacks and the answers of providers


@check("USR-SOC-20", "other parameters are ignored, and missing ones are named")
async def callback_arguments(target: Target) -> None:
    user = Socials(target)
    await user.create_social()
    await user.create_social(TWITTER)
    for consumer, needed in (
        (GOOGLE, ["code"]),
        (TWITTER, ["oauth_token", "oauth_verifier", "reqToken"]),
    ):
        callback = await user.callback(consumer)
        for name in needed:
            less = {key: value for key, value in callback.items() if key != name}
            await user.refused("getSocialToken", 400, **less)
        await user.text("getSocialToken", **callback, session_state="x", authuser="0", prompt=["none"])


@check("USR-SOC-21", "the provider's refusals keep their names")
async def refusals(target: Target) -> None:
    user = Socials(target)
    await user.create_social()
    callback = await user.callback()
    said = {"consumer": GOOGLE, "error": "access_denied", "error_description": "the person said no"}
    error = await user.refused("getSocialToken", 400, **said, state=callback["state"])
    expect.true("it is named", "access_denied" in error["message"], error, user.last)
    wrong = {"consumer": GOOGLE, "code": "a code that nobody gave"}
    error = await user.refused("getSocialToken", 400, **wrong)
    expect.true("it is named", "invalid_grant" in error["message"], error, user.last)
    for change, name in (
        ({"client_secret": "another secret"}, "invalid_client"),
        (ELSEWHERE, "invalid_grant"),
    ):
        await user.create_social(**change)
        error = await user.refused("getSocialToken", 400, consumer=GOOGLE, code=callback["code"])
        expect.true("it is named", name in error["message"], error, user.last)


@check("USR-SOC-21", "what an OAuth 1 provider refuses is 400")
async def refusals_of_oauth1(target: Target) -> None:
    user = Socials(target)
    await user.create_social(TWITTER)
    callback = await user.callback(TWITTER)
    await user.refused("getSocialToken", 400, **{**callback, "oauth_verifier": "another"})
    callback = await user.callback(TWITTER)
    await user.nothing("updateSocial", consumer=TWITTER, client_secret="another secret")
    await user.refused("getSocialToken", 400, **callback)
    await user.refused("getSocialLoginUrl", 400, consumer=TWITTER)
    await user.create_social(TWITTER, **ELSEWHERE)
    await user.refused("getSocialLoginUrl", 400, consumer=TWITTER)


@check("USR-SOC-22", "tokens that the provider did not issue")
async def unknown_tokens(target: Target) -> None:
    user = Socials(target)
    for consumer in (GOOGLE, TWITTER):
        await user.create_social(consumer)
        await user.refused("socialRequest", 401, consumer=consumer, token="nobody-gave-this")
        for token in ("", "two words", "a;b", 'a"', "é", "x" * 4097, "a\r\nX-Header: b"):
            await user.refused("socialRequest", 400, consumer=consumer, token=token)


@check("USR-SOC-22", "a token that the provider has forgotten", needs={"clock"})
async def forgotten_token(target: Target) -> None:
    user = Socials(target)
    await user.create_social()
    token = await user.text("getSocialToken", **await user.callback())
    await target.advance(7200)
    await user.refused("socialRequest", 401, consumer=GOOGLE, token=token)


@check("USR-SOC-23", "the journal has no secret of a login", needs={"journal"})
async def secrecy(target: Target) -> None:
    user = Socials(target)
    secrets: set[object] = set()
    for consumer in (GOOGLE, TWITTER):
        social = await user.create_social(consumer)
        callback = await user.callback(consumer)
        token = await user.text("getSocialToken", **callback)
        await user.info(consumer, token)
        await user.refused("getSocialToken", 400, **callback)
        secrets |= {token, social["client_secret"]}
        secrets |= {value for name, value in callback.items() if name not in ("consumer", "scope")}
    written = await target.journaled_calls("ocial")
    expect.true("the calls are there", GOOGLE in written, "nothing")
    found = [secret for secret in secrets if str(secret) in written]
    expect.true("the journal has none of them", len(secrets) > 6 and not found, f"{len(found)} secrets")


@check("USR-SOC-24", "providers that are down, in trouble or send malformed answers", needs={"handsets"})
async def trouble(target: Target) -> None:
    user = Socials(target)
    for consumer in (GOOGLE, TWITTER):
        await user.create_social(consumer)
        provider = target.lab.provider(consumer)
        for fault in ("down", "server error", "malformed JSON"):
            if consumer == TWITTER:
                await target.in_lab(provider.fault, fault, "request_token")
                await user.refused("getSocialLoginUrl", 502, consumer=consumer)
            callback = await user.callback(consumer)
            await target.in_lab(provider.fault, fault, "token")
            await user.refused("getSocialToken", 502, **callback)
            token = await user.text("getSocialToken", **await user.callback(consumer))
            await target.in_lab(provider.fault, fault, "userinfo")
            await user.refused("socialRequest", 502, consumer=consumer, token=token)
            await user.expect_ann(consumer, token)
