"""Comparisons: they pass or raise a Mismatch that shows the exchange without secrets."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx
import pytest

from labkit.conformance import expect
from labkit.conformance.verdict import Mismatch

TOKEN = "0123456789abcdef" * 2 + "01234567"


def answer(status: int = 200, text: str = "a=1", **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = httpx.Request("POST", "https://x.example/a?b", content=b"c=d", headers={"Accept": "text/plain"})
    return httpx.Response(status, text=text, headers=named, request=request)


GOOD: list[Callable[[], object]] = [
    lambda: expect.equal("it", 1, 1),
    lambda: expect.true("it", [0], "seen"),
    lambda: expect.status(answer(204), 200, 204),
    lambda: expect.header(answer(X_A="b"), "x-a", "b"),
    lambda: expect.header(answer(X_A="b"), "X-A", re.compile("[a-c]")),
    lambda: expect.header(answer(), "X-A", None),
    lambda: expect.body(answer(), "a=1"),
    lambda: expect.body(answer(), b"a=1"),
    lambda: expect.body(answer(), re.compile("a=[0-9]")),
    lambda: expect.refusal(answer(400, "because"), 400),
]
BAD: list[tuple[str, str, str, Callable[[], object]]] = [
    ("it", "2", "1", lambda: expect.equal("it", 1, 2)),
    ("it", "that it holds", "'seen'", lambda: expect.true("it", [], "seen")),
    ("status", "200 or 204", "500", lambda: expect.status(answer(500), 200, 204)),
    ("header X-A", "'c'", "'b'", lambda: expect.header(answer(X_A="b"), "X-A", "c")),
    ("header X-A", "'[a-c]'", "'bb'", lambda: expect.header(answer(X_A="bb"), "X-A", re.compile("[a-c]"))),
    ("header X-A", "'b'", "None", lambda: expect.header(answer(), "X-A", "b")),
    ("header X-A", "None", "'b'", lambda: expect.header(answer(X_A="b"), "X-A", None)),
    ("body", "'a=2'", "'a=1'", lambda: expect.body(answer(), "a=2")),
    ("body", "b'a=2'", "b'a=1'", lambda: expect.body(answer(), b"a=2")),
    ("body", "a=", "'a=1'", lambda: expect.body(answer(), re.compile("a="))),
    ("status", "400", "404", lambda: expect.refusal(answer(404, "because"), 400)),
    ("the reason is short", "that it holds", "''", lambda: expect.refusal(answer(400, ""), 400)),
]


@pytest.mark.parametrize("compare", GOOD)
def test_equal_values_pass(compare: Callable[[], object]) -> None:
    compare()


@pytest.mark.parametrize(("what", "expected", "actual", "compare"), BAD)
def test_different_values_raise_a_mismatch(
    what: str, expected: str, actual: str, compare: Callable[[], object]
) -> None:
    with pytest.raises(Mismatch) as caught:
        compare()
    assert (caught.value.what, caught.value.expected, caught.value.actual) == (what, expected, actual)


@pytest.mark.parametrize(
    "response", [answer(400, "x" * 201), answer(400, "<html>", Content_Type="text/html; charset=utf-8")]
)
def test_a_refusal_is_short_and_plain(response: httpx.Response) -> None:
    with pytest.raises(Mismatch):
        expect.refusal(response, 400)


def test_an_exchange_shows_request_and_answer() -> None:
    text = expect.exchange(answer(400, "because"))
    for part in ("POST /a?b", "accept: text/plain", "c=d", "HTTP 400 Bad Request", "because"):
        assert part in text


def test_an_exchange_hides_secrets() -> None:
    headers = {"X-Platform-CIK": TOKEN, "Authorization": f"token {TOKEN}", "Cookie": "sid=secret"}
    content = b"id=d&password=secret+of+mine&token=secret"
    request = httpx.Request("POST", "https://x.example/", headers=headers, content=content)
    text = expect.exchange(
        httpx.Response(200, text=TOKEN, headers={"Set-Cookie": "sid=secret"}, request=request)
    )
    assert TOKEN not in text
    assert "secret" not in text
    assert "id=d" in text


@pytest.mark.parametrize(
    "text",
    [
        '{"email": "a@example.com", "password": "secret of mine"}',
        '{"id":"a@example.com","client_secret":"secret"}',
        "{'id': 'a@example.com', 'refresh_token': 'secret'}",
        '{"kind": "string", "result": "a@example.com eyJsecret.eyJ0secret.s-ecret_secret"}',
        f"a@example.com?oauth_verifier=secret&access_token=secret {'a1B2' * 10}",
    ],
)
def test_secrets_are_hidden_in_every_form(text: str) -> None:
    shown = expect.hidden(text)
    assert "a@example.com" in shown
    assert "secret of" not in shown
    assert not re.search(r"(?<!_)secret|a1B2", shown)


def test_a_long_exchange_is_cut() -> None:
    assert len(expect.exchange(answer(text="x" * 100_000))) == expect.LONGEST
