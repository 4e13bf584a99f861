"""Authorization codes: approval and lifetime."""

from __future__ import annotations

import pytest

from labkit.conformance.user.oauth.client import CALLBACK, OAuthClient, oauth_error
from labkit.services.user.oauth.codes import LIFETIME
from tests.cases import cases
from tests.services.user.environment import Environment
from tests.services.user.oauth.clients import registered


@pytest.fixture
async def client(env: Environment) -> OAuthClient:
    return await registered(env)


async def test_only_digests_of_codes_and_tokens_are_stored(env: Environment, client: OAuthClient) -> None:
    code, pending = await client.approve(), await client.approve()
    tokens = await client.redeem(code)
    kept = await env.kept("oauth_approval", "oauth_credential")
    assert CALLBACK in kept
    for secret in (code, pending, tokens["access_token"], tokens["refresh_token"]):
        assert secret not in kept


async def test_no_secret_reaches_the_journal(env: Environment, client: OAuthClient) -> None:
    code = await client.approve()
    tokens = await client.redeem(code)
    await client.refresh(tokens["refresh_token"])
    await client.redeem("guessed code", client_secret="guessed secret")
    shown = env.journal.canonical()
    for secret in (
        client.token,
        client.secret,
        code,
        tokens["access_token"],
        tokens["refresh_token"],
        "guessed",
    ):
        assert secret not in shown
    assert "getOauthAuthorizeApproved" in shown


async def test_codes_that_were_never_exchanged_are_removed(env: Environment, client: OAuthClient) -> None:
    for _ in range(5):
        await client.approve()
    await env.clock.advance(LIFETIME)
    living = [await client.approve() for _ in range(2)]
    assert len((await env.database.select("select * from oauth_approval")).rows) == 2
    assert len((await env.database.select("select * from oauth_credential")).rows) == 2
    assert "access_token" in await client.redeem(living[0])


@cases("missing", ["token", "client_id", "redirect_uri", "response_type"])
async def test_a_missing_parameter_is_an_error_with_its_name(
    env: Environment, client: OAuthClient, missing: str
) -> None:
    given = {
        "token": client.token,
        "client_id": 1,
        "redirect_uri": CALLBACK,
        "response_type": "code",
    }
    del given[missing]
    error = await env.refused("getOauthAuthorizeApproved", given)
    assert (error["status"], error["message"]) == (400, f"Parameter {missing} is required.")


async def test_a_user_token_can_approve_until_its_last_second(env: Environment, client: OAuthClient) -> None:
    ann = await env.person("ann2")
    token = await env.token(ann, 60)
    await env.clock.advance(59)
    assert len(await client.approve(token=token)) == 40
    await env.clock.advance(1)
    error = await client.approve(token=token)
    assert (error["status"], oauth_error(error)) == (401, "invalid_token")


async def test_an_inactive_user_cannot_approve(env: Environment, client: OAuthClient) -> None:
    await env.call("updateUser", id=client.owner, status=0)
    assert oauth_error(await client.approve()) == "invalid_token"


async def test_a_token_of_another_solution_cannot_approve(env: Environment, client: OAuthClient) -> None:
    eve = await env.person("eve", solution="other")
    assert oauth_error(await client.approve(token=await env.token(eve, solution="other"))) == "invalid_token"


async def test_a_code_ends_with_the_password_of_its_user(env: Environment) -> None:
    client = await registered(env)
    code = await client.approve()
    await env.call("resetUserPassword", id=client.owner, password="new password")
    assert oauth_error(await client.redeem(code)) == "invalid_grant"


async def test_a_code_ends_with_its_user(env: Environment, client: OAuthClient) -> None:
    bob = await env.person("bob")
    code = await client.approve(token=await env.token(bob))
    await env.call("deleteUser", id=bob.id)
    assert oauth_error(await client.redeem(code)) == "invalid_grant"
