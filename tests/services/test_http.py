"""Http: requests of scripts to named hosts, redirects, bounds, faults, and what the journal shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from labkit import Lab
from labkit.core.errors import ServiceError
from labkit.services.http.service import LARGEST_BODY
from labkit.services.http.targets import LONGEST_URL, OutgoingRequest, expect_named, redirected
from tests.cases import cases

ECHO = """return {method = request.method, path = request.route, headers = request.headers, body = request.body,
  query = request.parameters}"""
TARGET = "target.apps.lab.localhost"


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(seed=7, http_hosts=[TARGET, "down.apps.lab.localhost"]) as made:
        target = made.solution("target")
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            target.route(method, "/echo", lua=ECHO)
        target.route(
            "GET",
            "/again/{code}",
            lua=f"response.code = tonumber(request.parameters.code) "
            f"response.headers = {{location = '{target.url('/echo')}?x=1'}}",
        )
        target.route(
            "POST",
            "/again/{code}",
            lua="response.code = tonumber(request.parameters.code) response.headers = {location = '/echo'}",
        )
        target.route(
            "GET",
            "/away",
            lua="response.code = 302 response.headers = {location = 'https://secret.apps.lab.localhost/'}",
        )
        target.route("GET", "/round", lua="response.code = 307 response.headers = {location = '/round'}")
        target.route("GET", "/text", lua="response.code = 404 response.headers = {['x-a'] = 'b'} return 'é'")
        acme = made.solution("acme")
        acme.route("POST", "/http/{method}", lua="return Http[request.parameters.method](request.body)")
        yield made


def sent(lab: Lab, method: str, **given: Any) -> Any:
    return lab.solution("acme").post(f"/http/{method}", json=given).json()


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_a_request_arrives_as_it_was_given(lab: Lab, method: str) -> None:
    url = lab.solution("target").url("/echo")
    answer = sent(lab, method, url=f"{url}?a=%C3%A9", body={"b": [1, "é"]}, headers={"X-Number": 7})
    assert (answer["status_code"], answer["headers"]["content-type"].partition(";")[0]) == (
        200,
        "application/json",
    )
    seen = json.loads(answer["body"])
    assert (seen["method"], seen["body"], seen["query"]) == (method.upper(), {"b": [1, "é"]}, {"a": "é"})
    assert (seen["headers"]["x-number"], seen["headers"]["content-type"]) == ("7", "application/json")


def test_the_answer_is_returned_whatever_its_status(lab: Lab) -> None:
    answer = sent(lab, "get", url=lab.solution("target").url("/text"))
    assert (answer["status_code"], answer["body"], answer["headers"]["x-a"]) == (404, "é", "b")
    assert sent(lab, "get", url=lab.solution("target").url("/nothing"))["status_code"] == 404
    assert sent(lab, "head", url=lab.solution("target").url("/echo"))["body"] == ""


@cases(
    ("method", "code", "arrives"),
    [
        ("get", 301, "GET"),
        ("get", 307, "GET"),
        ("post", 302, "GET"),
        ("post", 303, "GET"),
        ("post", 308, "POST"),
    ],
)
def test_redirects_are_followed(lab: Lab, method: str, code: int, arrives: str) -> None:
    body = {"body": {"a": 1}} if method == "post" else {}
    answer = sent(lab, method, url=lab.solution("target").url(f"/again/{code}"), **body)
    seen = json.loads(answer["body"])
    assert (answer["status_code"], seen["method"]) == (200, arrives)
    assert seen["body"] == ({"a": 1} if arrives == "POST" else seen["body"])


def test_only_named_hosts_are_reached(lab: Lab) -> None:
    secret = lab.solution("secret")
    secret.route("GET", "/", lua="return 'secret'")
    target = lab.solution("target")
    for url in (
        secret.url(),
        target.url("/away"),
        "https://127.0.0.1/",
        target.url().replace("target", "Secret"),
    ):
        refused = sent(lab, "get", url=url)
        assert (refused["status"], "http_hosts" in refused["error"]) == (403, True), url
    assert not [each for each in lab.journal if each.summary == "GET /" and each.kind == "request"]


@cases(
    "given",
    [
        {},
        {"url": ""},
        {"url": "ftp://target.apps.lab.localhost/"},
        {"url": f"https://me:secret@{TARGET}/"},
        {"url": f"https://{TARGET}:99999/"},
        {"url": f"https://{TARGET}/ x"},
        {"url": f"https://{TARGET}\\@other/"},
        {"url": f"https://{TARGET}/é"},
        {"url": f"https://{TARGET}/".ljust(LONGEST_URL + 1, "x")},
        {"url": f"https://{TARGET}/", "headers": {"Host": "x"}},
        {"url": f"https://{TARGET}/", "headers": {"X": "a\r\nY: b"}},
        {"url": f"https://{TARGET}/", "headers": {"X Y": "a"}},
        {"url": f"https://{TARGET}/", "headers": {"X": {"a": 1}}},
        {"url": f"https://{TARGET}/", "body": "x" * (LARGEST_BODY + 1)},
    ],
)
def test_what_is_refused(lab: Lab, given: dict[str, Any]) -> None:
    assert lab.solution("acme").call("Http", "post", given)["status"] == 400


def test_without_an_answer_the_error_says_so(lab: Lab) -> None:
    port = lab.address.https_port
    refused = sent(lab, "get", url=f"https://down.apps.lab.localhost:{port + 1 if port < 65_535 else 1}/")
    assert refused["status"] == 502
    refused = sent(lab, "get", url=lab.solution("target").url("/round"))
    assert (refused["status"], "redirects more than 5 times" in refused["error"]) == (502, True)


def test_faults_hit_the_call_and_the_request(lab: Lab) -> None:
    url = lab.solution("target").url("/echo")
    lab.faults.add(f"GET {url}", cut="before", first=1)
    lab.faults.add("Http.get", status=500, after=60, name="later")
    assert sent(lab, "get", url=url)["status"] == 502
    assert sent(lab, "get", url=url)["status_code"] == 200
    lab.clock.advance(seconds=61)
    assert sent(lab, "get", url=url)["status"] == 500


def test_the_journal_hides_headers_bodies_and_queries(lab: Lab) -> None:
    url = lab.solution("target").url("/echo?key=the-secret")
    sent(lab, "post", url=url, headers={"Authorization": "Bearer the-secret"}, body="the-secret")
    [call] = [each for each in lab.journal if each.summary == "Http.post"]
    assert "the-secret" not in str(call.detail)


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
