"""Social login in a complete lab: the platform and the lab's own providers, over HTTPS."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from labkit import Lab
from labkit.lab.provider import Provider
from labkit.lab.solution import Solution
from tests.services.user.socials.logins import query

PERSON = "p-1"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(seed=7) as lab:
        lab.solution("acme")
        yield lab


def ready(lab: Lab, consumer: str, **change: Any) -> tuple[Solution, Provider]:
    """Return a solution with a social for a registered application."""
    solution, provider = lab.solution("acme"), lab.provider(consumer)
    redirect = solution.url("/back")
    application = provider.register(redirect)
    if PERSON not in provider.people:
        provider.people.add(PERSON, name="Ann", email="ann@example.com")
    social = {
        "consumer": consumer,
        "scope": [],
        "redirect": redirect,
        "client_id": application.client_id,
        "client_secret": application.client_secret,
    }
    repr(solution.call("User", "deleteSocial", {"consumer": consumer}))  # read, since there may be none
    assert solution.call("User", "createSocial", social) == social
    if change:
        assert solution.call("User", "updateSocial", {"consumer": consumer, **change}) is None
    return solution, provider


def logged_in(lab: Lab, consumer: str, **change: Any) -> tuple[Solution, dict[str, Any]]:
    """Log in and return the parameters of the callback."""
    solution, provider = ready(lab, consumer, **change)
    callback: dict[str, Any] = {"consumer": consumer}
    given = dict(callback)
    if provider.protocol == "oauth1":
        callback["reqToken"] = given["reqToken"] = solution.call("User", "getSocialLoginUrl", given)
    answer = provider.login(solution.call("User", "getSocialLoginUrl", given), PERSON)
    assert str(answer.url).startswith(solution.url("/back?"))
    return solution, {**callback, **query(str(answer.url))}


CONSUMERS = {
    "facebook": (["email", "public_profile"], {"name": "Ann", "email": "ann@example.com"}),
    "amazon": (["profile"], {"name": "Ann", "email": "ann@example.com"}),
}


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_a_login_ends_with_the_user_information(lab: Lab, consumer: str) -> None:
    scope, details = CONSUMERS[consumer]
    solution, callback = logged_in(lab, consumer, scope=scope)
    token = solution.call("User", "getSocialToken", callback)
    assert isinstance(token, str)
    text = solution.call("User", "socialRequest", {"consumer": consumer, "token": token})
    assert details.items() <= json.loads(text).items()
    again = solution.call("User", "getSocialToken", callback)
    assert again["status"] == 400


@pytest.mark.parametrize("consumer", ["google", "github", "twitter"])
def test_a_redirect_that_is_not_registered_is_refused(lab: Lab, consumer: str) -> None:
    solution, callback = logged_in(lab, consumer)
    elsewhere = "https://acme.apps.lab.localhost/elsewhere"
    solution.call("User", "updateSocial", {"consumer": consumer, "redirect": elsewhere})
    error = (
        solution.call("User", "getSocialLoginUrl", {"consumer": consumer})
        if consumer == "twitter"
        else solution.call("User", "getSocialToken", callback)
    )
    assert (error["status"], f"{consumer} refuses" in error["message"]) == (400, True)


def test_a_person_who_denies(lab: Lab) -> None:
    solution, provider = ready(lab, "google")
    url = solution.call("User", "getSocialLoginUrl", {"consumer": "google"})
    answer = provider.login(url, PERSON, approve=False)
    error = solution.call("User", "getSocialToken", {"consumer": "google", **query(str(answer.url))})
    assert (error["status"], "access_denied" in error["message"]) == (400, True)


def test_a_token_that_the_provider_has_forgotten(lab: Lab) -> None:
    solution, callback = logged_in(lab, "google")
    token = solution.call("User", "getSocialToken", callback)
    lab.clock.advance(hours=2)
    error = solution.call("User", "socialRequest", {"consumer": "google", "token": token})
    assert error["status"] == 401
