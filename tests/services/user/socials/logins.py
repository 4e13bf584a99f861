"""Providers for tests of Socials: endpoints, and received requests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from oauthlib.oauth1.rfc5849.signature import collect_parameters, verify_hmac_sha1

from labkit.services.user.socials.web import Consumer
from tests.services.user.environment import Environment

SECRET = "client-secret-1"
GITHUB = Consumer(
    "oauth2", "https://github.test/authorize", "https://github.test/token", "https://github.test/user"
)
TWITTER = Consumer(
    "oauth1",
    "https://twitter.test/authorize",
    "https://twitter.test/access_token",
    "https://twitter.test/user",
    "https://twitter.test/request_token",
)
REDIRECT = "https://acme.apps.lab.localhost/social/handle"
SOCIAL: dict[str, Any] = {
    "consumer": "github",
    "scope": ["user", "email"],
    "redirect": REDIRECT,
    "client_id": "client-1",
    "client_secret": SECRET,
}


async def with_github(env: Environment) -> None:
    """Prepare the consumer github, with a social and valid answers."""
    env.consumers["github"] = env.consumers["google"] = GITHUB
    env.web.answers[GITHUB.token] = (200, '{"access_token": "gho_1", "token_type": "bearer"}')
    env.web.answers[GITHUB.userinfo] = (200, '{"login": "ann"}')
    assert await env.call("createSocial", SOCIAL) == SOCIAL


async def with_twitter(env: Environment) -> None:
    """Prepare the consumer twitter, with a social and valid answers."""
    env.consumers["twitter"] = TWITTER
    env.web.answers[TWITTER.request_token] = (
        200,
        "oauth_token=request1&oauth_token_secret=secret1&oauth_callback_confirmed=true",
    )
    env.web.answers[TWITTER.token] = (
        200,
        "oauth_token=1-access&oauth_token_secret=secret2&user_id=1",
    )
    env.web.answers[TWITTER.userinfo] = (200, '{"screen_name": "ann"}')
    social = {"consumer": "twitter", "redirect": REDIRECT, "client_id": "key", "client_secret": SECRET}
    assert await env.call("createSocial", social) == {**social, "scope": []}


def query(url: str) -> dict[str, str]:
    """Return the parameters of a URL; none may be repeated."""
    found = parse_qs(urlsplit(url).query, strict_parsing=True, keep_blank_values=True)
    assert all(len(values) == 1 for values in found.values())
    return {name: values[0] for name, values in found.items()}


async def begun(env: Environment, consumer: str = "github") -> str:
    """Begin a login and return its state."""
    return query(await env.call("getSocialLoginUrl", consumer=consumer))["state"]


def signed(env: Environment, number: int, token_secret: str = "") -> dict[str, str]:
    """Return the OAuth parameters of a request by the platform, after verifying its signature."""
    method, url, headers, body = env.web.requests[number]
    assert body is None
    given = dict(collect_parameters(headers=dict(headers), exclude_oauth_signature=False))
    signature = given.pop("oauth_signature")
    request: Any = SimpleNamespace(
        http_method=method, uri=url, params=list(given.items()), signature=signature
    )
    assert verify_hmac_sha1(request, SECRET, token_secret)
    assert given.pop("oauth_signature_method") == "HMAC-SHA1"
    assert given.pop("oauth_version") == "1.0"
    assert given.pop("oauth_consumer_key") == "key"
    return given
