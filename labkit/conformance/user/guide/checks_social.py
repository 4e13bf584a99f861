"""The example solution of the guides: logins with the identity providers of lab.yaml."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import httpx

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.guide import Guide
from labkit.conformance.probe import decoded
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch
from labkit.fleet.browser import AsyncBrowser

GOOGLE, TWITTER = "google", "twitter"  # OAuth 2 and OAuth 1; both providers log Ann in without a form
SCOPES = {GOOGLE: ["profile", "email"]}
HANDLE = {GOOGLE: "/social/handle/google", TWITTER: "/social/twitter/handle"}
LOGIN = {GOOGLE: "/social/handle/google/loginurl", TWITTER: "/twitter/login"}
NAME = "Ann"


async def guide_with_social(target: Target, consumer: str) -> Guide:
    """Return the solution with a social for the provider's application in lab.yaml; reuse an existing one."""
    guide, app = Guide(target), target.application(consumer)
    given = {
        "consumer": consumer,
        "redirect": guide.url(HANDLE[consumer]),
        "client_id": app.client_id,
        "client_secret": app.client_secret.get_secret_value(),
        "scope": SCOPES.get(consumer),
    }
    _, made = await guide.call("User", "createSocial", {key: each for key, each in given.items() if each})
    if made.get("status") not in (None, 409):
        raise Mismatch(
            "what createSocial gives", "a social", expect.hidden(made), expect.exchange(guide.last)
        )
    return guide


async def open_login(
    guide: Guide, browser: AsyncBrowser, consumer: str, *, follow: bool = True
) -> httpx.Response:
    """Open the login endpoint."""
    return await browser.request("GET", guide.url(LOGIN[consumer]), follow=follow)


def expect_provider_answer(response: httpx.Response, consumer: str) -> None:
    """Raise a Mismatch unless the answer is the callback's, with Ann's name from the provider."""
    expect.equal("where the login ends", response.url.path, HANDLE[consumer], response)
    found = decoded(expect.status(response, 200))
    expect.equal("name", found.get("name") if isinstance(found, dict) else found, NAME, response)


def query(url: str) -> dict[str, list[str]]:
    """Return the query parameters of a URL."""
    return parse_qs(urlsplit(url).query, keep_blank_values=True)


@check("USR-GUIDE-27", "the loginurl endpoint leads to the provider")
async def loginurl(target: Target) -> None:
    guide = await guide_with_social(target, GOOGLE)
    response = await open_login(guide, target.browser(), GOOGLE, follow=False)
    location = expect.status(response, 303).headers.get("Location", "")
    given = await guide.text("getSocialLoginUrl", consumer=GOOGLE)
    expect.equal("page", location.partition("?")[0], given.partition("?")[0], response)
    sent, expected = query(location), query(given)
    expect.true("each login has a state of its own", sent.pop("state", 0) != expected.pop("state", 1), given)
    expect.equal("query", sent, expected, response)
    expect.equal("redirect_uri", sent.get("redirect_uri"), [guide.url(HANDLE[GOOGLE])], response)


@check("USR-GUIDE-28", "an OAuth 2 login ends with the provider's user information")
async def oauth2(target: Target) -> None:
    guide = await guide_with_social(target, GOOGLE)
    expect_provider_answer(await open_login(guide, target.browser(), GOOGLE), GOOGLE)


@check("USR-GUIDE-29", "an OAuth 1 login begins with a request token, which a cookie keeps")
async def request_token(target: Target) -> None:
    guide = await guide_with_social(target, TWITTER)
    response = expect.status(await open_login(guide, target.browser(), TWITTER, follow=False), 303)
    token, attributes = guide.cookie(response, "token")
    expect.equal("path of the cookie", attributes.get("path"), "/social/twitter", response)
    expect.true("it keeps letters and digits", token.isascii() and token.isalnum(), token, response)
    location = response.headers.get("Location", "")
    expect.equal("oauth_token of the login URL", query(location).get("oauth_token"), [token], response)
    given = await guide.text("getSocialLoginUrl", consumer=TWITTER, reqToken=token)
    expect.equal("Location", location, given, response)


@check("USR-GUIDE-30", "an OAuth 1 login ends with the provider's user information")
async def oauth1(target: Target) -> None:
    guide = await guide_with_social(target, TWITTER)
    expect_provider_answer(await open_login(guide, target.browser(), TWITTER), TWITTER)


@check("USR-GUIDE-31", "an OAuth 1 login ends only in the browser that began it")
async def other_browser(target: Target) -> None:
    guide, mine = await guide_with_social(target, TWITTER), target.browser()
    began = expect.status(await open_login(guide, mine, TWITTER, follow=False), 303)
    token, _ = guide.cookie(began, "token")
    approved = await mine.request("GET", began.headers["Location"], follow=False)
    callback = approved.headers.get("Location", "")
    for url in (callback, f"{callback}&reqToken={token}"):
        response = await target.browser().request("GET", url, follow=False)
        guide.message(expect.status(response, 400))
    expect_provider_answer(await mine.request("GET", callback), TWITTER)
