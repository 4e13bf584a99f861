"""Token sets: lifetime, the one valid set, and credentials that are valid once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from labkit.conformance.user.oauth.client import CALLBACK, OAuthClient, oauth_error
from labkit.services.user.oauth import tokens as oauth_tokens
from tests.cases import cases
from tests.services.user.environment import Environment
from tests.services.user.oauth.clients import registered


@pytest.fixture
async def client(env: Environment) -> OAuthClient:
    return await registered(env)


class TestSet:
    async def test_a_lifetime_may_be_a_whole_float_a_text_or_long(self, client: OAuthClient) -> None:
        lifetimes: list[tuple[object, int]] = [(60.0, 60), ("60", 60), (2**52, 2**52)]
        for ttl, seconds in lifetimes:
            tokens = await client.tokens(access_token_ttl=ttl)
            assert (tokens["expires_in"], type(tokens["expires_in"])) == (seconds, int)
            refreshed = await client.refresh(tokens["refresh_token"], access_token_ttl=ttl)
            assert refreshed["expires_in"] == seconds


class TestClient:
    async def test_the_client_is_verified_first(self, env: Environment, client: OAuthClient) -> None:
        for grant in ("authorization_code", "refresh_token", "nonsense"):
            error = await env.refused("getOauthToken", grant_type=grant, client_id=99)
            assert (error["status"], oauth_error(error)) == (401, "invalid_client")

    @pytest.mark.parametrize("missing", ["grant_type", "client_id"])
    async def test_parameters_of_every_request_are_required_by_name(
        self, env: Environment, client: OAuthClient, missing: str
    ) -> None:
        given = {"grant_type": "refresh_token", "client_id": client.id, "refresh_token": "x"}
        del given[missing]
        error = await env.refused("getOauthToken", given)
        assert (error["status"], error["message"]) == (400, f"Parameter {missing} is required.")

    @cases(
        ("grant", "missing"),
        [
            ("authorization_code", "code"),
            ("authorization_code", "redirect_uri"),
            ("refresh_token", "refresh_token"),
        ],
    )
    async def test_parameters_of_a_grant_are_required_by_name(
        self, env: Environment, client: OAuthClient, grant: str, missing: str
    ) -> None:
        given = {"code": "c", "redirect_uri": CALLBACK, "refresh_token": "r", "grant_type": grant}
        del given[missing]
        error = await env.refused("getOauthToken", {**given, "client_id": client.id})
        assert (oauth_error(error), error["message"]) == (
            "invalid_request",
            f"Parameter {missing} is required.",
        )

    async def test_text_that_is_not_unicode_is_no_credential(self, client: OAuthClient) -> None:
        assert oauth_error(await client.redeem("\udcff" * 40)) == "invalid_grant"
        assert oauth_error(await client.refresh("\udcff" * 40)) == "invalid_grant"
        assert (
            oauth_error(await client.redeem(await client.approve(), client_secret="\udcff"))
            == "invalid_client"
        )


class TestOneValidSet:
    async def test_ended_sets_are_removed(self, env: Environment, client: OAuthClient) -> None:
        for _ in range(4):
            await client.tokens()
        assert len((await env.database.select("select * from oauth_approval")).rows) == 1
        assert len((await env.database.select("select * from oauth_credential")).rows) == 2


class TestReuse:
    async def test_one_of_two_concurrent_exchanges_of_a_code_succeeds(self, client: OAuthClient) -> None:
        code = await client.approve()
        results = await asyncio.gather(*(client.redeem(code) for _ in range(5)))
        assert sorted("access_token" in each for each in results) == [False] * 4 + [True]
        assert {oauth_error(each) for each in results if "error" in each} == {"invalid_grant"}
        won = next(each for each in results if "access_token" in each)
        assert not await client.is_valid(won)  # the others used the code twice

    async def test_one_of_two_concurrent_refreshes_succeeds(self, client: OAuthClient) -> None:
        tokens = await client.tokens()
        results = await asyncio.gather(*(client.refresh(tokens["refresh_token"]) for _ in range(2)))
        assert sorted("access_token" in each for each in results) == [False, True]

    async def test_of_concurrent_codes_one_set_remains(self, client: OAuthClient) -> None:
        codes = [await client.approve() for _ in range(4)]
        sets = await asyncio.gather(*(client.redeem(code) for code in codes))
        assert [await client.is_valid(each) for each in sets].count(True) == 1

    async def test_a_code_that_another_writer_spends_first_counts_as_used_twice(
        self, client: OAuthClient, monkeypatch: pytest.MonkeyPatch
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


async def test_a_restart_keeps_codes_and_tokens(tmp_path: Path) -> None:
    file = tmp_path / "lab.db"
    env = Environment(data=file)
    client = await registered(env)
    spent = await client.approve()
    tokens = await client.redeem(spent)
    code = await client.approve()
    env.close()

    env = Environment(data=file)
    again = OAuthClient(env.call, client.owner, client.token, client.record)
    assert await again.is_valid(tokens)
    assert await env.call("getOauthClients", id=client.owner) == {"oauth_clients": [client.record]}
    tokens = await again.redeem(code)
    assert await again.is_valid(tokens)
    second = await again.refresh(tokens["refresh_token"])
    env.close()

    env = Environment(data=file)
    once_more = OAuthClient(env.call, client.owner, client.token, client.record)
    assert not await once_more.is_valid(tokens)
    assert oauth_error(await once_more.refresh(tokens["refresh_token"])) == "invalid_grant"  # known as spent
    assert not await once_more.is_valid(second)
    other = await env.call("createOauthClient", id=1, name="x", redirect=CALLBACK)
    assert other["id"] == 2
    assert other["secret"] != client.secret  # the seed is the same, and repeats no identifier
    env.close()
