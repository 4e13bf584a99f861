"""Social login by OAuth 1.0a (RFC 5849), against a provider with any answer."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.services.user.socials.records import login_table
from tests.services.user.environment import Environment
from tests.services.user.socials.logins import (
    TWITTER,
    query,
    signed,
    with_github,
    with_twitter,
)

CALLBACK = {"oauth_token": "request1", "oauth_verifier": "verifier-1", "reqToken": "request1"}


async def request_token_scripted(env: Environment) -> None:
    """Obtain a request token."""
    await with_twitter(env)
    assert await env.call("getSocialLoginUrl", consumer="twitter") == "request1"


async def finish(env: Environment, **change: Any) -> Any:
    return await env.call("getSocialToken", {"consumer": "twitter", **CALLBACK, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"oauth_token": "request2"}, "Parameter oauth_token is not the one that reqToken belongs to."),
        ({"oauth_token": "é"}, "Parameter oauth_token is not the one that reqToken belongs to."),
        ({"oauth_token": "\udcff"}, "Parameter oauth_token validation failed: expected UTF-8."),
        ({"reqToken": "other"}, "Parameter reqToken is unknown, used up or expired, or of another consumer."),
        ({"oauth_token": None}, "Parameter oauth_token is required."),
        ({"oauth_verifier": None}, "Parameter oauth_verifier is required."),
        ({"oauth_verifier": ""}, "Parameter oauth_verifier is required."),
        ({"reqToken": None}, "Parameter reqToken is required."),
        ({"error": "access_denied"}, "twitter refuses: access_denied."),
        ({"denied": "request1"}, "twitter refuses: access_denied."),
    ],
)
async def test_a_bad_callback_is_refused_and_changes_nothing(
    env: Environment, change: dict[str, Any], message: str
) -> None:
    await request_token_scripted(env)
    error = await finish(env, **change)
    assert (error["status"], error["message"]) == (400, message)
    assert len(env.web.requests) == 1
    assert await finish(env) == "1-access"


async def test_a_request_token_that_is_invalid_in_a_cookie_is_replaced(env: Environment) -> None:
    await with_twitter(env)
    env.web.answers[TWITTER.request_token] = (
        200,
        "oauth_token=a-b_c%26&oauth_token_secret=secret1&oauth_callback_confirmed=true",
    )
    token = await env.call("getSocialLoginUrl", consumer="twitter")
    assert (len(token), token.isalnum()) == (40, True)
    url = await env.call("getSocialLoginUrl", consumer="twitter", reqToken=token)
    assert query(url) == {"oauth_token": "a-b_c&"}
    assert await finish(env, oauth_token="a-b_c&", reqToken=token) == "1-access"
    assert signed(env, 1, "secret1")["oauth_token"] == "a-b_c&"


async def test_expired_request_tokens_are_removed_and_access_tokens_stay(env: Environment) -> None:
    await request_token_scripted(env)
    await finish(env)
    await env.call("getSocialLoginUrl", consumer="twitter")
    await with_github(env)
    await env.clock.advance(600)
    await env.call("getSocialLoginUrl", consumer="github")
    kept = await env.database.select(f"select kind from {login_table.name} order by kind")
    assert kept.rows == (("access_token",), ("state",))


@pytest.mark.parametrize(
    ("answer", "status", "message"),
    [
        (None, 502, "twitter does not answer."),
        ((503, ""), 502, "twitter answered 503."),
        ((401, "Invalid signature"), 400, "twitter refuses: it answered 401."),
        ((200, "oauth_token=a&oauth_token_secret=b"), 502, "twitter did not confirm the callback."),
        (
            (200, "oauth_token=a&oauth_token_secret=b&oauth_callback_confirmed=false"),
            502,
            "twitter did not confirm the callback.",
        ),
        ((200, "oauth_callback_confirmed=true"), 502, "twitter answered without a token."),
        (
            (200, "oauth_callback_confirmed=true&oauth_token=a"),
            502,
            "twitter answered without a token.",
        ),
        (
            (200, "oauth_callback_confirmed=true&oauth_token=a%3Bb&oauth_token_secret=b"),
            502,
            "twitter answered without a token.",
        ),
        (
            (200, r'{"oauth_callback_confirmed": true, "oauth_token": "a", "oauth_token_secret": "\ud800"}'),
            502,
            "twitter answered without a token.",
        ),
        ((200, "<html>"), 502, "twitter did not confirm the callback."),
    ],
)
async def test_a_failed_request_token(
    env: Environment, answer: tuple[int, str] | None, status: int, message: str
) -> None:
    await with_twitter(env)
    env.web.answers[TWITTER.request_token] = answer
    error = await env.refused("getSocialLoginUrl", consumer="twitter")
    assert (error["status"], error["message"]) == (status, message)


@pytest.mark.parametrize(
    ("answer", "status", "message"),
    [
        (None, 502, "twitter does not answer."),
        ((401, "oauth_problem=x"), 400, "twitter refuses: it answered 401."),
        ((200, "oauth_token=&oauth_token_secret=b"), 502, "twitter answered without a token."),
        ((200, "oauth_token=a%20b&oauth_token_secret=b"), 502, "twitter answered without a token."),
    ],
)
async def test_a_failed_access_token(
    env: Environment, answer: tuple[int, str] | None, status: int, message: str
) -> None:
    await request_token_scripted(env)
    env.web.answers[TWITTER.token] = answer
    error = await finish(env)
    assert (error["status"], error["message"]) == (status, message)


async def test_a_social_that_is_deleted_during_a_request_to_its_provider(env: Environment) -> None:
    await request_token_scripted(env)

    async def slow(*_: object) -> tuple[int, str]:
        await env.call("deleteSocial", consumer="twitter")
        return 200, "oauth_token=1-access&oauth_token_secret=secret2"

    env.web.request = slow  # type: ignore[assignment, method-assign]
    assert (await finish(env))["status"] == 404
