"""Whole logins: the endpoints of the guides, the platform as the client, and a provider of the lab."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit import Lab
from labkit.lab.provider import Provider
from labkit.lab.solution import Solution
from tests.providers.social.clients import ANN, BO

GUIDE = Path(__file__).parents[3] / "notebooks/solutions/guide"


@pytest.fixture(scope="module")
def solution(shared: Lab) -> Solution:
    return shared.solution("metrics", path=GUIDE)


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
    assert "Ann Lee" in answer.json().values()
    assert [each.method for each in provider.inbox] == ["GET", "POST", "POST", "GET"]


def test_by_oauth_1(lab: Lab, solution: Solution) -> None:
    twitter = linked(lab, solution, "twitter", "/social/twitter/handle")
    browser = lab.browser()
    answer = twitter.login(solution.url("/twitter/login"), "bo", browser=browser)
    assert (answer.status_code, answer.url.path) == (200, "/social/twitter/handle")
    assert answer.json()["screen_name"] == "bo"
    assert str(browser.cookies.get("token", domain=solution.domain)).isalnum()


def test_somebody_says_no(lab: Lab, solution: Solution) -> None:
    google = linked(lab, solution, "google", "/social/handle/google")
    answer = google.login(solution.url("/social/handle/google/loginurl"), "ann", approve=False)
    assert (answer.status_code, "access_denied" in answer.json()["message"]) == (400, True)
    twitter = linked(lab, solution, "twitter", "/social/twitter/handle")
    assert twitter.login(solution.url("/twitter/login"), "ann", approve=False).status_code == 400


@pytest.mark.parametrize(
    ("fault", "step", "status", "shown"),
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
    lab: Lab, solution: Solution, fault: str, step: str | None, status: int, shown: str
) -> None:
    google = linked(lab, solution, "google", "/social/handle/google")
    google.fault(fault, step)
    url = solution.url("/social/handle/google/loginurl")
    answer = google.login(url, "ann")
    assert (answer.status_code, shown in answer.json()["message"]) == (status, True), answer.text
    assert google.faults == []
    again = google.login(url, "ann")
    assert again.json().get("sub") == "ann", (again.text, google.inbox)


def test_a_slow_provider_is_given_up() -> None:
    with Lab(seed=7, guard={"outbound": 0.05}) as lab:
        solution = lab.solution("metrics", path=GUIDE)
        google = linked(lab, solution, "google", "/social/handle/google")
        google.fault("slow")
        answer = google.login(solution.url("/social/handle/google/loginurl"), "ann")
        assert (answer.status_code, "Service inaccessible" in answer.text) == (500, True)


def test_an_outside_provider_can_stand_in(lab: Lab, solution: Solution, acme: Provider) -> None:
    google = lab.provider("google")
    lab.provider("elsewhere", outside=google.endpoints)
    linked(lab, solution, "elsewhere", "/social/handle/elsewhere", google)
    answer = google.login(solution.url("/social/handle/elsewhere/loginurl"), "ann")
    assert answer.json()["sub"] == "ann"
    assert len(lab.provider("elsewhere").inbox) == 0


def test_secrets_stay_out_of_the_journal(lab: Lab, solution: Solution) -> None:
    google = linked(lab, solution, "google", "/social/handle/google")
    google.login(solution.url("/social/handle/google/loginurl"), "ann")
    lab.settle()
    (application,) = google.applications
    shown = lab.journal.canonical()
    assert application.client_id in shown
    assert application.client_secret not in shown
