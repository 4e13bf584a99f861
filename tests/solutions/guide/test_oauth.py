"""The solution of the guides as an OAuth provider: consent page, codes, and the token endpoint."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest

from tests.cases import cases
from tests.solutions.guide.visitors import Guide, Person, Visitor

REDIRECT = "https://client.example/back"
ACCESS_LIFETIME = 1_296_000  # seconds


@pytest.fixture(scope="module")
def bob(guide: Guide) -> Person:
    """A user who approves; a test that moves the clock creates another one."""
    return guide.member()


@dataclass
class App:
    """Client of the solution, owned by one of its users."""

    guide: Guide
    id: int
    secret: str
    redirect: str

    def query(self, **other: str) -> str:
        request = {"client_id": str(self.id), "redirect_uri": self.redirect, "response_type": "code"}
        return urlencode(request | other)

    def code(self, person: Person, **other: str) -> str:
        """Return the code of a person's approval."""
        approved = approve(person, f"/oauth/authorize?{self.query(**other)}")
        assert approved.status_code == 303, approved.text
        return parse_qs(urlsplit(approved.headers["Location"]).query)["code"][0]

    def tokens(self, **fields: object) -> httpx.Response:
        """Request the token endpoint."""
        given = {"client_id": self.id, "client_secret": self.secret, **fields}
        return self.guide.solution.post("/oauth/token", data=given)

    def exchange(self, code: str, **fields: object) -> httpx.Response:
        """Exchange a code."""
        return self.tokens(grant_type="authorization_code", code=code, redirect_uri=self.redirect, **fields)


def app(guide: Guide, redirect: str = REDIRECT) -> App:
    (owner,) = guide.solution.User.listUsers(limit=1)
    made = guide.solution.User.createOauthClient(id=owner["id"], name="App", redirect=redirect)
    return App(guide, made["id"], made["secret"], redirect)


def approve(person: Visitor, path: str) -> httpx.Response:
    """Open the page and press its button."""
    assert person.get(path).status_code == 200
    form = person.browser.forms[0]
    return person.browser.post(form.action, data=form.fields, follow=False)


def refused(answer: httpx.Response, status: int, error: str) -> None:
    """Assert an error answer of RFC 6749, section 5.2."""
    assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert answer.json()["error_description"]
    assert answer.headers["Cache-Control"] == "no-store"


class TestAuthorize:
    def test_the_code_is_appended_to_the_redirect_uri(self, guide: Guide, bob: Person) -> None:
        client = app(guide)
        answer = approve(bob, f"/oauth/authorize?{client.query()}")
        assert answer.status_code == 303
        assert re.fullmatch(re.escape(REDIRECT) + r"\?code=[^&]+", answer.headers["Location"])

    def test_the_state_is_returned_unchanged(self, guide: Guide, bob: Person) -> None:
        client = app(guide, f"{REDIRECT}?tenant=7")
        state = "a b&code=évil#%"
        answer = approve(bob, f"/oauth/authorize?{client.query(state=state)}")
        query = parse_qs(urlsplit(answer.headers["Location"]).query)
        assert (query["tenant"], query["state"], len(query["code"])) == (["7"], [state], 1)

    def test_the_page_shows_the_request_and_is_escaped(self, guide: Guide, bob: Person) -> None:
        client = app(guide)
        answer = bob.get(f"/oauth/authorize?{client.query(scope='<script>alert(1)</script>')}")
        assert "<script>" not in answer.text
        assert "&lt;script&gt;alert(1)" in answer.text
        assert all(text in answer.text for text in (bob.email, f"Client {client.id} ", REDIRECT))
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["Cache-Control"] == "no-store"
        assert not re.search(r"(src|href)=", answer.text)

    def test_without_a_login_the_page_redirects_to_it(self, guide: Guide) -> None:
        assert guide.visitor().get(f"/oauth/authorize?{app(guide).query()}").status_code == 401
        answer = guide.visitor().browser.post(guide.url("/oauth/authorize"), data={"asked": "x"})
        assert answer.status_code == 401

    @cases("dropped", ["client_id", "redirect_uri", "response_type"])
    def test_a_request_must_be_complete_and_unambiguous(
        self, guide: Guide, bob: Person, dropped: str
    ) -> None:
        pairs = dict(part.split("=") for part in app(guide).query().split("&"))
        twice = "&".join(f"{name}={value}" for name, value in [*pairs.items(), (dropped, "x")])
        once = "&".join(f"{name}={value}" for name, value in pairs.items() if name != dropped)
        for query in (twice, once):
            assert bob.get(f"/oauth/authorize?{query}").status_code == 400

    @cases("other", [{"redirect_uri": f"{REDIRECT}/"}, {"response_type": "token"}, {"client_id": "9999"}])
    def test_an_invalid_request_is_not_redirected(
        self, guide: Guide, bob: Person, other: dict[str, str]
    ) -> None:
        answer = approve(bob, f"/oauth/authorize?{app(guide).query(**other)}")
        assert 400 <= answer.status_code < 500
        assert "Location" not in answer.headers

    def test_another_users_form_cannot_approve(self, guide: Guide) -> None:
        attacker, victim, client = guide.member(), guide.member(), app(guide)
        attacker.get(f"/oauth/authorize?{client.query()}")
        fields = attacker.browser.forms[0].fields
        for forged in (fields, {"asked": "nonsense"}, dict(parse_pairs(client.query())), {}):
            answer = victim.browser.post(guide.url("/oauth/authorize"), data=forged, follow=False)
            assert (answer.status_code, "Location" in answer.headers) == (400, False)

    def test_the_redirect_path_of_the_platform_leads_to_the_page(self, guide: Guide, bob: Person) -> None:
        client = app(guide)
        path = guide.solution.User.getOauthClientRedirectPath(client_id=client.id)
        page = bob.browser.get(guide.url(path))
        assert (page.status_code, page.url.path) == (200, "/oauth/authorize")
        assert bob.browser.forms[0].fields["asked"]
        assert guide.visitor().get("/authorize_approved?client_id=1").status_code == 400


