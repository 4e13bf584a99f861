"""Requests as handlers receive them: parameters, headers and bodies."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.http.error import HttpError
from labkit.solutions.web.request import decode, query
from tests.cases import cases

JSON, FORM, TEXT = "application/json", "application/x-www-form-urlencoded", "text/plain"


@cases(
    ("data", "expected", "declared", "body"),
    [
        # no body is an empty table, for any type of route
        (b"", JSON, None, {}),
        # JSON, if declared or if nothing is declared
        (b'{"a": [1, 2.5, null, true]}', JSON, JSON, {"a": [1, 2.5, None, True]}),
        (b'{"a": 1}', JSON, "Application/JSON; charset=utf-8", {"a": 1}),
        (b'\xef\xbb\xbf{"a": 1}', JSON, JSON, {"a": 1}),
        (b"{}", JSON, JSON, {}),
        # a JSON route accepts a table in JSON even with another declared type
        (b' {"a": 1}', JSON, FORM, {"a": 1}),
        # forms, if the route accepts them
        (b"a=1&b=x+y&b=%C3%A9", FORM, FORM, {"a": "1", "b": ["x y", "é"]}),
        (b"a=1", FORM, None, {"a": "1"}),
        # any other body is text
        (b"\xff\x00", TEXT, TEXT, b"\xff\x00"),
    ],
)
def test_bodies(data: bytes, expected: str, declared: str | None, body: Any) -> None:
    found = decode(data, expected, declared)
    assert found == body
    assert type(found) is type(body)


@cases(
    ("data", "expected", "declared"),
    [
        (b"[" * 100_000, JSON, JSON),
        (b"9" * 10_000, JSON, JSON),
    ],
)
def test_a_body_that_is_not_of_its_declared_type_is_refused(
    data: bytes, expected: str, declared: str | None
) -> None:
    with pytest.raises(HttpError) as refused:
        decode(data, expected, declared)
    assert refused.value.status == 400


@given(
    data=st.binary(max_size=60)
    | st.text(alphabet='{}[]",:0123456789.eE-+ntf\\u&=%', max_size=60).map(str.encode),
    expected=st.sampled_from([JSON, FORM, TEXT]),
    declared=st.sampled_from([None, JSON, FORM, TEXT, "", ";", "a/b+json"]),
)
def test_any_body_is_decoded_or_refused(data: bytes, expected: str, declared: str | None) -> None:
    with contextlib.suppress(HttpError):
        assert decode(data, expected, declared) is not None


@given(
    st.text(alphabet=st.characters(codec="utf-8"), max_size=60) | st.text(alphabet="a&=%+;ZF0", max_size=60)
)
def test_any_query_is_decoded_or_refused(text: str) -> None:
    with contextlib.suppress(HttpError):
        assert isinstance(query(text), dict)
