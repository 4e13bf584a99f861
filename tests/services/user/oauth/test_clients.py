"""OAuth clients: fields, owners, and redirects of their users."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.conformance.user.oauth.client import CALLBACK, SECOND
from tests.services.user.environment import Environment
from tests.services.user.oauth.clients import registered


async def made(env: Environment, redirect: object = CALLBACK, **changes: object) -> Any:
    return await env.call("createOauthClient", {"id": 1, "name": "Shop", "redirect": redirect, **changes})


@pytest.fixture
async def ann(env: Environment) -> int:
    return (await env.person("ann")).id


class TestCreate:
    async def test_ids_increase_and_are_never_reused(self, env: Environment, ann: int) -> None:
        assert [(await made(env))["id"] for _ in range(3)] == [1, 2, 3]
        await env.call("deleteOauthClient", id=ann, client_id=3)
        assert (await made(env))["id"] == 4

    async def test_redirects_of_any_scheme_are_accepted(self, env: Environment, ann: int) -> None:
        redirects: list[tuple[object, str]] = [
            ([CALLBACK, SECOND], f"{CALLBACK},{SECOND}"),
            (f"{CALLBACK},{SECOND}", f"{CALLBACK},{SECOND}"),
            (f" {CALLBACK} , {SECOND} ", f"{CALLBACK},{SECOND}"),
            ([SECOND], SECOND),
            ("http://localhost:8080/cb", "http://localhost:8080/cb"),
            ("http://[::1]/cb", "http://[::1]/cb"),
            ("com.example.app:/callback", "com.example.app:/callback"),
            ("https://app.example", "https://app.example"),
        ]
        for given, kept in redirects:
            assert (await made(env, given))["redirect"] == kept

    async def test_a_redirect_that_is_no_absolute_uri_is_refused(self, env: Environment, ann: int) -> None:
        odd: list[object] = [
            [],
            {},
            7,
            None,
            [CALLBACK, ""],
            [f"{CALLBACK},{SECOND}"],
            f"{CALLBACK},",
            "https://[::1/cb",
            "https://app.example/ü",
            "https://app.example/a b",
            "myapp:/callback",
            "callback",
            f"{CALLBACK}\n/more",
            f"{CALLBACK}/{'x' * 2000}",
            [CALLBACK] * 51,
        ]
        for redirect in odd:
            error = await env.refused("createOauthClient", {"id": ann, "name": "Shop", "redirect": redirect})
            assert error["status"] == 400
            assert "redirect" in error["message"]
        assert await env.call("getOauthClients", id=ann) == {"oauth_clients": []}

    async def test_a_name_is_printable_text(self, env: Environment, ann: int) -> None:
        odd: list[object] = ["", "a\nb", "\udcff", 7, "x" * 201]
        for name in odd:
            error = await env.refused("createOauthClient", {"id": ann, "name": name, "redirect": CALLBACK})
            assert (error["status"], "name" in error["message"]) == (400, True)

    async def test_it_belongs_to_an_existing_user(self, env: Environment) -> None:
        error = await env.refused("createOauthClient", id=9, name="Shop", redirect=CALLBACK)
        assert error["status"] == 404
        assert (await env.person()).id == 1
        assert (await made(env))["id"] == 1  # the refused client took no id


class TestChange:
    async def test_an_update_returns_the_changed_client(self, env: Environment, ann: int) -> None:
        before = await made(env)
        await env.clock.advance(61)
        after = await env.call(
            "updateOauthClient", id=ann, client_id="1", name="Store", redirect=[SECOND, CALLBACK]
        )
        assert after == {
            **before,
            "name": "Store",
            "redirect": f"{SECOND},{CALLBACK}",
            "updated_at": "2026-01-01 00:01:01",
        }
        assert await env.call("getOauthClients", id=ann) == {"oauth_clients": [after]}

    async def test_a_deleted_client_remains_as_a_revoked_row_without_its_secret(
        self, env: Environment, ann: int
    ) -> None:
        secret = (await made(env))["secret"]
        assert secret in await env.kept("oauth_client")
        await env.clock.advance(5)
        await env.call("deleteOauthClient", id=ann, client_id=1)
        kept = await env.database.select("select id, revoked, updated_at from oauth_client")
        assert kept.rows == ((1, 1, "2026-01-01 00:00:05"),)
        assert secret not in await env.kept("oauth_client")

    async def test_codes_and_tokens_end_with_their_client(self, env: Environment) -> None:
        client = await registered(env)
        tokens = await client.tokens()
        await client.approve()
        await env.call("deleteOauthClient", id=client.owner, client_id=client.id)
        assert not await client.is_valid(tokens)
        for table in ("oauth_approval", "oauth_credential"):
            assert not (await env.database.select(f"select * from {table}")).rows

    async def test_a_client_and_its_tokens_end_with_its_owner(self, env: Environment) -> None:
        client = await registered(env, "ann")
        bob = await env.person("bob")
        token = await env.token(bob)
        await client.redeem(await client.approve(token=token))
        await env.call("deleteUser", id=client.owner)
        for table in ("oauth_client", "oauth_approval", "oauth_credential"):
            assert not (await env.database.select(f"select * from {table}")).rows

    async def test_solutions_share_no_clients(self, env: Environment, ann: int) -> None:
        await made(env)
        await env.person("eve", solution="other")
        assert await env.call("getOauthClients", id=1, solution="other") == {"oauth_clients": []}
        refused = await env.call("getOauthClientRedirectPath", client_id=1, solution="other")
        assert refused["status"] == 404
        other = {"id": 1, "name": "Shop", "redirect": CALLBACK}
        assert (await env.call("createOauthClient", other, solution="other"))["id"] == 1


class TestList:
    async def test_clients_are_in_the_order_of_their_ids(self, env: Environment, ann: int) -> None:
        clients = [await made(env, name=name) for name in ("c", "a", "b")]
        assert await env.call("getOauthClients", id=str(ann)) == {"oauth_clients": clients}


class TestRedirectPath:
    async def test_an_index_out_of_range_is_refused(self, env: Environment, ann: int) -> None:
        await made(env, [CALLBACK, SECOND])
        odd: list[object] = [2, -1, 1.5, "second"]
        for index in odd:
            error = await env.refused("getOauthClientRedirectPath", client_id=1, redirectIndex=index)
            assert error["status"] == 400
            assert "redirectIndex" in error["message"]
