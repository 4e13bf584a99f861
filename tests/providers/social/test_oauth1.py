"""The OAuth 1.0a providers: flows of third-party clients, and a refusal by every verification."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oauthlib.oauth1 import SIGNATURE_PLAINTEXT, SIGNATURE_TYPE_BODY
from requests_oauthlib import OAuth1Session

from labkit import Lab
from labkit.lab.provider import Provider
from labkit.providers.social.messages import Application
from tests.cases import cases
from tests.providers.social.clients import ANN, CALLBACK, AuthlibOAuth1, connected_to_lab
from tests.providers.social.signer import Signer, reason


@pytest.fixture
def consumer(bird: Provider) -> Application:
    return bird.register(CALLBACK)


@pytest.fixture
def signer(lab: Lab, bird: Provider, consumer: Application) -> Signer:
    return Signer(lab, bird, consumer)


class TestTheFlow:
    @pytest.mark.parametrize("name", ["twitter", "bird"])
    def test_requests_oauthlib_completes_it(self, lab: Lab, name: str, tmp_path: Path) -> None:
        provider = lab.provider(name)
        if name == "twitter":
            provider.people.add(**ANN)
        at, application = provider.endpoints, provider.register(CALLBACK)
        client = connected_to_lab(
            OAuth1Session(application.client_id, application.client_secret, callback_uri=CALLBACK),
            lab,
            tmp_path,
        )
        request_token = client.fetch_request_token(at["request_token"])
        assert request_token["oauth_callback_confirmed"] == "true"
        assert request_token["oauth_token"].isalnum()
        returned = provider.login(client.authorization_url(at["authorize"]), "ann").headers["Location"]
        client.parse_authorization_response(returned)
        given = client.fetch_access_token(at["token"])
        assert given["screen_name"] == "ann"
        info = client.get(at["userinfo"]).json()
        assert info["name"] == "Ann Lee"

    def test_authlib_completes_it(
        self, lab: Lab, bird: Provider, consumer: Application, tmp_path: Path
    ) -> None:
        client = connected_to_lab(
            AuthlibOAuth1(consumer.client_id, consumer.client_secret, redirect_uri=CALLBACK), lab, tmp_path
        )
        client.fetch_request_token(bird.endpoints["request_token"])
        url = client.create_authorization_url(bird.endpoints["authorize"])
        client.parse_authorization_response(bird.login(url, "bo").headers["Location"])
        client.fetch_access_token(bird.endpoints["token"])
        assert client.get(bird.endpoints["userinfo"]).json()["id"] == "bo"

    def test_parameters_may_be_in_the_body(self, signer: Signer) -> None:
        assert signer.send("request_token", signature_type=SIGNATURE_TYPE_BODY).status_code == 200

    def test_user_info_has_the_form_of_the_real_provider(self, lab: Lab) -> None:
        twitter = lab.provider("twitter")
        twitter.people.add("42", name="Ann Lee")
        signer = Signer(lab, twitter, twitter.register(CALLBACK))
        signer.send("request_token")
        signer.send("token", verifier=signer.approve("42")["oauth_verifier"])
        assert signer.send("userinfo").json() == {
            "id": 42,
            "id_str": "42",
            "name": "Ann Lee",
            "screen_name": "42",
        }


class TestRequestToken:
    @cases(
        ("changes", "status", "why"),
        [
            ({"client_key": "nobody"}, 401, "the consumer key is unknown"),
            ({"client_secret": "wrong"}, 401, "the signature is wrong"),
            ({"resource_owner_secret": "x"}, 401, "the signature is wrong"),
            ({"callback_uri": CALLBACK + "/"}, 401, "oauth_callback is not registered for this application"),
            ({"callback_uri": "oob"}, 401, "oauth_callback is not registered for this application"),
            ({"callback_uri": None}, 400, "Missing callback URI."),
            ({"signature_method": SIGNATURE_PLAINTEXT}, 400, "Invalid signature"),
            ({"timestamp": "0"}, 400, "Invalid timestamp size"),
            ({"timestamp": "12345678x0"}, 400, "Timestamp must be an integer."),
            ({"nonce": "n" * 201}, 400, "Invalid nonce format."),
        ],
    )
    def test_an_invalid_request_is_refused(
        self, signer: Signer, changes: dict[str, Any], status: int, why: str
    ) -> None:
        answer = signer.send("request_token", **changes)
        assert answer.status_code == status
        assert reason(answer).startswith(why)
        assert ("WWW-Authenticate" in answer.headers) == (status == 401)

    def test_without_a_signature_it_is_refused(self, lab: Lab, bird: Provider) -> None:
        url = bird.endpoints["request_token"]
        for header in ("", "OAuth", 'OAuth oauth_consumer_key="x"', "OAuth ====", "Basic YTpi"):
            answer = lab.browser().post(url, headers={"Authorization": header})
            assert answer.status_code in (400, 401), header
            assert reason(answer)

    def test_another_version_is_refused(self, signer: Signer) -> None:
        url, headers, _ = signer.signed("request_token")
        wrong = {**headers, "Authorization": headers["Authorization"].replace('"1.0"', '"2.0"')}
        assert reason(signer.lab.browser().post(url, headers=wrong)) == "Invalid OAuth version."

    def test_a_request_changed_after_signing_is_refused(self, signer: Signer) -> None:
        url, headers, _ = signer.signed("request_token")
        assert reason(signer.lab.browser().post(f"{url}?x=1", headers=headers)) == "the signature is wrong"
        assert signer.lab.browser().post(url, headers=headers).status_code == 200

    def test_a_nonce_is_valid_once_per_timestamp(self, lab: Lab, signer: Signer) -> None:
        now = int(lab.clock.time)
        assert signer.send("request_token", nonce="n1", timestamp=str(now)).status_code == 200
        signer.tokens = {}
        assert (
            reason(signer.send("request_token", nonce="n1", timestamp=str(now)))
            == "the nonce was used already"
        )
        assert signer.send("request_token", nonce="n1", timestamp=str(now + 1)).status_code == 200

    def test_a_refused_request_does_not_use_its_nonce(self, lab: Lab, signer: Signer) -> None:
        now = str(int(lab.clock.time))
        assert signer.send("request_token", nonce="n2", timestamp=now, client_secret="x").status_code == 401
        assert signer.send("request_token", nonce="n2", timestamp=now).status_code == 200

    @pytest.mark.parametrize(("off", "status"), [(-300, 401), (-299, 200), (299, 200), (300, 401)])
    def test_a_timestamp_must_be_near_lab_time(self, lab: Lab, signer: Signer, off: int, status: int) -> None:
        answer = signer.send("request_token", timestamp=str(int(lab.clock.time) + off))
        assert answer.status_code == status


class TestAuthorize:
    def test_an_unknown_token_is_not_redirected(self, lab: Lab, bird: Provider) -> None:
        for query in ("", "?oauth_token=", "?oauth_token=unknown"):
            answer = lab.browser().get(bird.endpoints["authorize"] + query)
            assert answer.status_code == 400
            assert "unknown or has expired" in answer.text

    def test_the_callback_has_token_and_verifier(self, signer: Signer) -> None:
        signer.send("request_token")
        back = signer.approve()
        assert back["oauth_token"] == signer.tokens["oauth_token"]
        assert back["oauth_verifier"].isalnum()

    def test_a_token_can_be_approved_once(self, lab: Lab, signer: Signer) -> None:
        signer.send("request_token")
        signer.approve()
        url = f"{signer.provider.endpoints['authorize']}?oauth_token={signer.tokens['oauth_token']}"
        assert "approved already" in lab.browser().get(url).text

    def test_a_person_may_deny(self, signer: Signer) -> None:
        signer.send("request_token")
        assert signer.approve(yes=False) == {"denied": signer.tokens["oauth_token"]}
        assert signer.send("token", verifier="x").status_code == 401


class TestAccessToken:
    def test_a_token_without_approval_is_refused(self, signer: Signer) -> None:
        signer.send("request_token")
        assert reason(signer.send("token", verifier="guess")) == "nobody has approved this token"

    def test_an_invalid_request_is_refused_and_does_not_use_the_verifier(
        self, bird: Provider, signer: Signer
    ) -> None:
        signer.send("request_token")
        verifier = signer.approve()["oauth_verifier"]
        thief = bird.register(CALLBACK)
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"verifier": "wrong"}, "the verifier is wrong"),
            ({"verifier": None}, "Missing verifier."),
            ({"verifier": verifier, "resource_owner_secret": "wrong"}, "the signature is wrong"),
            ({"verifier": verifier, "client_secret": "wrong"}, "the signature is wrong"),
            (
                {"verifier": verifier, "client_key": thief.client_id, "client_secret": thief.client_secret},
                "the request token is not one that this consumer was given",
            ),
            ({"verifier": verifier, "resource_owner_key": None}, "Missing resource owner."),
        ]
        for changes, why in wrong:
            assert reason(signer.send("token", **changes)) == why
        assert signer.send("token", verifier=verifier).status_code == 200

    def test_a_verifier_is_valid_once(self, signer: Signer) -> None:
        signer.send("request_token")
        request_token, verifier = signer.tokens, signer.approve()["oauth_verifier"]
        signer.send("token", verifier=verifier)
        signer.tokens = request_token
        assert "not one that this consumer was given" in reason(signer.send("token", verifier=verifier))


class TestUserInfo:
    def test_it_needs_the_access_token_signed_by_its_consumer(self, bird: Provider, signer: Signer) -> None:
        signer.send("request_token")
        request_token = signer.tokens
        signer.send("token", verifier=signer.approve()["oauth_verifier"])
        assert signer.send("userinfo").json() == {"id": "ann", "name": "Ann Lee", "email": "ann@example.com"}
        thief = bird.register(CALLBACK)
        not_its_own = "the access token is not one that this consumer was given"
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"resource_owner_secret": "wrong"}, "the signature is wrong"),
            ({"client_secret": "wrong"}, "the signature is wrong"),
            ({"client_key": thief.client_id, "client_secret": thief.client_secret}, not_its_own),
            (
                {
                    "resource_owner_key": request_token["oauth_token"],
                    "resource_owner_secret": request_token["oauth_token_secret"],
                },
                not_its_own,
            ),
        ]
        for changes, why in wrong:
            answer = signer.send("userinfo", **changes)
            assert (answer.status_code, reason(answer)) == (401, why)
            assert answer.headers["WWW-Authenticate"] == 'OAuth realm="bird"'

    def test_a_nonce_is_valid_once(self, lab: Lab, signer: Signer) -> None:
        signer.send("request_token")
        signer.send("token", verifier=signer.approve()["oauth_verifier"])
        assert signer.send("userinfo", nonce="n").status_code == 200
        assert reason(signer.send("userinfo", nonce="n")) == "the nonce was used already"

    def test_bearer_tokens_are_refused(self, lab: Lab, bird: Provider) -> None:
        answer = lab.browser().get(bird.endpoints["userinfo"], headers={"Authorization": "Bearer x"})
        assert answer.status_code == 401


class TestLifetimes:
    @pytest.fixture
    def own(self) -> Iterator[Signer]:
        with Lab(seed=7) as lab:
            provider = lab.provider("bird", protocol="oauth1", people=[ANN])
            yield Signer(lab, provider, provider.register(CALLBACK))

    def test_a_request_token_expires_at_its_last_second(self, own: Signer) -> None:
        for wait, status in [(599, 200), (600, 401), (601, 401)]:
            own.tokens = {}
            own.send("request_token")
            verifier = own.approve()["oauth_verifier"]
            own.lab.clock.advance(seconds=wait)
            assert own.send("token", verifier=verifier).status_code == status, wait
        # and it cannot be approved
        own.tokens = {}
        own.send("request_token")
        own.lab.clock.advance(seconds=600)
        url = f"{own.provider.endpoints['authorize']}?oauth_token={own.tokens['oauth_token']}"
        assert own.lab.browser().get(url).status_code == 400

    def test_a_nonce_is_stored_longer_than_its_timestamp_is_valid(self, own: Signer) -> None:
        ahead = str(int(own.lab.clock.time) + 299)
        assert own.send("request_token", nonce="n", timestamp=ahead).status_code == 200
        own.tokens = {}
        own.lab.clock.advance(seconds=598)
        assert own.send("request_token", nonce="other").status_code == 200  # old nonces are dropped now
        own.tokens = {}
        assert reason(own.send("request_token", nonce="n", timestamp=ahead)) == "the nonce was used already"
