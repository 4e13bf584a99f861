"""Secrets that clients send in the wrong place, or in the wrong form: the journal stores none."""

import json
import socket
import ssl
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from labkit import Lab, LabWarning
from labkit.core.redaction import without_query_values
from labkit.lab.solution import Solution
from tests.cases import cases

SECRET = "Canary7xSecret"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(seed=3) as lab:
        yield lab


@pytest.fixture(scope="module")
def solution(lab: Lab) -> Solution:
    made = lab.solution("acme")
    redirect = "https://acme.apps.lab.localhost/back"
    social = {
        "scope": ["a"],
        "consumer": "google",
        "redirect": redirect,
        "client_id": "x",
        "client_secret": "y",
    }
    made.call("User", "createSocial", social)
    made.call("User", "createUser", {"email": "a@b.de", "name": "A", "password": "correct horse"})
    return made


def journal_text(lab: Lab, since: int) -> str:
    """Return all texts of the journal after its first `since` records."""
    frame = lab.journal.frame().iloc[since:]
    assert len(frame) >= 1
    return json.dumps(frame.reset_index(drop=True).astype(str).to_dict())


@cases(
    ("operation", "parameters"),
    [
        ("createOauthClient", {"id": 1, "name": "x", "redirect": SECRET}),
        ("createOauthClient", {"id": 1, "name": "x", "redirect": f"https://u:{SECRET}@x.example/"}),
        ("createOauthClient", {"id": 1, "name": "x", "redirect": f"https://x.example/#{SECRET}"}),
        ("createOauthClient", {"id": 1, "name": "x", "redirect": f"https://x.example/?{SECRET}"}),
        ("createOauthClient", {"id": 1, "name": "x", "redirect": f"https://x.example/?a=b c,{SECRET}"}),
        ("createOauthClient", {"id": 1, "name": "x", "redirect": ["https://x.example/", f"x:{SECRET}"]}),
        ("getOauthAuthorizeApproved",
         {"token": SECRET, "client_id": 1, "redirect_uri": SECRET, "response_type": SECRET}),
        ("getOauthToken", {"grant_type": SECRET, "client_id": 1}),
        ("getOauthToken", {"grant_type": [SECRET], "client_id": 1}),
        ("getOauthToken", {"grant_type": "refresh_token", "client_id": 1, "redirect_uri": f"https://x/#{SECRET}"}),
        ("getOauthTokn", {"redirect_uri": f"https://x.example/?code={SECRET}"}),
        ("getSocialToken", {"consumer": "google", "error": "access_denied", "error_description": SECRET}),
        ("getSocialToken", {"consumer": "google", "error": SECRET}),
        ("getSocialToken", {"consumer": "google", "error": f'"{SECRET}"', "error_description": SECRET}),
        ("updateSocial", {"consumer": "google", "redirect": f"x:{SECRET}"}),
    ],
)  # fmt: skip
def test_no_operation_shows_a_secret(
    lab: Lab, solution: Solution, operation: str, parameters: dict[str, Any]
) -> None:
    since = len(lab.journal.frame())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabWarning)  # of an operation that is not there
        repr(solution.call("User", operation, parameters))  # read, so that no warning about a refusal follows
    assert SECRET.lower() not in journal_text(lab, since).lower()


def test_a_script_still_gets_the_providers_error(lab: Lab, solution: Solution) -> None:
    given = {"consumer": "google", "error": "access_denied", "error_description": "Ann said no"}
    assert (
        "google refuses (access_denied): Ann said no."
        in solution.call("User", "getSocialToken", given)["error"]
    )
    assert "google refuses: access_denied." in journal_text(lab, len(lab.journal.frame()) - 1)


@cases(
    "target",
    [
        f"/o/oauth2/v2/auth?client_id=1&redirect_uri=https://a.example/%3Fcode%3D{SECRET}%23{SECRET}&response_type=code",
        f"/o/oauth2/v2/auth?client_id=x&redirect_uri=https://{SECRET}@a.example/&response_type={SECRET}&state={SECRET}",
        f"/o/oauth2/v2/auth?api_key={SECRET}&Code={SECRET}&error_description={SECRET}",
        f"/token?grant_type={SECRET}&client_secret={SECRET}&username={SECRET}",
        f"/{SECRET.ljust(40, 'x')}/nothing",
    ],
)
def test_no_provider_shows_a_secret(lab: Lab, solution: Solution, target: str) -> None:
    since = len(lab.journal.frame())
    address = lab._runtime.address
    context = ssl.create_default_context(cadata=address.ca_pem)
    host = "google.social.lab.localhost"
    with (
        socket.create_connection(("127.0.0.1", address.https_port)) as plain,
        context.wrap_socket(plain, server_hostname=host) as client,
    ):
        client.sendall(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        while client.recv(65536):
            pass
    assert SECRET not in journal_text(lab, since)


@cases(
    ("url", "expected"),
    [
        ("https://x.example/cb", "https://x.example/cb"),
        ("https://x.example/cb?a=1&b=&c", "https://x.example/cb?a=***&b=&***"),
        ("https://u:p@x.example/@/?a=1#f", "https://***@x.example/@/?a=***#***"),
        ("https://x.example/?a=1,2 3", "https://x.example/?a=***"),
        ("https://x/?a=1,https://y/?b=2, z.y:/c?d=3", "https://x/?a=***,https://y/?b=***, z.y:/c?d=***"),
        (f"https://x/{'a' * 40}?{'b' * 40}=1", "https://x/***?***=***"),
        ("", ""),
    ],
)
def test_a_url_without_its_values(url: str, expected: str) -> None:
    assert without_query_values(url) == expected
