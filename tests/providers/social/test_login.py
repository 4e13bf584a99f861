"""Whole logins: a solution's own handlers, the platform as the client, and a provider of the lab."""

from __future__ import annotations

import json
from typing import Any

import pytest

from labkit import Lab
from labkit.lab.provider import Provider
from labkit.lab.solution import Solution
from tests.providers.social.place import ANN, BO

# What the guides' handlers do (document 2, Solution endpoints in the guides).
LOGIN_URL = """
response.code = 303
response.headers["Location"] = User.getSocialLoginUrl({consumer = request.parameters.consumer})
"""
HANDLE = """
local token = User.getSocialToken(request.parameters)
if type(token) == "table" then response.code = token.status return token end
return User.socialRequest({consumer = request.parameters.consumer, token = token})
"""
LOGIN_1 = """
local token = User.getSocialLoginUrl({consumer = "twitter"})
response.code = 303
response.headers["Set-Cookie"] = "token=" .. token .. "; Path=/social/twitter"
response.headers["Location"] = User.getSocialLoginUrl({consumer = "twitter", reqToken = token})
"""
HANDLE_1 = """
local parameters = request.parameters
parameters.consumer = "twitter"
parameters.reqToken = string.match(request.headers.cookie or "", "token=([%w]+)")
local token = User.getSocialToken(parameters)
if type(token) == "table" then response.code = token.status return token end
return User.socialRequest({consumer = "twitter", token = token})
"""


@pytest.fixture(scope="module")
def solution(shared: Lab) -> Solution:
    return with_handlers(shared)


def with_handlers(lab: Lab) -> Solution:
    """The solution of the guides, as far as it is about social login."""
    solution = lab.solution("metrics")
    solution.route("GET", "/social/handle/{consumer}/loginurl", lua=LOGIN_URL)
    solution.route("GET", "/social/handle/{consumer}", lua=HANDLE)
    solution.route("GET", "/twitter/login", lua=LOGIN_1)
    solution.route("GET", "/social/twitter/handle", lua=HANDLE_1)
    return solution


def linked(
    lab: Lab, solution: Solution, consumer: str, path: str, provider: Provider | None = None
) -> Provider:
    """A provider with people, at which the solution has registered its social."""
    provider = provider or lab.provider(consumer)
    if not len(provider.people):
        provider.people.add(**ANN)
        provider.people.add(**BO)
    application = provider.register(solution.url(path), name="Metrics")
    made = solution.User.createSocial(
        consumer=consumer,
        scope=["profile", "email", "user"],
        redirect=application.redirect,
        client_id=application.client_id,
        client_secret=application.client_secret,
    )
    assert made["consumer"] == consumer, made
    return provider


@pytest.mark.parametrize("consumer", ["google", "Facebook", "amazon", "github", "acme"])
def test_by_oauth_2(lab: Lab, solution: Solution, consumer: str) -> None:
    provider = linked(lab, solution, consumer, f"/social/handle/{consumer}")
    answer = provider.login(solution.url(f"/social/handle/{consumer}/loginurl"), "ann")
    assert (answer.status_code, answer.url.path) == (200, f"/social/handle/{consumer}")
    assert "Ann Lee" in json.loads(answer.text).values()
    assert [each.method for each in provider.inbox] == ["GET", "POST", "POST", "GET"]


def test_by_oauth_1(lab: Lab, solution: Solution) -> None:
    twitter = linked(lab, solution, "twitter", "/social/twitter/handle")
    browser = lab.browser()
    answer = twitter.login(solution.url("/twitter/login"), "bo", browser=browser)
    assert (answer.status_code, answer.url.path) == (200, "/social/twitter/handle")
    assert json.loads(answer.text)["screen_name"] == "bo"
    assert str(browser.cookies.get("token", domain=solution.domain)).isalnum()


def test_somebody_says_no(lab: Lab, solution: Solution) -> None:
    google = linked(lab, solution, "google", "/social/handle/google")
    answer = google.login(solution.url("/social/handle/google/loginurl"), "ann", approve=False)
    assert (answer.status_code, json.loads(answer.json()["error"])["code"]) == (400, "access_denied")
    twitter = linked(lab, solution, "twitter", "/social/twitter/handle")
    assert twitter.login(solution.url("/twitter/login"), "ann", approve=False).status_code == 400


@pytest.mark.parametrize(
    ("fault", "step", "status", "told"),
    [
        ("deny", None, 400, "access_denied"),
        ("wrong state", None, 400, "state"),
        ("expired code", None, 400, "invalid_grant"),
        ("down", None, 500, "Service inaccessible"),
        ("down", "userinfo", 500, "Service inaccessible"),
        ("malformed JSON", None, 502, "without an access token"),
        ("malformed JSON", "userinfo", 502, "not JSON"),
        ("server error", None, 502, "answered 500"),
        ("server error", "userinfo", 502, "answered 500"),
    ],
)
def test_a_fault_of_the_provider_is_told_and_the_next_login_is_well(
    lab: Lab, solution: Solution, fault: str, step: str | None, status: int, told: str
) -> None:
    google = linked(lab, solution, "google", "/social/handle/google")
    google.fault(fault, step)
    url = solution.url("/social/handle/google/loginurl")
    answer = google.login(url, "ann")
    body: dict[str, Any] = answer.json()
    assert (body["status"], told in body["error"]) == (status, True), body
    assert google.faults == []
    again = google.login(url, "ann")
    assert json.loads(again.text).get("sub") == "ann", (again.text, google.inbox)


def test_a_slow_provider_is_given_up() -> None:
    with Lab(seed=7, guard={"way_out": 0.05}) as lab:
        solution = with_handlers(lab)
        google = linked(lab, solution, "google", "/social/handle/google")
        google.fault("slow")
        answer = google.login(solution.url("/social/handle/google/loginurl"), "ann")
        assert (answer.status_code, "Service inaccessible" in answer.text) == (500, True)


def test_an_outside_provider_can_stand_in(lab: Lab, solution: Solution, acme: Provider) -> None:
    google = lab.provider("google")
    lab.provider("elsewhere", outside=google.endpoints)
    linked(lab, solution, "elsewhere", "/social/handle/elsewhere", google)
    answer = google.login(solution.url("/social/handle/elsewhere/loginurl"), "ann")
    assert json.loads(answer.text)["sub"] == "ann"
    assert len(lab.provider("elsewhere").inbox) == 0


def test_secrets_stay_out_of_the_journal(lab: Lab, solution: Solution) -> None:
    google = linked(lab, solution, "google", "/social/handle/google")
    google.login(solution.url("/social/handle/google/loginurl"), "ann")
    lab.settle()
    (application,) = google.applications
    told = lab.journal.canonical()
    assert application.client_id in told
    assert application.client_secret not in told
