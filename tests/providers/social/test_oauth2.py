"""The OAuth 2 providers: flows of third-party clients, and a refusal by every verification."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
import requests
from requests_oauthlib import OAuth2Session

from labkit import Lab
from labkit.lab.provider import Provider
from labkit.providers.social.messages import Application
from tests.cases import cases
from tests.providers.social.clients import (
    ANN,
    CALLBACK,
    AuthlibOAuth2,
    authorize_url,
    callback_parameters,
    code_for,
    connected_to_lab,
    post,
    redeem,
    userinfo,
)

ALL = ("google", "facebook", "amazon", "github", "acme")


class TestTheFlow:
    @pytest.mark.parametrize("name", ALL)
    def test_requests_oauthlib_completes_it(self, lab: Lab, name: str, tmp_path: Path) -> None:
        provider = lab.provider(name)
        if name != "acme":
            provider.people.add(**ANN)
        application = provider.register(CALLBACK)
        at = provider.endpoints
        scope = "user" if name == "github" else "profile email"  # GitHub joins several scopes in its own way
        client = connected_to_lab(
            OAuth2Session(application.client_id, redirect_uri=CALLBACK, scope=scope), lab, tmp_path
        )
        url, state = client.authorization_url(at["authorize"])
        returned = provider.login(url, "ann")
        token = client.fetch_token(
            at["token"],
            authorization_response=returned.headers["Location"],
            client_secret=application.client_secret,
            include_client_id=True,
        )
        assert callback_parameters(returned)["state"] == state
        assert token["token_type"].lower() == "bearer"
        assert "Ann Lee" in client.get(at["userinfo"]).json().values()

    @pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
    def test_authlib_completes_it_with_a_proof_key(
        self, lab: Lab, acme: Provider, application: Application, method: str, tmp_path: Path
    ) -> None:
        client = connected_to_lab(
            AuthlibOAuth2(
                application.client_id,
                application.client_secret,
                token_endpoint_auth_method=method,
                redirect_uri=CALLBACK,
                scope="profile",
                code_challenge_method="S256",
            ),
            lab,
            tmp_path,
        )
        verifier = "v" * 48
        url, state = client.create_authorization_url(acme.endpoints["authorize"], code_verifier=verifier)
        returned = acme.login(url, "bo").headers["Location"]
        client.fetch_token(
            acme.endpoints["token"], authorization_response=returned, state=state, code_verifier=verifier
        )
        found = client.get(acme.endpoints["userinfo"]).json()
        assert found == {"id": "bo", "name": "Bo", "email": "bo@example.com"}
        old = client.token["access_token"]
        client.refresh_token(acme.endpoints["token"])
        assert client.token["access_token"] != old
        assert client.get(acme.endpoints["userinfo"]).json() == found


class TestShapes:
    """Answers have the form of the real providers' answers."""

    def token(self, lab: Lab, name: str, **parameters: str) -> tuple[Provider, dict[str, Any]]:
        provider = lab.provider(name)
        provider.people.add(**ANN)
        application = provider.register(CALLBACK)
        code = code_for(provider, application, **parameters)
        return provider, redeem(lab, provider, application, code).json()

    @cases(
        ("name", "fields"),
        [
            ("google", {"access_token", "expires_in", "scope", "token_type"}),
            ("facebook", {"access_token", "expires_in", "token_type"}),
            ("amazon", {"access_token", "expires_in", "token_type", "refresh_token"}),
            ("github", {"access_token", "scope", "token_type"}),
        ],
    )
    def test_of_token_replies(self, lab: Lab, name: str, fields: set[str]) -> None:
        assert set(self.token(lab, name)[1]) == fields

    @cases(
        ("name", "expected"),
        [
            ("google", {"sub": "ann", "given_name": "Ann", "family_name": "Lee", "email_verified": True}),
            ("facebook", {"name": "Ann Lee", "email": "ann@example.com"}),
            ("amazon", {"user_id": "amzn1.account.ann", "email": "ann@example.com"}),
            ("github", {"login": "ann", "type": "User", "email": "ann@example.com"}),
        ],
    )
    def test_of_user_info(self, lab: Lab, name: str, expected: dict[str, object]) -> None:
        provider, token = self.token(lab, name, scope="profile email user")
        info = userinfo(lab, provider, token["access_token"]).json()
        assert expected.items() <= info.items()

    def test_user_info_has_the_fields_that_the_scopes_allow(self, lab: Lab) -> None:
        provider, token = self.token(lab, "google", scope="openid")
        assert userinfo(lab, provider, token["access_token"]).json() == {"sub": "ann"}

    def test_github_answers_a_form_unless_json_is_requested(self, lab: Lab) -> None:
        github = lab.provider("github")
        github.people.add(**ANN)
        application = github.register(CALLBACK)
        form = {
            "grant_type": "authorization_code",
            "client_id": application.client_id,
            "client_secret": application.client_secret,
            "redirect_uri": CALLBACK,
            "code": code_for(github, application, scope="user repo"),
        }
        answer = post(lab, github.endpoints["token"], data=form, headers={"Accept": "*/*"})
        assert answer.headers["Content-Type"].startswith("application/x-www-form-urlencoded")
        assert parse_qs(answer.text)["scope"] == ["user,repo"]
        again = post(lab, github.endpoints["token"], data=form, headers={"Accept": "application/json"})
        assert (again.status_code, again.json()["error"]) == (200, "bad_verification_code")

    def test_answers_with_tokens_forbid_caching(
        self, lab: Lab, acme: Provider, application: Application
    ) -> None:
        answer = redeem(lab, acme, application, code_for(acme, application))
        assert answer.headers["Cache-Control"] == "no-store"


