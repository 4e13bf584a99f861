"""The example scripts in `naive`, written literally from document 2's tables: they run unchanged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from labkit import Lab
from labkit.lab.browser import Browser
from labkit.lab.solution import Solution

PASSWORD = "sample1"
EMAIL = "ann@example.com"
CALLBACK = "https://shop.example/callback"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(seed=7, passwords={"memory": 8, "passes": 1}) as lab:
        lab.solution("naive", path=Path(__file__).parent / "naive")
        yield lab


@pytest.fixture(scope="module")
def naive(lab: Lab) -> Solution:
    """The solution, with its roles and one active user."""
    solution = lab.solution("naive")
    for _ in range(2):  # it may run again
        assert solution.get("/_init").text == "1ownerinfoUserId 2guestinfoUserId "
    solution.post("/set-up")
    assert sign_up(solution).text == "Sent"
    [mail] = lab.mailbox.find(to=EMAIL)
    assert mail.links[0].startswith(solution.url("/api/verify/"))
    assert mail.sender == f"Sample App <mail@{solution.domain}>"
    answer = solution.get(urlsplit(mail.links[0]).path)
    assert (answer.status_code, answer.text) == (200, "Activated.")
    return solution


@pytest.fixture
def browser(lab: Lab, naive: Solution) -> Browser:
    """Ann's browser, in which she is logged in."""
    browser = lab.browser()
    answer = log_in(browser, naive)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/api/session/user")
    return browser


def sign_up(solution: Solution, **given: str) -> httpx.Response:
    body = {"email": EMAIL, "name": "Ann", "password": PASSWORD, **given}
    return solution.post("/api/user/signup", json=body)


def log_in(browser: Browser, solution: Solution, password: str = PASSWORD) -> httpx.Response:
    body = {"email": EMAIL, "password": password}
    return browser.post(solution.url("/api/session/login"), json=body, follow=False)


