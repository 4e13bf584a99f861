"""Token sets: rows that end, exchanges at once, and credentials that are no Unicode."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from labkit.conformance.user.oauth.client import OAuthClient, oauth_error
from labkit.services.user.oauth import tokens as oauth_tokens
from tests.services.user.environment import Environment
from tests.services.user.oauth.clients import registered


@pytest.fixture
async def client(env: Environment) -> OAuthClient:
    return await registered(env)


async def test_text_that_is_not_unicode_is_no_credential(client: OAuthClient) -> None:
    assert oauth_error(await client.redeem("\udcff" * 40)) == "invalid_grant"
    assert oauth_error(await client.refresh("\udcff" * 40)) == "invalid_grant"
    assert (
        oauth_error(await client.redeem(await client.approve(), client_secret="\udcff")) == "invalid_client"
    )


async def test_ended_sets_are_removed(env: Environment, client: OAuthClient) -> None:
    for _ in range(4):
        await client.tokens()
    assert len((await env.database.select("select * from oauth_approval")).rows) == 1
    assert len((await env.database.select("select * from oauth_credential")).rows) == 2


async def test_of_concurrent_codes_one_set_remains(client: OAuthClient) -> None:
    codes = [await client.approve() for _ in range(4)]
    sets = await asyncio.gather(*(client.redeem(code) for code in codes))
    assert [await client.is_valid(each) for each in sets].count(True) == 1


async def test_a_code_that_another_writer_spends_first_counts_as_used_twice(
    client: OAuthClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = await client.approve()
    first = await client.redeem(code)
    find = oauth_tokens.find

    def stale(*args: Any) -> Any:  # the values that this writer read before the other one wrote
        found = find(*args)
        assert found is not None
        return found._replace(spent=0)

    monkeypatch.setattr(oauth_tokens, "find", stale)
    assert oauth_error(await client.redeem(code)) == "invalid_grant"
    assert not await client.is_valid(first)
