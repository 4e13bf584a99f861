"""The example solution of the guides: authentication of clients, and access with their tokens."""

from __future__ import annotations

import base64

import httpx

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.guide import Guide
from labkit.conformance.probe import decoded
from labkit.conformance.target import Target
from labkit.conformance.user.oauth.client import OAuthClient
from labkit.conformance.users import Person

TOKEN, USERINFO = "/oauth/token", "/oauth/userinfo"


async def registered(guide: Guide, person: Person) -> OAuthClient:
    """Register a client for a person and return it."""
    return await OAuthClient.registered(guide.table, person.id, await guide.login(person))


async def access_token(guide: Guide, client: OAuthClient, scope: str | None) -> str:
    """Return an access token of a client for these scopes."""
    code = await client.with_call(guide.text).approve(scope=scope)
    tokens = await client.with_call(guide.table).redeem(code)
    return str(tokens["access_token"])


@check("USR-GUIDE-37", "an access token is no session")
async def token_is_no_session(target: Target) -> None:
    guide = Guide(target)
    person = await guide.person()
    client = await registered(guide, person)
    for scope in ("profile", "email profile", None):
        token = await access_token(guide, client, scope)
        await guide.expect_owner(token, person)
        expect.status(await guide.get("/api/session/user", sid=token), 400)
        expect.status(await guide.get("/api/devices/A1", sid=token), 401)
        expect.status(await guide.get(f"/oauth/authorize?{_query(client)}", sid=token), 401)
    expect.status(await guide.get("/api/session/user", sid=client.token), 200)


@check("USR-GUIDE-38", "a client may authenticate by HTTP Basic, and in one way alone")
async def basic(target: Target) -> None:
    guide = Guide(target)
    client = await registered(guide, await guide.person())

    async def ask(user: object, secret: object, **more: object) -> httpx.Response:
        code = await client.with_call(guide.text).approve()
        form = client.exchange(code, **{"client_id": None, "client_secret": None, **more})
        pair = base64.b64encode(f"{user}:{secret}".encode()).decode()
        return await guide.request("POST", TOKEN, data=form, headers={"Authorization": f"Basic {pair}"})

    def refused(response: httpx.Response, status: int, code: str) -> None:
        shown = decoded(expect.status(response, status))
        expect.equal("error", shown.get("error"), code, response)

    expect.status(await ask(client.id, client.secret), 200)
    expect.status(await ask(client.id, client.secret.replace("a", "%61")), 200)
    for user, secret in ((client.id, client.secret[:-1]), (client.id, ""), (2**50, client.secret), ("", "")):
        response = await ask(user, secret)
        expect.true("it is refused", response.status_code in (400, 401), response.status_code, response)
    response = await ask(client.id, "wrong")
    refused(response, 401, "invalid_client")
    expect.true("it is challenged", "Basic" in response.headers.get("WWW-Authenticate", ""), "", response)
    refused(await ask(client.id, client.secret, client_secret=client.secret), 400, "invalid_request")
    refused(await ask(client.id, client.secret, client_id=client.id + 1), 400, "invalid_request")
    for header in ("Basic", "Basic !", "Basic bm9jb2xvbg==", "Bearer x"):
        code = await client.with_call(guide.text).approve()
        headers = {"Authorization": header}
        response = await guide.request("POST", TOKEN, data=client.exchange(code), headers=headers)
        refused(response, 401, "invalid_client")


@check("USR-GUIDE-39", "an access token gives access to its scopes")
async def scopes(target: Target) -> None:
    guide = Guide(target)
    person = await guide.person()
    client = await registered(guide, person)
    whole = {"sub": str(person.id), "name": "Ann", "email": person.email}
    for scope, opened in (
        ("profile email", {"sub", "name", "email"}),
        ("profile", {"sub", "name"}),
        ("email", {"sub", "email"}),
    ):
        token = await access_token(guide, client, scope)
        response = expect.status(await _userinfo(guide, token), 200)
        guide.same(f"what {scope} opens", decoded(response), {name: whole[name] for name in opened})
    for useless in ("other", "profile_ profil", None):
        expect.status(await _userinfo(guide, await access_token(guide, client, useless)), 403)
    good = await access_token(guide, client, "email")
    for token in (client.token, "x", f"{good}=", f"{good}!"):
        response = expect.status(await _userinfo(guide, token), 401)
        expect.true(
            "it is challenged", "Bearer" in response.headers.get("WWW-Authenticate", ""), "", response
        )


@check("USR-GUIDE-40", "the approval page names the scope, or says that there is none")
async def approval_scope(target: Target) -> None:
    guide = Guide(target)
    client = await registered(guide, await guide.person())
    for scope, shown in (("&scope=profile%20email", "profile email"), ("&scope=", "none"), ("", "none")):
        path = f"/oauth/authorize?{_query(client)}{scope}"
        page = expect.status(await guide.get(path, sid=client.token), 200)
        expect.true(f"it says {shown}", f"(scope: {shown})" in page.text, "it does not", page)


def _query(client: OAuthClient) -> str:
    given = {"client_id": client.id, "redirect_uri": client.redirect_uri, "response_type": "code"}
    return str(httpx.QueryParams(given))


async def _userinfo(guide: Guide, token: str) -> httpx.Response:
    return await guide.request("GET", USERINFO, headers={"Authorization": f"Bearer {token}"})
