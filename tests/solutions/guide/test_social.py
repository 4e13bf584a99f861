"""Logins with identity providers: the OAuth 2 and OAuth 1 endpoints, in a browser."""

from __future__ import annotations

import pytest

from labkit import LabWarning
from labkit.lab.provider import Provider
from tests.cases import cases
from tests.solutions.guide.visitors import Guide, refused

SCOPES = {"google": ["profile", "email"], "github": ["user"]}


@pytest.fixture(scope="module")
def providers(guide: Guide) -> dict[str, Provider]:
    """Providers set up as in document 2: a registered application at each, and its social."""
    found = {}
    for name in ("google", "github", "twitter"):
        found[name] = provider = guide.lab.provider(name)
        path = f"/social/{name}/handle" if name == "twitter" else f"/social/handle/{name}"
        app = provider.register(guide.url(path))
        provider.people.add("ann", name="Ann Lee", email="ann@example.org")
        scope = {"scope": SCOPES[name]} if name in SCOPES else {}  # no scopes for OAuth 1
        made = guide.solution.User.createSocial(
            consumer=name,
            redirect=guide.url(path),
            client_id=app.client_id,
            client_secret=app.client_secret,
            **scope,
        )
        assert "error" not in made, made
    return found


class TestOAuth2:
    def test_a_login_with_a_consent_page(self, guide: Guide, providers: dict[str, Provider]) -> None:
        answer = providers["github"].login(guide.url("/social/handle/github/loginurl"), as_="ann")
        assert (answer.status_code, answer.url.path) == (200, "/social/handle/github")
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert (answer.json()["name"], answer.json()["email"]) == ("Ann Lee", "ann@example.org")

    def test_a_denial_is_reported(self, guide: Guide, providers: dict[str, Provider]) -> None:
        url = guide.url("/social/handle/google/loginurl")
        refused(providers["google"].login(url, as_="ann", approve=False), 400, "denied")

    def test_a_callback_is_valid_once(self, guide: Guide, providers: dict[str, Provider]) -> None:
        answer = providers["google"].login(guide.url("/social/handle/google/loginurl"), as_="ann")
        assert answer.status_code == 200
        refused(guide.visitor().get(f"{answer.url.path}?{answer.url.query.decode()}"), 400)

    def test_a_provider_that_is_down_is_reported(self, guide: Guide, providers: dict[str, Provider]) -> None:
        providers["google"].fault("down", "token")
        answer = providers["google"].login(guide.url("/social/handle/google/loginurl"), as_="ann")
        refused(answer, 502, "does not answer")

    @cases("path", ["/social/handle/{}/loginurl", "/social/handle/{}?code=x", "/{}/login"])
    def test_an_unknown_consumer_is_404(self, guide: Guide, path: str) -> None:
        refused(guide.visitor().get(path.format("unheard-of")), 404)

    def test_a_callback_without_parameters_is_400(self, guide: Guide, providers: dict[str, Provider]) -> None:
        refused(guide.visitor().get("/social/handle/google"), 400)
        query = "consumer=twitter&consumer=github&code=x&state=y&access_token=z"
        with pytest.warns(LabWarning, match="access_token is not a parameter of getSocialToken"):
            refused(guide.visitor().get(f"/social/handle/google?{query}"), 400)


class TestOAuth1:
    def test_a_denial_is_reported(self, guide: Guide, providers: dict[str, Provider]) -> None:
        answer = providers["twitter"].login(guide.url("/twitter/login"), as_="ann", approve=False)
        refused(answer, 400)

    def test_only_providers_of_oauth_1_have_it(self, guide: Guide, providers: dict[str, Provider]) -> None:
        answer = guide.visitor().get("/google/login")
        refused(answer, 404, "not a provider of OAuth 1")
        assert "Set-Cookie" not in answer.headers

    def test_its_login_begins_only_at_its_own_endpoint(
        self, guide: Guide, providers: dict[str, Provider]
    ) -> None:
        answer = guide.visitor().get("/social/handle/twitter/loginurl")
        refused(answer, 404, "begin at /<consumer>/login")
        assert "Location" not in answer.headers


def test_no_record_shows_a_secret(guide: Guide, providers: dict[str, Provider]) -> None:
    providers["google"].login(guide.url("/social/handle/google/loginurl"), as_="ann")
    providers["twitter"].login(guide.url("/twitter/login"), as_="ann")
    shown = guide.lab.journal.canonical()
    for name, provider in providers.items():
        (app,) = provider.applications
        assert str(guide.solution.User.getSocial(consumer=name)["client_secret"]) not in shown, app.title
