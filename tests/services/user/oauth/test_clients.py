"""OAuth clients: what they are made of, whose they are, where their users are sent."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from labkit.conformance.user.oauth.client import CALLBACK, SECOND, name_of
from tests.services.user.environment import Environment
from tests.services.user.oauth.clients import registered


async def made(env: Environment, redirect: object = CALLBACK, **changes: object) -> Any:
    return await env.call("createOauthClient", {"id": 1, "name": "Shop", "redirect": redirect, **changes})


@pytest.fixture
async def ann(env: Environment) -> int:
    return (await env.person("ann")).id


class TestCreate:
    async def test_a_client_has_every_field_of_the_record(self, env: Environment, ann: int) -> None:
        client = await made(env)
        secret = client.pop("secret")
        assert re.fullmatch(r"[A-Za-z0-9]{40}", secret)
        assert client == {
            "id": 1,
            "name": "Shop",
            "revoked": False,
            "user_id": ann,
            "redirect": CALLBACK,
            "created_at": "2026-01-01 00:00:00",
            "updated_at": "2026-01-01 00:00:00",
            "password_client": False,
            "personal_access_client": False,
        }
        assert type(client["id"]) is int
        assert client["revoked"] is False

    async def test_ids_increase_and_are_never_given_twice(self, env: Environment, ann: int) -> None:
        assert [(await made(env))["id"] for _ in range(3)] == [1, 2, 3]
        await env.call("deleteOauthClient", id=ann, client_id=3)
        assert (await made(env))["id"] == 4

    async def test_no_two_secrets_are_alike(self, env: Environment, ann: int) -> None:
        assert len({(await made(env))["secret"] for _ in range(5)}) == 5

    async def test_the_secret_is_in_no_record_of_the_journal(self, env: Environment, ann: int) -> None:
        client = await made(env)
        assert client["secret"] not in env.journal.canonical()

    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            ([CALLBACK, SECOND], f"{CALLBACK},{SECOND}"),
            (f"{CALLBACK},{SECOND}", f"{CALLBACK},{SECOND}"),
            (f" {CALLBACK} , {SECOND} ", f"{CALLBACK},{SECOND}"),
            ([SECOND], SECOND),
            ("http://localhost:8080/cb", "http://localhost:8080/cb"),
            ("http://[::1]/cb", "http://[::1]/cb"),
            ("com.example.app:/callback", "com.example.app:/callback"),
            ("https://app.example", "https://app.example"),
        ],
    )
    async def test_redirects_come_as_text_or_list(
        self, env: Environment, ann: int, given: object, kept: str
    ) -> None:
        assert (await made(env, given))["redirect"] == kept

    @pytest.mark.parametrize(
        "redirect",
        [
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
        ],
    )
    async def test_a_redirect_that_is_no_absolute_uri_is_refused(
        self, env: Environment, ann: int, redirect: object
    ) -> None:
        error = await env.refused("createOauthClient", {"id": ann, "name": "Shop", "redirect": redirect})
        assert error["status"] == 400
        assert "redirect" in error["message"]
        assert await env.call("getOauthClients", id=ann) == {"oauth_clients": []}

    @pytest.mark.parametrize("name", ["", "a\nb", "\udcff", 7, "x" * 201])
    async def test_a_name_is_printable_text(self, env: Environment, ann: int, name: object) -> None:
        error = await env.refused("createOauthClient", {"id": ann, "name": name, "redirect": CALLBACK})
        assert (error["status"], "name" in error["message"]) == (400, True)

    @pytest.mark.parametrize("missing", ["id", "name", "redirect"])
    async def test_every_parameter_is_required(self, env: Environment, ann: int, missing: str) -> None:
        given: dict[str, object] = {"id": ann, "name": "Shop", "redirect": CALLBACK}
        del given[missing]
        error = await env.refused("createOauthClient", given)
        assert (error["status"], error["message"]) == (400, f"Parameter {missing} is required.")

    async def test_it_belongs_to_a_user_that_there_is(self, env: Environment) -> None:
        error = await env.refused("createOauthClient", id=9, name="Shop", redirect=CALLBACK)
        assert error["status"] == 404
        assert (await env.person()).id == 1
        assert (await made(env))["id"] == 1  # the refused one took no id


class TestChange:
    async def test_an_update_gives_the_client_anew(self, env: Environment, ann: int) -> None:
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

    async def test_a_bad_update_changes_nothing(self, env: Environment, ann: int) -> None:
        before = await made(env)
        error = await env.refused("updateOauthClient", id=ann, client_id=1, name="Store", redirect="#")
        assert error["status"] == 400
        assert await env.call("getOauthClients", id=ann) == {"oauth_clients": [before]}

    async def test_new_redirects_count_at_once(self, env: Environment) -> None:
        client = await registered(env)
        await env.call(
            "updateOauthClient", id=client.owner, client_id=client.id, name="Shop", redirect=SECOND
        )
        assert name_of(await client.approve()) == "invalid_request"
        code = await client.approve(redirect_uri=SECOND)
        assert "access_token" in await client.redeem(code, redirect_uri=SECOND)

    async def test_a_deleted_client_is_shown_no_more(self, env: Environment, ann: int) -> None:
        await made(env)
        second = await made(env)
        assert await env.call("deleteOauthClient", id=ann, client_id=1) is None
        assert await env.call("getOauthClients", id=ann) == {"oauth_clients": [second]}
        for operation in ("deleteOauthClient", "updateOauthClient", "getOauthClientRedirectPath"):
            error = await env.refused(operation, id=ann, client_id=1, name="Shop", redirect=CALLBACK)
            assert error["status"] == 404

    async def test_a_deleted_client_stays_as_a_revoked_row_without_its_secret(
        self, env: Environment, ann: int
    ) -> None:
        secret = (await made(env))["secret"]
        assert secret in await env.kept("oauth_client")
        await env.clock.advance(5)
        await env.call("deleteOauthClient", id=ann, client_id=1)
        kept = await env.database.select("select id, revoked, updated_at from oauth_client")
        assert kept.rows == [(1, 1, "2026-01-01 00:00:05")]
        assert secret not in await env.kept("oauth_client")

    async def test_with_a_client_go_its_codes_and_tokens(self, env: Environment) -> None:
        client = await registered(env)
        tokens = await client.tokens()
        await client.approve()
        await env.call("deleteOauthClient", id=client.owner, client_id=client.id)
        assert not await client.holds(tokens)
        for table in ("oauth_approval", "oauth_credential"):
            assert not (await env.database.select(f"select * from {table}")).rows

    async def test_nobody_changes_the_client_of_another(self, env: Environment, ann: int) -> None:
        client = await made(env)
        bob = (await env.person("bob")).id
        for operation in ("deleteOauthClient", "updateOauthClient"):
            error = await env.refused(operation, id=bob, client_id=1, name="Mine", redirect=SECOND)
            assert error["status"] == 404
        assert await env.call("getOauthClients", id=ann) == {"oauth_clients": [client]}
        assert await env.call("getOauthClients", id=bob) == {"oauth_clients": []}

    async def test_with_its_owner_goes_a_client_and_what_others_granted_it(self, env: Environment) -> None:
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
    async def test_a_user_without_clients_has_an_empty_list(self, env: Environment, ann: int) -> None:
        assert await env.call("getOauthClients", id=ann) == {"oauth_clients": []}

    async def test_clients_come_in_the_order_of_their_ids(self, env: Environment, ann: int) -> None:
        clients = [await made(env, name=name) for name in ("c", "a", "b")]
        assert await env.call("getOauthClients", id=str(ann)) == {"oauth_clients": clients}

    async def test_nobody_is_404(self, env: Environment) -> None:
        assert (await env.refused("getOauthClients", id=9))["status"] == 404


class TestRedirectPath:
    @pytest.mark.parametrize(
        ("index", "redirect"),
        [({}, CALLBACK), ({"redirectIndex": 0}, CALLBACK), ({"redirectIndex": 1}, SECOND)],
    )
    async def test_it_tells_where_to_approve(
        self, env: Environment, ann: int, index: dict[str, int], redirect: str
    ) -> None:
        await made(env, [CALLBACK, SECOND])
        path = await env.call("getOauthClientRedirectPath", {"client_id": "1", **index})
        parts = urlsplit(path)
        assert (parts.scheme, parts.netloc, parts.path) == ("", "", "/authorize_approved")
        assert parse_qsl(parts.query, keep_blank_values=True) == [
            ("client_id", "1"),
            ("redirect_uri", redirect),
            ("response_type", "code"),
            ("scope", ""),
        ]

    async def test_the_path_is_letter_by_letter_that_of_the_platform(
        self, env: Environment, ann: int
    ) -> None:
        await made(env)
        assert await env.call("getOauthClientRedirectPath", client_id=1) == (
            "/authorize_approved?client_id=1&redirect_uri=https%3A%2F%2Fapp.example%2Fcallback"
            "&response_type=code&scope="
        )

    @pytest.mark.parametrize("index", [2, -1, 1.5, "second"])
    async def test_an_index_out_of_range_is_refused(self, env: Environment, ann: int, index: object) -> None:
        await made(env, [CALLBACK, SECOND])
        error = await env.refused("getOauthClientRedirectPath", client_id=1, redirectIndex=index)
        assert error["status"] == 400
        assert "redirectIndex" in error["message"]

    async def test_no_client_is_404(self, env: Environment) -> None:
        assert (await env.refused("getOauthClientRedirectPath", client_id=1))["status"] == 404
