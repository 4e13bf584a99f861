"""Logging in with an identity provider: the OAuth 2 and the OAuth 1 endpoints, by a browser."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from labkit.lab.provider import Provider
from tests.cases import cases
from tests.solutions.guide.visitors import Guide, cookie, refused

SCOPES = {"google": ["profile", "email"], "github": ["user"]}


@pytest.fixture(scope="module")
def providers(guide: Guide) -> dict[str, Provider]:
    """Set up as document 2 says: an application registered at each provider, and its social."""
    found = {}
    for name in ("google", "github", "twitter"):
        found[name] = provider = guide.lab.provider(name)
        path = f"/social/{name}/handle" if name == "twitter" else f"/social/handle/{name}"
        app = provider.register(guide.url(path))
        provider.people.add("ann", name="Ann Lee", email="ann@example.org")
        scope = {"scope": SCOPES[name]} if name in SCOPES else {}  # none for OAuth 1
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
    def test_the_login_url_is_the_providers(self, guide: Guide, providers: dict[str, Provider]) -> None:
        answer = guide.visitor().get("/social/handle/google/loginurl")
        assert answer.status_code == 303
        url = urlsplit(answer.headers["Location"])
        assert url.hostname == providers["google"].domain
        query = parse_qs(url.query)
        assert query["redirect_uri"] == [guide.url("/social/handle/google")]
        assert query["scope"] == ["profile email"]
        assert query["state"]

    @pytest.mark.parametrize("name", ["google", "github"])
    def test_a_login_ends_at_what_the_provider_tells(
        self, guide: Guide, providers: dict[str, Provider], name: str
    ) -> None:
        answer = providers[name].login(guide.url(f"/social/handle/{name}/loginurl"), as_="ann")
        assert (answer.status_code, answer.url.path) == (200, f"/social/handle/{name}")
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert (answer.json()["name"], answer.json()["email"]) == ("Ann Lee", "ann@example.org")

    def test_who_says_no_is_told_so(self, guide: Guide, providers: dict[str, Provider]) -> None:
        url = guide.url("/social/handle/google/loginurl")
        refused(providers["google"].login(url, as_="ann", approve=False), 400, "denied")

    def test_a_callback_is_good_once(self, guide: Guide, providers: dict[str, Provider]) -> None:
        answer = providers["google"].login(guide.url("/social/handle/google/loginurl"), as_="ann")
        assert answer.status_code == 200
        refused(guide.visitor().get(f"{answer.url.path}?{answer.url.query.decode()}"), 400)

    def test_a_provider_that_is_down_is_told(self, guide: Guide, providers: dict[str, Provider]) -> None:
        providers["google"].fault("down", "token")
        answer = providers["google"].login(guide.url("/social/handle/google/loginurl"), as_="ann")
        refused(answer, 500, "inaccessible")

    @cases("path", ["/social/handle/{}/loginurl", "/social/handle/{}?code=x", "/{}/login"])
    def test_an_unknown_consumer_is_404(self, guide: Guide, path: str) -> None:
        refused(guide.visitor().get(path.format("unheard-of")), 404)

    def test_a_callback_without_anything_is_400(self, guide: Guide, providers: dict[str, Provider]) -> None:
        refused(guide.visitor().get("/social/handle/google"), 400)
        query = "consumer=twitter&consumer=github&code=x&state=y&access_token=z"
        refused(guide.visitor().get(f"/social/handle/google?{query}"), 400)


class TestOAuth1:
    def test_the_login_keeps_a_request_token_and_leads_to_the_provider(
        self, guide: Guide, providers: dict[str, Provider]
    ) -> None:
        answer = guide.visitor().get("/twitter/login")
        assert answer.status_code == 303
        url = urlsplit(answer.headers["Location"])
        assert url.hostname == providers["twitter"].domain
        (token,) = parse_qs(url.query)["oauth_token"]
        (header,) = answer.headers.get_list("Set-Cookie")
        assert header.startswith(f"token={token}; Path=/social/twitter; ")
        assert re.fullmatch("[A-Za-z0-9]+", token)
        assert set(cookie(answer)[1]) == {"path", "httponly", "secure", "samesite"}

    def test_a_login_ends_at_what_the_provider_tells(
        self, guide: Guide, providers: dict[str, Provider]
    ) -> None:
        browser = guide.lab.browser()
        answer = providers["twitter"].login(guide.url("/twitter/login"), as_="ann", browser=browser)
        assert (answer.status_code, answer.url.path) == (200, "/social/twitter/handle")
        assert (answer.json()["name"], answer.json()["screen_name"]) == ("Ann Lee", "ann")

    def test_who_says_no_is_told_so(self, guide: Guide, providers: dict[str, Provider]) -> None:
        answer = providers["twitter"].login(guide.url("/twitter/login"), as_="ann", approve=False)
        refused(answer, 400)

    def test_another_browser_cannot_end_the_login(self, guide: Guide, providers: dict[str, Provider]) -> None:
        stranger = guide.lab.browser()
        stranger.get(guide.url("/twitter/login"))
        answer = stranger.submit("authorize", person="ann", decision="approve")
        callback = f"{answer.url.path}?{answer.url.query.decode()}"
        token = parse_qs(answer.url.query.decode())["oauth_token"][0]
        victim = guide.visitor()
        refused(victim.get(callback), 400, "cookie token is missing")
        refused(victim.get(f"{callback}&reqToken={token}"), 400, "cookie token is missing")
        assert victim.get("/twitter/login").status_code == 303
        refused(victim.get(callback), 400)

    def test_only_providers_of_oauth_1_have_it(self, guide: Guide, providers: dict[str, Provider]) -> None:
        answer = guide.visitor().get("/google/login")
        refused(answer, 404, "not a provider of OAuth 1")
        assert "Set-Cookie" not in answer.headers

    def test_its_login_begins_nowhere_else(self, guide: Guide, providers: dict[str, Provider]) -> None:
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