def json_of(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()


class TestAccounts:
    def test_a_failed_signup_returns_status_and_message_in_json(self, naive: Solution) -> None:
        for given, message in (
            ({}, f"Email {EMAIL} is already taken."),
            ({"email": "ann"}, "Parameter email validation failed"),
        ):
            answer = sign_up(naive, **given)
            assert answer.status_code == 400
            assert json.loads(answer.text)["message"].startswith(message)

    def test_an_invalid_code_has_its_message(self, naive: Solution) -> None:
        answer = naive.get("/api/verify/x")
        assert answer.status_code == 401
        assert answer.text.startswith("Not activated: Activation code")

    def test_a_failed_login_is_401_without_a_reason(self, lab: Lab, naive: Solution) -> None:
        answer = log_in(lab.browser(), naive, "wrong password")
        assert answer.status_code == 401
        assert "wrong" in json.loads(answer.text.removeprefix("Login failed: "))["message"]

    def test_the_session_belongs_to_the_user(self, naive: Solution, browser: Browser) -> None:
        answer = browser.get(naive.url("/api/session/user"))
        user = json_of(answer)
        assert answer.headers["Cache-Control"] == "no-cache"
        assert (user["id"], user["email"], user["name"], user["status"]) == (1, EMAIL, "Ann", 1)
        assert isinstance(user["creation_date"], int)
        assert browser.get(naive.url("/api/session/status")).text == f"{EMAIL} has status 1"

    def test_an_invalid_session_is_refused(self, lab: Lab, naive: Solution) -> None:
        for cookie in ("sid=x", "other=1; sid=a.b.c"):
            browser = lab.browser()
            assert browser.get(naive.url("/api/session/user"), headers={"Cookie": cookie}).status_code == 400
            status = browser.get(naive.url("/api/session/status"), headers={"Cookie": cookie})
            assert json_of(status, 401)["status"] == 401

    def test_a_new_password_with_a_token_in_the_keystore(self, lab: Lab, naive: Solution) -> None:
        assert naive.post("/api/forgotten", json={}).status_code == 400
        assert naive.post("/api/forgotten", json={"email": "bob"}).status_code == 404
        token = naive.post("/api/forgotten", json={"email": EMAIL}).text
        reset = {"resetToken": token, "password": "short"}
        refused = naive.post("/api/resetPassword", json=reset)
        assert (refused.status_code, "password" in refused.text) == (400, True)
        reset["password"] = "sample2"
        user = json_of(naive.post("/api/resetPassword", json=reset))
        assert set(user) == {"id", "email", "name", "creation_date"}
        assert naive.post("/api/resetPassword", json=reset).status_code == 400
        assert log_in(lab.browser(), naive).status_code == 401
        assert log_in(lab.browser(), naive, "sample2").status_code == 303
        naive.User.resetUserPassword(id=1, password=PASSWORD)

    def test_a_handler_receives_account_events(self, lab: Lab, naive: Solution) -> None:
        code = naive.User.createUser(email="bob@example.com", name="Bob", password=PASSWORD)
        naive.User.activateUser(code=code)
        id = naive.User.listUsers(filter="email::eq::bob@example.com")[0]["id"]
        naive.User.deleteUser(id=id)
        lab.clock.advance(seconds=1)
        listed = naive.Keystore.command(key="accounts", command="lrange", args=[0, -1])["value"]
        bobs = [each for each in listed if "bob@" in each]
        assert bobs == [f"{type} {id} bob@example.com naive" for type in ("CREATE", "UPDATE", "DELETE")]


class TestRoles:
    def test_visible_fields_of_a_user(self, lab: Lab, naive: Solution, browser: Browser) -> None:
        def seen(who: Browser, email: str = EMAIL) -> httpx.Response:
            return who.get(naive.url(f"/api/user/info/{email}"))

        visitor = lab.browser()
        assert [seen(visitor).text, seen(visitor, "bob@example.com").text] == ["taken", "available"]
        assert seen(browser, "bob@example.com").status_code == 404
        assert json_of(seen(browser)) == {"email": EMAIL}
        given = {"parameters": [{"name": "infoUserId", "value": 1}]}  # a number, as the script returns it
        naive.User.assignUser(id=1, roles=[{"role_id": "guest", **given}])
        assert set(json_of(seen(browser))) == {"email", "creation_date"}
        naive.User.assignUser(id=1, roles=[{"role_id": "owner", **given}])
        user = json_of(seen(browser))
        assert set(user) == {"id", "name", "email", "status", "creation_date", "roles"}
        held = [{"name": "infoUserId", "value": "1"}]
        assert user["roles"] == [{"role_id": role, "parameters": held} for role in ("guest", "owner")]
        for role in ("guest", "owner"):
            naive.User.deassignUser(id=1, role_id=role)

    def test_access_follows_the_assigned_value(self, naive: Solution, browser: Browser) -> None:
        def state(sn: str) -> str:
            return browser.get(naive.url(f"/lamp/{sn}/state")).text

        denied = "Permission denied"
        assert state("17") == denied
        assert naive.post("/keepers", json={"id": 1, "sn": 17}).text == "keeper.sn=17 "
        assert [state("17"), state("18")] == ["on", denied]
        left = json_of(naive.delete("/keepers", params={"id": "1", "sn": "17"}))
        assert left == [{"role_id": "keeper", "parameters": []}]
        assert state("17") == denied
        refused = naive.post("/keepers", json={"id": 1, "sn": "1-7"})
        assert (refused.status_code, "roles" in refused.text) == (400, True)

    def test_no_request_parameter_gives_access_or_an_error(self, naive: Solution, browser: Browser) -> None:
        naive.post("/keepers", json={"id": 1, "sn": "17"})

        def state(sn: str, query: str = "") -> httpx.Response:
            return browser.get(naive.url(f"/lamp/{sn}/state?{query}"))

        for sn in ("1-7", "1::7", "17::17", "%20", "*", "17%0A", "1" * 101):
            assert state(sn).status_code == 403, sn
        for query in ("SN=18", "sN=a-b", "Sn=17&sN="):
            assert state("17", query).status_code == 403, query
        for query in ("", "SN=17", "zone=a-b", "z-1=2", "=2", "%C3%A9=2", "a=1&a=2", "sn=18"):
            assert state("17", query).text == "on", query
        naive.delete("/keepers", params={"id": "1", "sn": "17"})

    def test_results_without_entries_are_empty_lists(self, naive: Solution) -> None:
        naive.User.createUser(email="cid@example.com", name="Cid", password=PASSWORD)
        id = naive.User.listUsers(filter="email::like::cid@")[0]["id"]
        found = json_of(naive.get(f"/nobody/{id}"))
        assert [found[name] for name in ("text", "first", "length", "nothing")] == ["[]", "nil", 0, "nil"]
        assert found["lists"] == [[]] * 5
        assert found["page"] == {"items": [], "total": 0}


class TestOauth:
    def test_a_client_gets_from_the_redirect_path_to_the_user(
        self, naive: Solution, browser: Browser
    ) -> None:
        client = json_of(naive.post("/clients", json={"id": "1", "redirect": CALLBACK}))
        path = naive.get(f"/clients/{client['id']}").text
        back = browser.get(naive.url(path), follow=False)
        assert back.status_code == 303, back.text
        assert back.headers["Location"].startswith(f"{CALLBACK}?code=")
        [code] = parse_qs(urlsplit(back.headers["Location"]).query)["code"]
        mine = {"client_id": str(client["id"]), "client_secret": client["secret"]}
        grant = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK}
        first = json_of(naive.post("/token", data={**mine, **grant, "access_token_ttl": "5"}))
        assert (first["expires_in"], first["token_type"]) == (1_296_000, "Bearer")
        refresh = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
        second = json_of(naive.post("/token", data={**mine, **refresh}))
        bearer = {"Authorization": f"Bearer {second['access_token']}"}
        assert naive.get("/me", headers=bearer).json() == 1
        bearer = {"Authorization": f"Bearer {first['access_token']}"}
        assert json_of(naive.get("/me", headers=bearer), 401)["type"] == "QueryError"
        assert json_of(naive.post("/token", data={**mine, **refresh}), 400) == {"error": "invalid_grant"}

    def test_without_a_login_there_is_no_approval(self, lab: Lab, naive: Solution) -> None:
        client = json_of(naive.post("/clients", json={"id": 1, "redirect": CALLBACK}))
        path = naive.get(f"/clients/{client['id']}").text
        answer = lab.browser().get(naive.url(path), headers={"Cookie": "sid=x"})
        assert (answer.status_code, answer.text) == (401, "The token is not valid, or not any more.")


class TestSocial:
    @pytest.mark.parametrize(
        ("consumer", "begin", "back"),
        [
            ("google", "/social/handle/google/loginurl", "/social/handle/google"),
            ("twitter", "/twitter/login", "/social/twitter/handle"),
        ],
    )
    def test_a_login_ends_with_the_providers_user_information(
        self, lab: Lab, naive: Solution, consumer: str, begin: str, back: str
    ) -> None:
        provider = lab.provider(consumer)
        provider.people.add("ann", name="Ann Lee", email=EMAIL)
        app = provider.register(naive.url(back))
        scope = {"scope": ["profile"]} if consumer == "google" else {}
        social = {"redirect": naive.url(back), "client_id": app.client_id, "client_secret": app.client_secret}
        assert naive.User.createSocial(consumer=consumer, **scope, **social)["consumer"] == consumer
        answer = provider.login(naive.url(begin), as_="ann")
        assert (answer.status_code, answer.url.path) == (200, back)
        assert json.loads(answer.text)["name"] == "Ann Lee"
        naive.User.deleteSocial(consumer=consumer)