class TestAuthorize:
    @cases(
        "changes",
        [
            {"client_id": "nobody"},
            {"client_id": None},
            {"redirect_uri": None},
            {"redirect_uri": CALLBACK + "/"},
            {"redirect_uri": CALLBACK + "?x=1"},
            {"redirect_uri": CALLBACK.upper()},
            {"redirect_uri": "https://evil.example.com/callback"},
            {"redirect_uri": "javascript:alert(1)"},
        ],
    )
    def test_a_request_with_an_unregistered_redirect_is_not_redirected(
        self, lab: Lab, acme: Provider, application: Application, changes: dict[str, str | None]
    ) -> None:
        acme.consent("ann")
        answer = lab.browser().get(authorize_url(acme, application, **changes))
        assert answer.status_code == 400
        assert "Location" not in answer.headers
        assert "You were not sent back" in answer.text

    def test_another_applications_redirect_is_not_registered(self, lab: Lab, acme: Provider) -> None:
        one, two = acme.register(CALLBACK), acme.register("https://two.example.com/callback")
        answer = lab.browser().get(authorize_url(acme, one, redirect_uri=two.redirect))
        assert answer.status_code == 400

    @cases(
        ("changes", "error"),
        [
            ({"response_type": None}, "invalid_request"),
            ({"response_type": "token"}, "unsupported_response_type"),
            ({"response_type": "code token"}, "unsupported_response_type"),
            ({"response_type": "none"}, "unsupported_response_type"),
            ({"code_challenge": "x", "code_challenge_method": "S512"}, "invalid_request"),
        ],
    )
    def test_other_errors_are_in_the_redirect_with_the_state(
        self, lab: Lab, acme: Provider, application: Application, changes: dict[str, str | None], error: str
    ) -> None:
        acme.consent("ann")
        callback = callback_parameters(lab.browser().get(authorize_url(acme, application, **changes)))
        assert (callback["error"], callback["state"]) == (error, "s-1")
        assert "code" not in callback

    def test_a_parameter_given_twice_is_refused(
        self, lab: Lab, acme: Provider, application: Application
    ) -> None:
        url = authorize_url(acme, application) + "&redirect_uri=https%3A%2F%2Fevil.example.com%2F"
        assert lab.browser().get(url).status_code == 400

    def test_scopes_beyond_the_applications_are_refused(self, lab: Lab, acme: Provider) -> None:
        application = acme.register(CALLBACK, scopes=["profile"])
        acme.consent("ann")
        assert (
            callback_parameters(lab.browser().get(authorize_url(acme, application)))["error"]
            == "invalid_scope"
        )
        assert "code" in callback_parameters(
            acme.login(authorize_url(acme, application, scope="profile"), "ann")
        )

    @cases("state", ["a b&c=d", "ünï", "%25", "x" * 2000, "<script>"])
    def test_the_state_is_returned_unchanged(
        self, acme: Provider, application: Application, state: str
    ) -> None:
        assert (
            callback_parameters(acme.login(authorize_url(acme, application, state=state), "ann"))["state"]
            == state
        )
        answer = acme.login(authorize_url(acme, application, state=state), "ann", approve=False)
        assert callback_parameters(answer)["state"] == state

    def test_without_a_state_none_is_returned(self, acme: Provider, application: Application) -> None:
        assert set(callback_parameters(acme.login(authorize_url(acme, application, state=None), "ann"))) == {
            "code"
        }

    def test_a_person_may_deny(self, acme: Provider, application: Application) -> None:
        callback = callback_parameters(acme.login(authorize_url(acme, application), "ann", approve=False))
        assert (callback["error"], callback["state"]) == ("access_denied", "s-1")

    def test_the_query_of_a_redirect_is_kept(self, acme: Provider) -> None:
        application = acme.register(CALLBACK + "?tenant=1")
        assert callback_parameters(acme.login(authorize_url(acme, application), "ann"))["tenant"] == "1"


