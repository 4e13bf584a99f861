"""Authorization codes and token sets in the database: as digests, and removed once they expired."""

from __future__ import annotations

import pytest

from labkit.conformance.user.oauth.client import CALLBACK, OAuthClient
from labkit.services.user.oauth.codes import LIFETIME
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


async def test_codes_that_were_never_exchanged_are_removed(env: Environment, client: OAuthClient) -> None:
    for _ in range(5):
        await client.approve()
    await env.clock.advance(LIFETIME)
    living = [await client.approve() for _ in range(2)]
    assert len((await env.database.select("select * from oauth_approval")).rows) == 2
    assert len((await env.database.select("select * from oauth_credential")).rows) == 2
    assert "access_token" in await client.redeem(living[0])
