"""Token sets: what they are, which one is alive, how long, and that no credential counts twice."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from labkit.conformance.user.oauth.client import CALLBACK, OAuthClient, name_of
from labkit.services.user.oauth import tokens as oauth_tokens
from labkit.services.user.oauth.operations import ACCESS_LIFETIME, REFRESH_LIFETIME
from tests.services.user.environment import Environment
from tests.services.user.oauth.clients import registered


@pytest.fixture
async def client(env: Environment) -> OAuthClient:
    return await registered(env)


class TestSet:
    async def test_it_has_the_fields_of_the_record(self, client: OAuthClient) -> None:
        tokens = await client.tokens()
        assert set(tokens) == {"expires_in", "token_type", "access_token", "refresh_token"}
        assert (tokens["expires_in"], tokens["token_type"]) == (1_296_000, "Bearer")
        assert re.fullmatch(r"[\w-]+\.[\w-]+\.[\w-]+", tokens["access_token"])
        assert re.fullmatch(r"[A-Za-z0-9_-]{86}", tokens["refresh_token"])  # 64 bytes

    async def test_a_refresh_gives_all_of_it_anew(self, client: OAuthClient) -> None:
        first = await client.tokens()
        second = await client.refresh(first["refresh_token"])
        assert set(second) == set(first)
        assert second["expires_in"] == 1_296_000
        assert second["access_token"] != first["access_token"]
        assert second["refresh_token"] != first["refresh_token"]

    @pytest.mark.parametrize("ttl", [1, 60, 60.0, "60", 2**52])
    async def test_expires_in_is_the_lifetime_that_was_asked_for(
        self, client: OAuthClient, ttl: object
    ) -> None:
        tokens = await client.tokens(access_token_ttl=ttl)
        assert (tokens["expires_in"], type(tokens["expires_in"])) == (int(float(str(ttl))), int)
        refreshed = await client.refresh(tokens["refresh_token"], access_token_ttl=ttl)
        assert refreshed["expires_in"] == tokens["expires_in"]


class TestClient:
    @pytest.mark.parametrize("secret", [None, "true"])
    async def test_it_may_leave_out_its_secret(
        self, env: Environment, client: OAuthClient, secret: str | None
    ) -> None:
        given = {} if secret is None else {"client_secret": client.secret}
        own = {"client_id": str(client.id), **given, "redirect_uri": CALLBACK}
        code = await client.approve()
        tokens = await env.call("getOauthToken", {**own, "grant_type": "authorization_code", "code": code})
        refreshed = await env.call(
            "getOauthToken",
            {**own, "grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]},
        )
        assert await client.holds(refreshed)

    async def test_who_the_client_is_comes_first(self, env: Environment, client: OAuthClient) -> None:
        for grant in ("authorization_code", "refresh_token", "nonsense"):
            error = await env.refused("getOauthToken", grant_type=grant, client_id=99)
            assert (error["status"], name_of(error)) == (401, "invalid_client")

    @pytest.mark.parametrize("missing", ["grant_type", "client_id"])
    async def test_what_every_request_needs_is_named(
        self, env: Environment, client: OAuthClient, missing: str
    ) -> None:
        given = {"grant_type": "refresh_token", "client_id": client.id, "refresh_token": "x"}
        del given[missing]
        error = await env.refused("getOauthToken", given)
        assert (error["status"], error["message"]) == (400, f"Parameter {missing} is required.")

    @pytest.mark.parametrize(
        ("grant", "missing"),
        [
            ("authorization_code", "code"),
            ("authorization_code", "redirect_uri"),
            ("refresh_token", "refresh_token"),
        ],
    )
    async def test_what_a_grant_needs_is_named(
        self, env: Environment, client: OAuthClient, grant: str, missing: str
    ) -> None:
        given = {"code": "c", "redirect_uri": CALLBACK, "refresh_token": "r", "grant_type": grant}
        del given[missing]
        error = await env.refused("getOauthToken", {**given, "client_id": client.id})
        assert (name_of(error), error["message"]) == (
            "invalid_request",
            f"Parameter {missing} is required.",
        )

    async def test_a_redirect_is_ignored_with_a_refresh_token(self, client: OAuthClient) -> None:
        tokens = await client.tokens()
        refreshed = await client.refresh(tokens["refresh_token"], redirect_uri="https://elsewhere.example")
        assert await client.holds(refreshed)

    async def test_text_that_is_not_unicode_is_no_credential(self, client: OAuthClient) -> None:
        assert name_of(await client.redeem("\udcff" * 40)) == "invalid_grant"
        assert name_of(await client.refresh("\udcff" * 40)) == "invalid_grant"
        assert (
            name_of(await client.redeem(await client.approve(), client_secret="\udcff")) == "invalid_client"
        )

    async def test_a_wrong_secret_spends_nothing(self, client: OAuthClient) -> None:
        code = await client.approve()
        assert name_of(await client.redeem(code, client_secret="wrong")) == "invalid_client"
        assert name_of(await client.redeem(code, redirect_uri=CALLBACK + "/")) == "invalid_grant"
        tokens = await client.redeem(code)
        assert (
            name_of(await client.refresh(tokens["refresh_token"], client_secret="wrong")) == "invalid_client"
        )
        assert await client.holds(await client.refresh(tokens["refresh_token"]))

    async def test_solutions_share_no_credentials(self, env: Environment, client: OAuthClient) -> None:
        given = {"grant_type": "authorization_code", "redirect_uri": CALLBACK}
        other = await env.person("eve", solution="other")
        foreign = await env.call(
            "createOauthClient",
            {"id": other.id, "name": "Shop", "redirect": CALLBACK},
            solution="other",
        )
        assert foreign["id"] == client.id
        code = await client.approve()
        exchange = {**given, "client_id": foreign["id"], "code": code}
        refused = await env.call("getOauthToken", exchange, solution="other")
        assert name_of(refused) == "invalid_grant"
        assert await client.holds(await client.redeem(code))


class TestOneAlive:
    async def test_a_new_set_ends_the_former_one(self, client: OAuthClient) -> None:
        first = await client.tokens()
        second = await client.tokens()
        assert not await client.holds(first)
        assert await client.holds(second)
        assert name_of(await client.refresh(first["refresh_token"])) == "invalid_grant"
        assert await client.holds(second)  # that token was no part of it

    async def test_a_refresh_ends_the_former_one(self, client: OAuthClient) -> None:
        first = await client.tokens()
        second = await client.refresh(first["refresh_token"])
        assert not await client.holds(first)
        assert await client.holds(second)

    async def test_a_new_code_alone_ends_nothing(self, client: OAuthClient) -> None:
        tokens = await client.tokens()
        await client.approve()
        assert await client.holds(tokens)

    async def test_codes_that_are_pending_live_on(self, client: OAuthClient) -> None:
        codes = [await client.approve() for _ in range(3)]
        sets = [await client.redeem(code) for code in codes]
        assert [await client.holds(each) for each in sets] == [False, False, True]

    async def test_each_user_of_a_client_has_a_set(self, env: Environment, client: OAuthClient) -> None:
        bob = await env.person("bob")
        anns = await client.tokens()
        bobs = await client.redeem(await client.approve(token=await env.token(bob)))
        await client.refresh(bobs["refresh_token"])
        assert await client.holds(anns)

    async def test_each_client_of_a_user_has_a_set(self, env: Environment, client: OAuthClient) -> None:
        other = await env.call("createOauthClient", id=client.owner, name="Other", redirect=CALLBACK)
        second = OAuthClient(env.call, client.owner, client.token, other)
        first_set, second_set = await client.tokens(), await second.tokens()
        assert await client.holds(first_set)
        assert await second.holds(second_set)
        await env.call("deleteOauthClient", id=client.owner, client_id=other["id"])
        assert await client.holds(first_set)
        assert not await second.holds(second_set)

    async def test_nothing_piles_up(self, env: Environment, client: OAuthClient) -> None:
        for _ in range(4):
            await client.tokens()
        assert len((await env.database.select("select * from oauth_approval")).rows) == 1
        assert len((await env.database.select("select * from oauth_credential")).rows) == 2


class TestReuse:
    async def test_of_two_racing_exchanges_of_a_code_one_wins(self, client: OAuthClient) -> None:
        code = await client.approve()
        results = await asyncio.gather(*(client.redeem(code) for _ in range(5)))
        assert sorted("access_token" in each for each in results) == [False] * 4 + [True]
        assert {name_of(each) for each in results if "error" in each} == {"invalid_grant"}
        won = next(each for each in results if "access_token" in each)
        assert not await client.holds(won)  # the losers used the code twice

    async def test_of_two_racing_refreshes_one_wins(self, client: OAuthClient) -> None:
        tokens = await client.tokens()
        results = await asyncio.gather(*(client.refresh(tokens["refresh_token"]) for _ in range(2)))
        assert sorted("access_token" in each for each in results) == [False, True]

    async def test_of_racing_codes_one_set_stays(self, client: OAuthClient) -> None:
        codes = [await client.approve() for _ in range(4)]
        sets = await asyncio.gather(*(client.redeem(code) for code in codes))
        assert [await client.holds(each) for each in sets].count(True) == 1

    async def test_a_code_used_twice_ends_its_tokens_for_good(self, client: OAuthClient) -> None:
        code = await client.approve()
        tokens = await client.redeem(code)
        assert name_of(await client.redeem(code)) == "invalid_grant"
        assert not await client.holds(tokens)
        assert name_of(await client.refresh(tokens["refresh_token"])) == "invalid_grant"
        assert await client.holds(await client.tokens())  # a new approval helps

    async def test_a_code_that_another_writer_was_quicker_to_spend_is_used_twice(
        self, client: OAuthClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        code = await client.approve()
        first = await client.redeem(code)
        find = oauth_tokens.find

        def stale(*args: Any) -> Any:  # what this writer read before the other one wrote
            found = find(*args)
            assert found is not None
            return found._replace(spent=0)

        monkeypatch.setattr(oauth_tokens, "find", stale)
        assert name_of(await client.redeem(code)) == "invalid_grant"
        assert not await client.holds(first)

    async def test_reuse_leaves_other_users_alone(self, env: Environment, client: OAuthClient) -> None:
        bob = await env.person("bob")
        code = await client.approve(token=await env.token(bob))
        anns = await client.tokens()
        await client.redeem(code)
        await client.redeem(code)
        assert await client.holds(anns)

    async def test_a_spent_token_of_an_ended_set_ends_no_other(self, client: OAuthClient) -> None:
        first = await client.tokens()
        await client.refresh(first["refresh_token"])
        later = await client.tokens()
        assert name_of(await client.refresh(first["refresh_token"])) == "invalid_grant"
        assert await client.holds(later)


class TestLifetimes:
    @pytest.mark.parametrize(("age", "lives"), [(59, True), (60, False), (61, False)])
    async def test_tokens_are_dead_at_their_last_second(
        self, env: Environment, client: OAuthClient, age: int, lives: bool
    ) -> None:
        tokens = await client.tokens(access_token_ttl=60, refresh_token_ttl=60)
        await env.clock.advance(age)
        assert await client.holds(tokens) is lives
        assert ("access_token" in await client.refresh(tokens["refresh_token"])) is lives

    @pytest.mark.parametrize("offset", [-1, 0, 1])
    async def test_the_defaults_are_those_of_the_document(
        self, env: Environment, client: OAuthClient, offset: int
    ) -> None:
        assert (ACCESS_LIFETIME, REFRESH_LIFETIME) == (1_296_000, 31_104_000)
        tokens = await client.tokens()
        await env.clock.advance(1_296_000 + offset)
        assert await client.holds(tokens) is (offset < 0)
        await env.clock.advance(31_104_000 - 1_296_000)
        refreshed = await client.refresh(tokens["refresh_token"])
        assert ("access_token" in refreshed) is (offset < 0)

    async def test_a_refresh_begins_both_lifetimes_anew(self, env: Environment, client: OAuthClient) -> None:
        tokens = await client.tokens(access_token_ttl=60, refresh_token_ttl=100)
        await env.clock.advance(99)
        tokens = await client.refresh(tokens["refresh_token"], access_token_ttl=60, refresh_token_ttl=100)
        await env.clock.advance(59)
        assert await client.holds(tokens)
        await env.clock.advance(40)
        assert not await client.holds(tokens)
        assert await client.holds(await client.refresh(tokens["refresh_token"]))

    async def test_a_client_may_go_on_without_a_refresh_token(
        self, env: Environment, client: OAuthClient
    ) -> None:
        tokens = await client.tokens(access_token_ttl=60, refresh_token_ttl=1)
        await env.clock.advance(59)
        assert name_of(await client.refresh(tokens["refresh_token"])) == "invalid_grant"
        assert await client.holds(tokens)


async def test_a_restart_keeps_all_of_it(tmp_path: Path) -> None:
    file = tmp_path / "lab.db"
    env = Environment(data=file)
    client = await registered(env)
    spent = await client.approve()
    tokens = await client.redeem(spent)
    code = await client.approve()
    env.close()

    env = Environment(data=file)
    again = OAuthClient(env.call, client.owner, client.token, client.record)
    assert await again.holds(tokens)
    assert await env.call("getOauthClients", id=client.owner) == {"oauth_clients": [client.record]}
    tokens = await again.redeem(code)
    assert await again.holds(tokens)
    second = await again.refresh(tokens["refresh_token"])
    env.close()

    env = Environment(data=file)
    once_more = OAuthClient(env.call, client.owner, client.token, client.record)
    assert not await once_more.holds(tokens)
    assert name_of(await once_more.refresh(tokens["refresh_token"])) == "invalid_grant"  # known as spent
    assert not await once_more.holds(second)
    other = await env.call("createOauthClient", id=1, name="x", redirect=CALLBACK)
    assert other["id"] == 2
    assert other["secret"] != client.secret  # the seed is the same, and gives nothing twice
    env.close()
