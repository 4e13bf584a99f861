"""OAuth clients: their times and order, and the rows that remain of them."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.conformance.user.oauth.client import CALLBACK
from tests.services.user.environment import Environment
from tests.services.user.oauth.clients import registered


async def made(env: Environment, name: str = "Shop") -> Any:
    return await env.call("createOauthClient", {"id": 1, "name": name, "redirect": CALLBACK})


async def test_a_client_has_the_times_of_its_changes_and_no_secret_once_it_is_deleted(
    env: Environment,
) -> None:
    await env.person("ann")
    secret = (await made(env))["secret"]
    await env.clock.advance(61)
    changed = await env.call("updateOauthClient", id=1, client_id="1", name="Store", redirect=CALLBACK)
    times = (changed["created_at"], changed["updated_at"])
    assert times == ("2026-01-01 00:00:00", "2026-01-01 00:01:01")
    assert secret in await env.kept("oauth_client")
    await env.clock.advance(5)
    await env.call("deleteOauthClient", id=1, client_id=1)
    kept = await env.database.select("select id, revoked, updated_at from oauth_client")
    assert kept.rows == ((1, 1, "2026-01-01 00:01:06"),)
    assert secret not in await env.kept("oauth_client")


@pytest.mark.parametrize("ends", ["deleteOauthClient", "deleteUser"])
async def test_codes_and_tokens_end_with_their_client_and_its_owner(env: Environment, ends: str) -> None:
    client = await registered(env)
    bob = await env.token(await env.person("bob"))
    await client.redeem(await client.approve(token=bob))
    await client.approve()
    await env.call(ends, {"id": client.owner, "client_id": client.id})
    for table in ("oauth_approval", "oauth_credential", *(["oauth_client"] if ends == "deleteUser" else [])):
        assert not (await env.database.select(f"select * from {table}")).rows


async def test_clients_are_in_the_order_of_their_ids(env: Environment) -> None:
    await env.person("ann")
    clients = [await made(env, name) for name in ("c", "a", "b")]
    assert await env.call("getOauthClients", id="1") == {"oauth_clients": clients}
