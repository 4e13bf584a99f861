"""Token sets: what they are, which one is alive, how long, and that no credential counts twice."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from labkit.conformance.oauth_requests import CALLBACK
from labkit.services.user.oauth import tokens as oauth_tokens
from labkit.services.user.oauth.operations import ACCESS_LIFETIME, REFRESH_LIFETIME
from tests.services.user.oauth.party import Party, name_of
from tests.services.user.place import Place


@pytest.fixture
async def party(place: Place) -> Party:
    return await Party.at(place)


class TestSet:
    async def test_it_has_the_fields_of_the_record(self, party: Party) -> None:
        tokens = await party.tokens()
        assert set(tokens) == {"expires_in", "token_type", "access_token", "refresh_token"}
        assert (tokens["expires_in"], tokens["token_type"]) == (1_296_000, "Bearer")
        assert re.fullmatch(r"[\w-]+\.[\w-]+\.[\w-]+", tokens["access_token"])
        assert re.fullmatch(r"[A-Za-z0-9_-]{86}", tokens["refresh_token"])  # 64 bytes

    async def test_a_refresh_gives_all_of_it_anew(self, party: Party) -> None:
        first = await party.tokens()
        second = await party.refresh(first["refresh_token"])
        assert set(second) == set(first)
        assert second["expires_in"] == 1_296_000
        assert second["access_token"] != first["access_token"]
        assert second["refresh_token"] != first["refresh_token"]

    @pytest.mark.parametrize("ttl", [1, 60, 60.0, "60", 2**52])
    async def test_expires_in_is_the_lifetime_that_was_asked_for(self, party: Party, ttl: object) -> None:
        tokens = await party.tokens(access_token_ttl=ttl)
        assert (tokens["expires_in"], type(tokens["expires_in"])) == (int(float(str(ttl))), int)
        refreshed = await party.refresh(tokens["refresh_token"], access_token_ttl=ttl)
        assert refreshed["expires_in"] == tokens["expires_in"]


class TestClient:
    @pytest.mark.parametrize("secret", [None, "true"])
    async def test_it_may_leave_out_its_secret(self, party: Party, secret: str | None) -> None:
        given = {} if secret is None else {"client_secret": party.client["secret"]}
        own = {"client_id": str(party.client["id"]), **given, "redirect_uri": CALLBACK}
        code = await party.approve()
        tokens = await party.place.call(
            "getOauthToken", {**own, "grant_type": "authorization_code", "code": code}
        )
        refreshed = await party.place.call(
            "getOauthToken",
            {**own, "grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]},
        )
        assert await party.alive(refreshed)

    async def test_who_the_client_is_comes_first(self, party: Party) -> None:
        for grant in ("authorization_code", "refresh_token", "nonsense"):
            error = await party.place.refused("getOauthToken", grant_type=grant, client_id=99)
            assert (error["status"], name_of(error)) == (401, "invalid_client")

    @pytest.mark.parametrize("missing", ["grant_type", "client_id"])
    async def test_what_every_request_needs_is_named(self, party: Party, missing: str) -> None:
        given = {"grant_type": "refresh_token", "client_id": party.client["id"], "refresh_token": "x"}
        del given[missing]
        error = await party.place.refused("getOauthToken", given)
        assert (error["status"], error["message"]) == (400, f"Parameter {missing} is required.")

    @pytest.mark.parametrize(
        ("grant", "missing"),
        [
            ("authorization_code", "code"),
            ("authorization_code", "redirect_uri"),
            ("refresh_token", "refresh_token"),
        ],
    )
    async def test_what_a_grant_needs_is_named(self, party: Party, grant: str, missing: str) -> None:
        given = {"code": "c", "redirect_uri": CALLBACK, "refresh_token": "r", "grant_type": grant}
        del given[missing]
        error = await party.place.refused("getOauthToken", {**given, "client_id": party.client["id"]})
        assert (name_of(error), error["message"]) == (
            "invalid_request",
            f"Parameter {missing} is required.",
        )

    async def test_a_redirect_is_ignored_with_a_refresh_token(self, party: Party) -> None:
        tokens = await party.tokens()
        refreshed = await party.refresh(tokens["refresh_token"], redirect_uri="https://elsewhere.example")
        assert await party.alive(refreshed)

    async def test_text_that_is_not_unicode_is_no_credential(self, party: Party) -> None:
        assert name_of(await party.redeem("\udcff" * 40)) == "invalid_grant"
        assert name_of(await party.refresh("\udcff" * 40)) == "invalid_grant"
        assert name_of(await party.redeem(await party.approve(), client_secret="\udcff")) == "invalid_client"

    async def test_a_wrong_secret_spends_nothing(self, party: Party) -> None:
        code = await party.approve()
        assert name_of(await party.redeem(code, client_secret="wrong")) == "invalid_client"
        assert name_of(await party.redeem(code, redirect_uri=CALLBACK + "/")) == "invalid_grant"
        tokens = await party.redeem(code)
        assert (
            name_of(await party.refresh(tokens["refresh_token"], client_secret="wrong")) == "invalid_client"
        )
        assert await party.alive(await party.refresh(tokens["refresh_token"]))

    async def test_solutions_share_no_credentials(self, party: Party) -> None:
        given = {"grant_type": "authorization_code", "redirect_uri": CALLBACK}
        other = await party.place.person("eve", solution="other")
        client = await party.place.call(
            "createOauthClient",
            {"id": other.id, "name": "Shop", "redirect": CALLBACK},
            solution="other",
        )
        assert client["id"] == party.client["id"]
        code = await party.approve()
        asked = {**given, "client_id": client["id"], "code": code}
        refused = await party.place.call("getOauthToken", asked, solution="other")
        assert name_of(refused) == "invalid_grant"
        assert await party.alive(await party.redeem(code))


class TestOneAlive:
    async def test_a_new_set_ends_the_former_one(self, party: Party) -> None:
        first = await party.tokens()
        second = await party.tokens()
        assert not await party.alive(first)
        assert await party.alive(second)
        assert name_of(await party.refresh(first["refresh_token"])) == "invalid_grant"
        assert await party.alive(second)  # that token was no part of it

    async def test_a_refresh_ends_the_former_one(self, party: Party) -> None:
        first = await party.tokens()
        second = await party.refresh(first["refresh_token"])
        assert not await party.alive(first)
        assert await party.alive(second)

    async def test_a_new_code_alone_ends_nothing(self, party: Party) -> None:
        tokens = await party.tokens()
        await party.approve()
        assert await party.alive(tokens)

    async def test_codes_that_are_pending_live_on(self, party: Party) -> None:
        codes = [await party.approve() for _ in range(3)]
        sets = [await party.redeem(code) for code in codes]
        assert [await party.alive(each) for each in sets] == [False, False, True]

    async def test_each_user_of_a_client_has_a_set(self, place: Place, party: Party) -> None:
        bob = await place.person("bob")
        anns = await party.tokens()
        bobs = await party.redeem(await party.approve(token=await place.token(bob)))
        await party.refresh(bobs["refresh_token"])
        assert await party.alive(anns)

    async def test_each_client_of_a_user_has_a_set(self, place: Place, party: Party) -> None:
        other = await place.call("createOauthClient", id=party.id, name="Other", redirect=CALLBACK)
        second = Party(place, party.id, party.token, other)
        first_set, second_set = await party.tokens(), await second.tokens()
        assert await party.alive(first_set)
        assert await second.alive(second_set)
        await place.call("deleteOauthClient", id=party.id, client_id=other["id"])
        assert await party.alive(first_set)
        assert not await second.alive(second_set)

    async def test_nothing_piles_up(self, place: Place, party: Party) -> None:
        for _ in range(4):
            await party.tokens()
        assert len(await place.database.frame("select * from oauth_approval")) == 1
        assert len(await place.database.frame("select * from oauth_credential")) == 2


class TestReuse:
    async def test_of_two_racing_exchanges_of_a_code_one_wins(self, party: Party) -> None:
        code = await party.approve()
        results = await asyncio.gather(*(party.redeem(code) for _ in range(5)))
        assert sorted("access_token" in each for each in results) == [False] * 4 + [True]
        assert {name_of(each) for each in results if "error" in each} == {"invalid_grant"}
        won = next(each for each in results if "access_token" in each)
        assert not await party.alive(won)  # the losers used the code twice

    async def test_of_two_racing_refreshes_one_wins(self, party: Party) -> None:
        tokens = await party.tokens()
        results = await asyncio.gather(*(party.refresh(tokens["refresh_token"]) for _ in range(2)))
        assert sorted("access_token" in each for each in results) == [False, True]

    async def test_of_racing_codes_one_set_stays(self, party: Party) -> None:
        codes = [await party.approve() for _ in range(4)]
        sets = await asyncio.gather(*(party.redeem(code) for code in codes))
        assert [await party.alive(each) for each in sets].count(True) == 1

    async def test_a_code_used_twice_ends_its_tokens_for_good(self, party: Party) -> None:
        code = await party.approve()
        tokens = await party.redeem(code)
        assert name_of(await party.redeem(code)) == "invalid_grant"
        assert not await party.alive(tokens)
        assert name_of(await party.refresh(tokens["refresh_token"])) == "invalid_grant"
        assert await party.alive(await party.tokens())  # a new approval helps

    async def test_a_code_that_another_writer_was_quicker_to_spend_is_used_twice(
        self, party: Party, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        code = await party.approve()
        first = await party.redeem(code)
        find = oauth_tokens._find

        def stale(*args: Any) -> Any:  # what this writer read before the other one wrote
            found = find(*args)
            assert found is not None
            return found._replace(spent=0)

        monkeypatch.setattr(oauth_tokens, "_find", stale)
        assert name_of(await party.redeem(code)) == "invalid_grant"
        assert not await party.alive(first)

    async def test_reuse_leaves_other_users_alone(self, place: Place, party: Party) -> None:
        bob = await place.person("bob")
        code = await party.approve(token=await place.token(bob))
        anns = await party.tokens()
        await party.redeem(code)
        await party.redeem(code)
        assert await party.alive(anns)

    async def test_a_spent_token_of_an_ended_set_ends_no_other(self, party: Party) -> None:
        first = await party.tokens()
        await party.refresh(first["refresh_token"])
        later = await party.tokens()
        assert name_of(await party.refresh(first["refresh_token"])) == "invalid_grant"
        assert await party.alive(later)


class TestLifetimes:
    @pytest.mark.parametrize(("age", "lives"), [(59, True), (60, False), (61, False)])
    async def test_tokens_are_dead_at_their_last_second(
        self, place: Place, party: Party, age: int, lives: bool
    ) -> None:
        tokens = await party.tokens(access_token_ttl=60, refresh_token_ttl=60)
        await place.clock.advance(age)
        assert await party.alive(tokens) is lives
        assert ("access_token" in await party.refresh(tokens["refresh_token"])) is lives

    @pytest.mark.parametrize("offset", [-1, 0, 1])
    async def test_the_defaults_are_those_of_the_document(
        self, place: Place, party: Party, offset: int
    ) -> None:
        assert (ACCESS_LIFETIME, REFRESH_LIFETIME) == (1_296_000, 31_104_000)
        tokens = await party.tokens()
        await place.clock.advance(1_296_000 + offset)
        assert await party.alive(tokens) is (offset < 0)
        await place.clock.advance(31_104_000 - 1_296_000)
        refreshed = await party.refresh(tokens["refresh_token"])
        assert ("access_token" in refreshed) is (offset < 0)

    async def test_a_refresh_begins_both_lifetimes_anew(self, place: Place, party: Party) -> None:
        tokens = await party.tokens(access_token_ttl=60, refresh_token_ttl=100)
        await place.clock.advance(99)
        tokens = await party.refresh(tokens["refresh_token"], access_token_ttl=60, refresh_token_ttl=100)
        await place.clock.advance(59)
        assert await party.alive(tokens)
        await place.clock.advance(40)
        assert not await party.alive(tokens)
        assert await party.alive(await party.refresh(tokens["refresh_token"]))

    async def test_a_client_may_go_on_without_a_refresh_token(self, place: Place, party: Party) -> None:
        tokens = await party.tokens(access_token_ttl=60, refresh_token_ttl=1)
        await place.clock.advance(59)
        assert name_of(await party.refresh(tokens["refresh_token"])) == "invalid_grant"
        assert await party.alive(tokens)


async def test_a_restart_keeps_all_of_it(tmp_path: Path) -> None:
    file = tmp_path / "lab.db"
    place = Place(data=file)
    party = await Party.at(place)
    spent = await party.approve()
    tokens = await party.redeem(spent)
    code = await party.approve()
    place.close()

    place = Place(data=file)
    again = Party(place, party.id, party.token, party.client)
    assert await again.alive(tokens)
    assert await place.call("getOauthClients", id=party.id) == {"oauth_clients": [party.client]}
    tokens = await again.redeem(code)
    assert await again.alive(tokens)
    second = await again.refresh(tokens["refresh_token"])
    place.close()

    place = Place(data=file)
    once_more = Party(place, party.id, party.token, party.client)
    assert not await once_more.alive(tokens)
    assert name_of(await once_more.refresh(tokens["refresh_token"])) == "invalid_grant"  # known as spent
    assert not await once_more.alive(second)
    other = await place.call("createOauthClient", id=1, name="x", redirect=CALLBACK)
    assert other["id"] == 2
    assert other["secret"] != party.client["secret"]  # the seed is the same, and gives nothing twice
    place.close()