class TestToken:
    def test_returns_a_token_set_for_a_code(self, guide: Guide, bob: Person) -> None:
        client = app(guide)
        answer = client.exchange(client.code(bob))
        assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
        tokens = answer.json()
        assert set(tokens) == {"expires_in", "token_type", "access_token", "refresh_token"}
        assert (tokens["expires_in"], tokens["token_type"]) == (ACCESS_LIFETIME, "Bearer")
        assert bob.id == guide.solution.User.getCurrentUser(token=tokens["access_token"])["id"]

    def test_accepts_json_too(self, guide: Guide, bob: Person) -> None:
        client = app(guide)
        fields = {"grant_type": "authorization_code", "code": client.code(bob)}
        given = {**fields, "client_id": client.id, "client_secret": client.secret, "redirect_uri": REDIRECT}
        assert guide.solution.post("/oauth/token", json=given).status_code == 200

    def test_a_refresh_token_returns_the_next_set(self, guide: Guide, bob: Person) -> None:
        client = app(guide)
        first = client.exchange(client.code(bob)).json()
        second = client.tokens(grant_type="refresh_token", refresh_token=first["refresh_token"])
        assert second.status_code == 200
        again = client.tokens(grant_type="refresh_token", refresh_token=first["refresh_token"])
        refused(again, 400, "invalid_grant")

    def test_refusals_follow_rfc_6749(self, guide: Guide, bob: Person) -> None:
        client = app(guide)
        code = client.code(bob)
        refused(client.exchange(code, client_secret="wrong"), 401, "invalid_client")
        refused(client.tokens(grant_type="password"), 400, "unsupported_grant_type")
        refused(client.tokens(grant_type="refresh_token", refresh_token="nonsense"), 400, "invalid_grant")
        refused(guide.solution.post("/oauth/token", content=b""), 400, "invalid_request")
        refused(
            guide.solution.post("/oauth/token", content=b"x", headers={"Content-Type": "text/plain"}),
            400,
            "invalid_request",
        )

    def test_a_code_is_valid_once(self, guide: Guide, bob: Person) -> None:
        client = app(guide)
        code = client.code(bob)
        tokens = client.exchange(code).json()
        refused(client.exchange(code), 400, "invalid_grant")
        again = client.tokens(grant_type="refresh_token", refresh_token=tokens["refresh_token"])
        refused(again, 400, "invalid_grant")


def parse_pairs(query: str) -> list[tuple[str, str]]:
    return [(name, values[0]) for name, values in parse_qs(query).items()]
