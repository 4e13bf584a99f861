"""Social login by OAuth 2 (RFC 6749, section 4.1), against a provider with any answer."""

from __future__ import annotations

from labkit.services.user.socials.records import login_table
from labkit.services.user.socials.web import Consumer
from tests.services.user.environment import Environment
from tests.services.user.socials.logins import (
    GITHUB,
    SECRET,
    SOCIAL,
    begun,
    query,
    with_github,
)


async def test_the_login_url_without_scope_and_with_its_own_query(env: Environment) -> None:
    env.consumers["github"] = Consumer("oauth2", "https://github.test/authorize?prompt=login", "", "")
    await env.call("createSocial", {**SOCIAL, "scope": []})
    parameters = query(await env.call("getSocialLoginUrl", consumer="github", reqToken="ignored"))
    assert parameters["prompt"] == "login"
    assert "scope" not in parameters


async def test_the_user_information_is_returned_as_text(env: Environment) -> None:
    await with_github(env)
    text = '{"login" : "ann",\n "id": 1.0, "é": [] }'
    env.web.answers[GITHUB.userinfo] = (200, text)
    assert await env.call("socialRequest", consumer="github", token="gho_1") == text
    [(method, url, headers, body)] = env.web.requests
    assert (method, url, body) == ("GET", GITHUB.userinfo, None)
    assert headers == {"Accept": "application/json", "Authorization": "Bearer gho_1"}


# ---- state


async def test_an_unknown_state_is_refused_without_a_request(env: Environment) -> None:
    await with_github(env)
    await begun(env)
    for state in ("", "a" * 40, "\udcff", "x" * 100_000):
        error = await env.refused("getSocialToken", consumer="github", code="c", state=state)
        assert error["status"] == 400
    assert env.web.requests == []


async def test_expired_states_are_removed(env: Environment) -> None:
    await with_github(env)
    for _ in range(3):
        await begun(env)
        await env.clock.advance(600)
    state = await begun(env)
    kept = await env.database.select(f"select kind from {login_table.name}")
    assert len(kept.rows) == 1
    assert state in await env.kept(login_table.name)


# ---- answers of a provider


async def test_forms_of_a_valid_answer(env: Environment) -> None:
    texts: list[str] = [
        "access_token=gho_1&scope=user&token_type=bearer",
        '\n{"access_token": "gho_1"}',
        '{"access_token": "gho_1", "expires_in": 3600, "error": ""}',
    ]
    await with_github(env)
    for text in texts:
        env.web.answers[GITHUB.token] = (200, text)
        assert await env.call("getSocialToken", consumer="github", code="c") == "gho_1"


async def test_a_refusal_has_the_providers_error_name(env: Environment) -> None:
    refusals: list[tuple[tuple[int, str], str]] = [
        ((400, '{"error": "invalid_grant", "error_description": "code-1 is old"}'), "invalid_grant"),
        ((401, '{"error": "invalid_client"}'), "invalid_client"),
        ((400, "error=invalid_grant&error_description=code-1"), "invalid_grant"),
        ((200, "error=bad_verification_code&error_description=code-1"), "bad_verification_code"),
        ((200, '{"error": "bad_verification_code", "access_token": "t"}'), "bad_verification_code"),
    ]
    await with_github(env)
    for answer, named in refusals:
        env.web.answers[GITHUB.token] = answer
        error = await env.refused("getSocialToken", consumer="github", code="code-1")
        assert (error["type"], error["status"]) == ("QueryError", 400)
        assert f'"code": "{named}"' in error["error"]
        assert named in error["message"]
        assert "code-1" not in error["error"]


async def test_a_failing_token_request(env: Environment) -> None:
    failures: list[tuple[tuple[int, str] | None, int, str]] = [
        (None, 502, "github does not answer."),
        ((500, '{"error": "oops"}'), 502, "github answered 500."),
        ((503, ""), 502, "github answered 503."),
        ((404, "not here"), 400, "github refuses: it answered 404."),
        ((400, '{"error": {"message": "client-secret-1"}}'), 400, "github refuses: it answered 400."),
        ((400, '{"error": "\\u0000"}'), 400, "github refuses: it answered 400."),
        ((302, ""), 502, "github answered 302."),
        ((204, ""), 502, "github answered 204."),
        ((200, ""), 502, "github answered without an access token."),
        ((200, '{"access_token": '), 502, "github answered without an access token."),
        ((200, "[1]"), 502, "github answered without an access token."),
        ((200, "[" * 100_000), 502, "github answered without an access token."),
        ((200, "<html>access_token</html>"), 502, "github answered without an access token."),
        ((200, '{"access_token": null}'), 502, "github answered without an access token."),
        ((200, '{"access_token": ""}'), 502, "github answered without an access token."),
        ((200, '{"access_token": 7}'), 502, "github answered without an access token."),
        ((200, '{"access_token": "a; Domain=x"}'), 502, "github answered without an access token."),
        ((200, '{"access_token": "a b"}'), 502, "github answered without an access token."),
        ((200, '{"access_token": "a\\r\\nb"}'), 502, "github answered without an access token."),
        ((200, '{"access_token": "é"}'), 502, "github answered without an access token."),
    ]
    await with_github(env)
    for answer, status, message in failures:
        env.web.answers[GITHUB.token] = answer
        error = await env.refused("getSocialToken", consumer="github", code="c")
        assert (error["status"], error["message"]) == (status, message), answer
        assert error["type"] == ("QueryError" if status < 500 else "ServerError")


async def test_a_failing_user_info_request(env: Environment) -> None:
    failures: list[tuple[tuple[int, str] | None, int, str]] = [
        (None, 502, "github does not answer."),
        ((502, "{}"), 502, "github answered 502."),
        ((401, "{}"), 401, "github refuses the request: it answered 401."),
        ((403, "{}"), 403, "github refuses the request: it answered 403."),
        ((302, "{}"), 502, "github answered 302."),
        ((200, ""), 502, "github answered what is not JSON."),
        ((200, "login=ann"), 502, "github answered what is not JSON."),
        ((200, '{"login": '), 502, "github answered what is not JSON."),
        ((200, "[" * 100_000), 502, "github answered what is not JSON."),
    ]
    await with_github(env)
    for answer, status, message in failures:
        env.web.answers[GITHUB.userinfo] = answer
        error = await env.refused("socialRequest", consumer="github", token="gho_1")
        assert (error["status"], error["message"]) == (status, message), answer


async def test_no_secret_reaches_journal_or_errors(env: Environment) -> None:
    await with_github(env)
    state = await begun(env)
    await env.call("getSocialToken", consumer="github", code="code-1", state=state)
    await env.call("socialRequest", consumer="github", token="gho_1")
    env.web.answers[GITHUB.token] = (400, f'{{"error": "{SECRET} gho_1 code-1"}}')
    await env.refused("getSocialToken", consumer="github", code="code-1", state=state)
    written = env.journal.canonical()
    assert "User.getSocialToken" in written
    for secret in (state, "code-1", "gho_1", SECRET):
        assert secret not in written