class TestToken:
    @cases(
        ("changes", "status", "error"),
        [
            ({"client_id": "nobody"}, 401, "invalid_client"),
            ({"client_id": None, "client_secret": None}, 401, "invalid_client"),
            ({"client_secret": "wrong"}, 401, "invalid_client"),
            ({"client_secret": None}, 401, "invalid_client"),
            ({"client_secret": ""}, 401, "invalid_client"),
            ({"code": "unknown"}, 400, "invalid_grant"),
            ({"code": None}, 400, "invalid_request"),
            ({"redirect_uri": None}, 400, "invalid_request"),
            ({"redirect_uri": CALLBACK + "/"}, 400, "invalid_grant"),
            ({"grant_type": "password"}, 400, "unsupported_grant_type"),
            ({"grant_type": None}, 400, "unsupported_grant_type"),
        ],
    )
    def test_an_invalid_request_is_refused_and_does_not_use_the_code(
        self,
        lab: Lab,
        acme: Provider,
        application: Application,
        changes: dict[str, str | None],
        status: int,
        error: str,
    ) -> None:
        code = code_for(acme, application)
        answer = redeem(lab, acme, application, code, **changes)
        assert (answer.status_code, answer.json()["error"]) == (status, error)
        assert ("WWW-Authenticate" in answer.headers) == (status == 401)
        assert redeem(lab, acme, application, code).status_code == 200

    def test_another_clients_code_is_refused(
        self, lab: Lab, acme: Provider, application: Application
    ) -> None:
        thief = acme.register(CALLBACK)
        code = code_for(acme, application)
        assert redeem(lab, acme, thief, code).json()["error"] == "invalid_grant"
        assert redeem(lab, acme, application, code).status_code == 200

    def test_a_code_used_twice_revokes_its_tokens(
        self, lab: Lab, acme: Provider, application: Application
    ) -> None:
        code = code_for(acme, application)
        given = redeem(lab, acme, application, code).json()
        assert userinfo(lab, acme, given["access_token"]).status_code == 200
        assert redeem(lab, acme, application, code).json()["error"] == "invalid_grant"
        assert userinfo(lab, acme, given["access_token"]).status_code == 401
        refresh = {"grant_type": "refresh_token", "refresh_token": given["refresh_token"]}
        assert redeem(lab, acme, application, code, **refresh).json()["error"] == "invalid_grant"

    def test_a_proof_key_must_match(self, lab: Lab, acme: Provider, application: Application) -> None:
        # The pair of RFC 7636, appendix B.
        verifier, challenge = (
            "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        )
        challenged = {"code_challenge": challenge, "code_challenge_method": "S256"}
        code = code_for(acme, application, **challenged)
        assert redeem(lab, acme, application, code).json()["error"] == "invalid_request"
        assert redeem(lab, acme, application, code, code_verifier="x" * 43).json()["error"] == "invalid_grant"
        assert redeem(lab, acme, application, code, code_verifier=verifier).status_code == 200

    def test_a_client_authenticates_in_one_way_only(
        self, lab: Lab, acme: Provider, application: Application
    ) -> None:
        form = {
            "grant_type": "authorization_code",
            "code": code_for(acme, application),
            "redirect_uri": CALLBACK,
        }
        right = (application.client_id, application.client_secret)
        url = acme.endpoints["token"]

        def answer(auth: tuple[str, str], **more: str) -> tuple[int, str]:
            got = post(lab, url, data={**form, **more}, auth=auth)
            return got.status_code, got.json().get("error", "")

        assert answer((application.client_id, "wrong")) == (401, "invalid_client")
        assert answer(right, client_secret=application.client_secret) == (400, "invalid_request")
        assert answer(right, client_id="another") == (401, "invalid_client")
        assert answer(right) == (200, "")

    @cases("header", ["Basic", "Basic !!", "Basic bm9jb2xvbg==", "Bearer x", "Basic 77+9/w=="])
    def test_a_malformed_authorization_is_refused(
        self, lab: Lab, acme: Provider, application: Application, header: str | bytes
    ) -> None:
        form = {"grant_type": "authorization_code", "code": "x", "redirect_uri": CALLBACK}
        answer = post(lab, acme.endpoints["token"], data=form, headers={"Authorization": header})
        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")

    def test_parameters_in_the_url_and_other_methods_are_refused(
        self, lab: Lab, acme: Provider, application: Application
    ) -> None:
        url = acme.endpoints["token"]
        assert post(lab, f"{url}?grant_type=authorization_code").json()["error"] == "invalid_request"
        answer = lab.browser().get(url)
        assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
        assert lab.browser().get(acme.url("/nothing")).status_code == 404

    def test_a_refresh_token_belongs_to_one_client_and_adds_no_scope(
        self, lab: Lab, acme: Provider, application: Application
    ) -> None:
        given = redeem(lab, acme, application, code_for(acme, application, scope="profile")).json()
        ask = {"grant_type": "refresh_token", "refresh_token": given["refresh_token"], "code": None}
        thief = acme.register(CALLBACK)
        assert redeem(lab, acme, thief, "", **ask).json()["error"] == "invalid_grant"
        more = redeem(lab, acme, application, "", **ask, scope="profile email")
        assert more.json()["error"] == "invalid_scope"
        assert redeem(lab, acme, application, "", **ask).json()["scope"] == "profile"


class TestUserInfo:
    def test_without_a_token_the_answer_names_the_scheme(self, lab: Lab, acme: Provider) -> None:
        answer = lab.browser().get(acme.endpoints["userinfo"])
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, 'Bearer realm="acme"')

    @cases("header", ["Bearer wrong", "Bearer", "bearer a b", "Basic YTpi"])
    def test_a_wrong_token_is_refused(self, lab: Lab, acme: Provider, header: str) -> None:
        answer = lab.browser().get(acme.endpoints["userinfo"], headers={"Authorization": header})
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"].startswith('Bearer realm="acme"')

    def test_another_providers_token_is_refused(
        self, lab: Lab, acme: Provider, application: Application
    ) -> None:
        token = redeem(lab, acme, application, code_for(acme, application)).json()["access_token"]
        assert userinfo(lab, lab.provider("google"), token).status_code == 401
        assert userinfo(lab, acme, token).json()["id"] == "ann"


class TestLifetimes:
    """Lifetimes in lab time: credentials expire at their last second."""

    def test_lifetimes_of_a_code_and_an_access_token(self) -> None:
        with Lab(seed=7) as lab:
            acme = lab.provider("acme", people=[ANN])
            application = acme.register(CALLBACK)
            for wait, status in [(599, 200), (600, 400), (601, 400)]:
                code = code_for(acme, application)
                lab.clock.advance(seconds=wait)
                assert redeem(lab, acme, application, code).status_code == status, wait
            google = lab.provider("google", people=[ANN])
            application = google.register(CALLBACK)
            token = redeem(lab, google, application, code_for(google, application)).json()
            lab.clock.advance(seconds=token["expires_in"] - 1)
            assert userinfo(lab, google, token["access_token"]).status_code == 200
            lab.clock.advance(seconds=1)
            answer = userinfo(lab, google, token["access_token"])
            assert answer.status_code == 401
            assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]


def test_clients_verify_the_labs_ca(lab: Lab, acme: Provider, tmp_path: Path) -> None:
    session = connected_to_lab(requests.Session(), lab, tmp_path)
    session.verify = True
    with pytest.raises(requests.exceptions.SSLError):
        session.get(acme.url("/"))
