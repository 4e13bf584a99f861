"""OAuth clients: what they are made of, whose they are, where their users are sent."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from labkit.conformance.user.oauth.client import CALLBACK, SECOND, name_of
from tests.services.user.oauth.clients import registered
from tests.services.user.place import Place


async def made(place: Place, redirect: object = CALLBACK, **changes: object) -> Any:
    return await place.call("createOauthClient", {"id": 1, "name": "Shop", "redirect": redirect, **changes})


@pytest.fixture
async def ann(place: Place) -> int:
    return (await place.person("ann")).id


class TestCreate:
    async def test_a_client_has_every_field_of_the_record(self, place: Place, ann: int) -> None:
        client = await made(place)
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

    async def test_ids_increase_and_are_never_given_twice(self, place: Place, ann: int) -> None:
        assert [(await made(place))["id"] for _ in range(3)] == [1, 2, 3]
        await place.call("deleteOauthClient", id=ann, client_id=3)
        assert (await made(place))["id"] == 4

    async def test_no_two_secrets_are_alike(self, place: Place, ann: int) -> None:
        assert len({(await made(place))["secret"] for _ in range(5)}) == 5

    async def test_the_secret_is_in_no_record_of_the_journal(self, place: Place, ann: int) -> None:
        client = await made(place)
        assert client["secret"] not in place.journal.canonical()

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
        self, place: Place, ann: int, given: object, kept: str
    ) -> None:
        assert (await made(place, given))["redirect"] == kept

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
        self, place: Place, ann: int, redirect: object
    ) -> None:
        error = await place.refused("createOauthClient", {"id": ann, "name": "Shop", "redirect": redirect})
        assert error["status"] == 400
        assert "redirect" in error["message"]
        assert await place.call("getOauthClients", id=ann) == {"oauth_clients": []}

    @pytest.mark.parametrize("name", ["", "a\nb", "\udcff", 7, "x" * 201])
    async def test_a_name_is_printable_text(self, place: Place, ann: int, name: object) -> None:
        error = await place.refused("createOauthClient", {"id": ann, "name": name, "redirect": CALLBACK})
        assert (error["status"], "name" in error["message"]) == (400, True)

    @pytest.mark.parametrize("missing", ["id", "name", "redirect"])
    async def test_every_parameter_is_required(self, place: Place, ann: int, missing: str) -> None:
        given: dict[str, object] = {"id": ann, "name": "Shop", "redirect": CALLBACK}
        del given[missing]
        error = await place.refused("createOauthClient", given)
        assert (error["status"], error["message"]) == (400, f"Parameter {missing} is required.")

    async def test_it_belongs_to_a_user_that_there_is(self, place: Place) -> None:
        error = await place.refused("createOauthClient", id=9, name="Shop", redirect=CALLBACK)
        assert error["status"] == 404
        assert (await place.person()).id == 1
        assert (await made(place))["id"] == 1  # the refused one took no id


class TestChange:
    async def test_an_update_gives_the_client_anew(self, place: Place, ann: int) -> None:
        before = await made(place)
        await place.clock.advance(61)
        after = await place.call(
            "updateOauthClient", id=ann, client_id="1", name="Store", redirect=[SECOND, CALLBACK]
        )
        assert after == {
            **before,
            "name": "Store",
            "redirect": f"{SECOND},{CALLBACK}",
            "updated_at": "2026-01-01 00:01:01",
        }
        assert await place.call("getOauthClients", id=ann) == {"oauth_clients": [after]}

    async def test_a_bad_update_changes_nothing(self, place: Place, ann: int) -> None:
        before = await made(place)
        error = await place.refused("updateOauthClient", id=ann, client_id=1, name="Store", redirect="#")
        assert error["status"] == 400
        assert await place.call("getOauthClients", id=ann) == {"oauth_clients": [before]}

    async def test_new_redirects_count_at_once(self, place: Place) -> None:
        client = await registered(place)
        await place.call(
            "updateOauthClient", id=client.owner, client_id=client.id, name="Shop", redirect=SECOND
        )
        assert name_of(await client.approve()) == "invalid_request"
        code = await client.approve(redirect_uri=SECOND)
        assert "access_token" in await client.redeem(code, redirect_uri=SECOND)

    async def test_a_deleted_client_is_shown_no_more(self, place: Place, ann: int) -> None:
        await made(place)
        second = await made(place)
        assert await place.call("deleteOauthClient", id=ann, client_id=1) is None
        assert await place.call("getOauthClients", id=ann) == {"oauth_clients": [second]}
        for operation in ("deleteOauthClient", "updateOauthClient", "getOauthClientRedirectPath"):
            error = await place.refused(operation, id=ann, client_id=1, name="Shop", redirect=CALLBACK)
            assert error["status"] == 404

    async def test_a_deleted_client_stays_as_a_revoked_row_without_its_secret(
        self, place: Place, ann: int
    ) -> None:
        secret = (await made(place))["secret"]
        assert secret in await place.kept("oauth_client")
        await place.clock.advance(5)
        await place.call("deleteOauthClient", id=ann, client_id=1)
        frame = await place.database.frame("select id, revoked, updated_at from oauth_client")
        assert frame.values.tolist() == [[1, 1, "2026-01-01 00:00:05"]]
        assert secret not in await place.kept("oauth_client")

    async def test_with_a_client_go_its_codes_and_tokens(self, place: Place) -> None:
        client = await registered(place)
        tokens = await client.tokens()
        await client.approve()
        await place.call("deleteOauthClient", id=client.owner, client_id=client.id)
        assert not await client.holds(tokens)
        for table in ("oauth_approval", "oauth_credential"):
            assert (await place.database.frame(f"select * from {table}")).empty

    async def test_nobody_changes_the_client_of_another(self, place: Place, ann: int) -> None:
        client = await made(place)
        bob = (await place.person("bob")).id
        for operation in ("deleteOauthClient", "updateOauthClient"):
            error = await place.refused(operation, id=bob, client_id=1, name="Mine", redirect=SECOND)
            assert error["status"] == 404
        assert await place.call("getOauthClients", id=ann) == {"oauth_clients": [client]}
        assert await place.call("getOauthClients", id=bob) == {"oauth_clients": []}

    async def test_with_its_owner_goes_a_client_and_what_others_granted_it(self, place: Place) -> None:
        client = await registered(place, "ann")
        bob = await place.person("bob")
        token = await place.token(bob)
        await client.redeem(await client.approve(token=token))
        await place.call("deleteUser", id=client.owner)
        for table in ("oauth_client", "oauth_approval", "oauth_credential"):
            assert (await place.database.frame(f"select * from {table}")).empty

    async def test_solutions_share_no_clients(self, place: Place, ann: int) -> None:
        await made(place)
        await place.person("eve", solution="other")
        assert await place.call("getOauthClients", id=1, solution="other") == {"oauth_clients": []}
        refused = await place.call("getOauthClientRedirectPath", client_id=1, solution="other")
        assert refused["status"] == 404
        other = {"id": 1, "name": "Shop", "redirect": CALLBACK}
        assert (await place.call("createOauthClient", other, solution="other"))["id"] == 1


class TestList:
    async def test_a_user_without_clients_has_an_empty_list(self, place: Place, ann: int) -> None:
        assert await place.call("getOauthClients", id=ann) == {"oauth_clients": []}

    async def test_clients_come_in_the_order_of_their_ids(self, place: Place, ann: int) -> None:
        clients = [await made(place, name=name) for name in ("c", "a", "b")]
        assert await place.call("getOauthClients", id=str(ann)) == {"oauth_clients": clients}

    async def test_nobody_is_404(self, place: Place) -> None:
        assert (await place.refused("getOauthClients", id=9))["status"] == 404


class TestRedirectPath:
    @pytest.mark.parametrize(
        ("index", "redirect"),
        [({}, CALLBACK), ({"redirectIndex": 0}, CALLBACK), ({"redirectIndex": 1}, SECOND)],
    )
    async def test_it_tells_where_to_approve(
        self, place: Place, ann: int, index: dict[str, int], redirect: str
    ) -> None:
        await made(place, [CALLBACK, SECOND])
        path = await place.call("getOauthClientRedirectPath", {"client_id": "1", **index})
        parts = urlsplit(path)
        assert (parts.scheme, parts.netloc, parts.path) == ("", "", "/authorize_approved")
        assert parse_qsl(parts.query, keep_blank_values=True) == [
            ("client_id", "1"),
            ("redirect_uri", redirect),
            ("response_type", "code"),
            ("scope", ""),
        ]

    async def test_the_path_is_letter_by_letter_that_of_the_platform(self, place: Place, ann: int) -> None:
        await made(place)
        assert await place.call("getOauthClientRedirectPath", client_id=1) == (
            "/authorize_approved?client_id=1&redirect_uri=https%3A%2F%2Fapp.example%2Fcallback"
            "&response_type=code&scope="
        )

    @pytest.mark.parametrize("index", [2, -1, 1.5, "second"])
    async def test_an_index_out_of_range_is_refused(self, place: Place, ann: int, index: object) -> None:
        await made(place, [CALLBACK, SECOND])
        error = await place.refused("getOauthClientRedirectPath", client_id=1, redirectIndex=index)
        assert error["status"] == 400
        assert "redirectIndex" in error["message"]

    async def test_no_client_is_404(self, place: Place) -> None:
        assert (await place.refused("getOauthClientRedirectPath", client_id=1))["status"] == 404
