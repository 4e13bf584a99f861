"""Http: names of hosts, the largest body, hosts that do not answer, and faults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from labkit import Lab
from labkit.core.errors import ServiceError
from labkit.services.http.service import LARGEST_BODY
from labkit.services.http.targets import OutgoingRequest, expect_named, redirected
from tests.cases import cases

TARGET = "target.apps.lab.localhost"


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(seed=7, http_hosts=[TARGET, "down.apps.lab.localhost"]) as made:
        target = made.solution("target")
        target.route("GET", "/echo", lua="return 'here'")
        acme = made.solution("acme")
        acme.route("POST", "/http/{method}", lua="return Http[request.parameters.method](request.body)")
        yield made


def sent(lab: Lab, method: str, **given: Any) -> Any:
    return lab.solution("acme").post(f"/http/{method}", json=given).json()


def test_a_body_that_is_too_large_is_refused(lab: Lab) -> None:
    given = {"url": f"https://{TARGET}/", "body": "x" * (LARGEST_BODY + 1)}
    assert lab.solution("acme").call("Http", "post", given)["status"] == 400


def test_without_an_answer_the_error_says_so(lab: Lab) -> None:
    port = lab.address.https_port
    refused = sent(lab, "get", url=f"https://down.apps.lab.localhost:{port + 1 if port < 65_535 else 1}/")
    assert refused["status"] == 502


def test_faults_hit_the_call_and_the_request(lab: Lab) -> None:
    url = lab.solution("target").url("/echo")
    lab.faults.add(f"GET {url}", cut="before", first=1)
    lab.faults.add("Http.get", status=500, after=60, name="later")
    assert sent(lab, "get", url=url)["status"] == 502
    assert sent(lab, "get", url=url)["status_code"] == 200
    lab.clock.advance(seconds=61)
    assert sent(lab, "get", url=url)["status"] == 500


@cases(
    ("url", "allowed"),
    [
        ("https://a.example/", True),
        ("https://A.example/", True),
        ("https://a.example:444/", True),
        ("http://b.example:81/", True),
        ("http://b.example/", False),
        ("https://a.example./", False),
        ("https://b.a.example/", False),
        ("https://a.example.evil/", False),
        ("https://[::1]/", False),
    ],
)
def test_names_of_hosts(url: str, allowed: bool) -> None:
    if allowed:
        expect_named(url, ["a.example", "b.example:81"])
    else:
        with pytest.raises(ServiceError, match="none of the hosts"):
            expect_named(url, ["a.example", "b.example:81"])


def test_a_redirect_to_another_host_leaves_credentials_behind() -> None:
    given = OutgoingRequest("GET", "https://a.example/x", {"Authorization": "secret", "X-A": "b"}, None)
    same, other = (redirected(given, 302, location) for location in ("/y", "https://b.example/"))
    assert same == OutgoingRequest("GET", "https://a.example/y", given.headers, None)
    assert other == OutgoingRequest("GET", "https://b.example/", {"X-A": "b"}, None)
    assert redirected(given, 200, "/y") is redirected(given, 302, "") is None
