"""Complete logins: the endpoints of the guides, the platform as the client, and a provider of the lab."""

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
    """Return a provider with people, at which the solution has registered its social."""
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


@pytest.mark.parametrize("name", ["acme", "facebook", "amazon"])
def test_a_provider_that_no_check_has(lab: Lab, solution: Solution, name: str) -> None:
    provider = linked(lab, solution, name, f"/social/handle/{name}")
    answer = provider.login(solution.url(f"/social/handle/{name}/loginurl"), "ann")
    assert (answer.status_code, answer.url.path) == (200, f"/social/handle/{name}")
    assert "Ann Lee" in answer.json().values()
    assert [each.method for each in provider.inbox] == ["GET", "POST", "POST", "GET"]


@pytest.mark.parametrize(
    ("fault", "shown"),
    [("deny", "access_denied"), ("wrong state", "state"), ("expired code", "invalid_grant")],
)
def test_a_fault_of_the_provider_is_reported_and_the_next_login_succeeds(
    lab: Lab, solution: Solution, fault: str, shown: str
) -> None:
    google = linked(lab, solution, "google", "/social/handle/google")
    google.fault(fault)
    url = solution.url("/social/handle/google/loginurl")
    answer = google.login(url, "ann")
    assert (answer.status_code, shown in answer.json()["message"]) == (400, True), answer.text
    assert google.faults == []
    again = google.login(url, "ann")
    assert again.json().get("sub") == "ann", (again.text, google.inbox)


def test_a_slow_provider_times_out() -> None:
    with Lab(seed=7, guard={"outbound": 0.05}) as lab:
        solution = lab.solution("metrics", path=GUIDE)
        google = linked(lab, solution, "google", "/social/handle/google")
        google.fault("slow")
        answer = google.login(solution.url("/social/handle/google/loginurl"), "ann")
        assert (answer.status_code, "does not answer" in answer.text) == (502, True)


def test_an_external_provider_can_replace_the_labs(lab: Lab, solution: Solution, acme: Provider) -> None:
    google = lab.provider("google")
    lab.provider("elsewhere", outside=google.endpoints)
    linked(lab, solution, "elsewhere", "/social/handle/elsewhere", google)
    answer = google.login(solution.url("/social/handle/elsewhere/loginurl"), "ann")
    assert answer.json()["sub"] == "ann"
    assert len(lab.provider("elsewhere").inbox) == 0
