"""What handlers see of requests: parameters, headers and bodies."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy

from labkit.http.error import HttpError
from labkit.solutions.request import Request, decode, headers, query
from tests.cases import cases

JSON, FORM, TEXT = "application/json", "application/x-www-form-urlencoded", "text/plain"


@cases(
    ("text", "expected"),
    [
        ("", {}),
        ("a=1&b=", {"a": "1", "b": ""}),
        ("a", {"a": ""}),
        ("a=1&a=2&a=3", {"a": ["1", "2", "3"]}),
        ("a+b=c%20d%2B", {"a b": "c d+"}),
        ("x=%C3%A9&y=é", {"x": "é", "y": "é"}),
    ],
)
def test_query(text: str, expected: dict[str, Any]) -> None:
    assert query(text) == expected


def test_a_query_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(HttpError) as refused:
        query("a=%FF")
    assert refused.value.status == 400


def test_headers_have_lower_case_names_and_are_joined() -> None:
    given = CIMultiDict([("X-One", "a"), ("x-one", "b"), ("Cookie", "s=1"), ("Cookie", "t=2")])
    assert headers(CIMultiDictProxy(given)) == {"x-one": "a, b", "cookie": "s=1; t=2"}


@pytest.mark.parametrize(("raw", "text"), [(b"caf\xc3\xa9", "café"), (b"caf\xe9", "café")])
def test_header_values_that_are_not_ascii(raw: bytes, text: str) -> None:
    given = CIMultiDict([("X", raw.decode("utf-8", "surrogateescape"))])
    assert headers(CIMultiDictProxy(given)) == {"x": text}


@cases(
    ("data", "expected", "declared", "body"),
    [
        # no body is an empty table, whatever the route takes
        (b"", JSON, None, {}),
        (b"", TEXT, TEXT, {}),
        # JSON, when it is declared or when nothing is
        (b'{"a": [1, 2.5, null, true]}', JSON, JSON, {"a": [1, 2.5, None, True]}),
        (b'{"a": 1}', JSON, None, {"a": 1}),
        (b'{"a": 1}', JSON, "Application/JSON; charset=utf-8", {"a": 1}),
        (b'{"a": 1}', JSON, "application/problem+json", {"a": 1}),
        (b'\xef\xbb\xbf{"a": 1}', JSON, JSON, {"a": 1}),
        (b"{}", JSON, JSON, {}),
        (b"[]", JSON, JSON, []),
        (b"5", JSON, JSON, 5),
        (b"null", JSON, JSON, {}),
        # a table in JSON is taken by a JSON route even when it says it is something else
        (b' {"a": 1}', JSON, FORM, {"a": 1}),
        (b"[1]", JSON, TEXT, [1]),
        (b"{not json", JSON, TEXT, "{not json"),
        (b"5", JSON, TEXT, "5"),
        (b"a=1", JSON, FORM, "a=1"),
        # forms, where the route takes them
        (b"a=1&b=x+y&b=%C3%A9", FORM, FORM, {"a": "1", "b": ["x y", "é"]}),
        (b"a=1", FORM, None, {"a": "1"}),
        (b"a=1", FORM, TEXT, "a=1"),
        (b'{"a": 1}', FORM, JSON, {"a": 1}),
        # everything else is text
        (b"a=1", TEXT, FORM, "a=1"),
        (b'{"a": 1}', TEXT, JSON, '{"a": 1}'),
        (b"caf\xc3\xa9", TEXT, TEXT, "café"),
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
        (b"{", JSON, JSON),
        (b"a=1", JSON, None),
        (b"a=1", FORM, JSON),
        (b'"\xff"', JSON, JSON),
        (b"NaN", JSON, JSON),
        (b"[" * 100_000, JSON, JSON),
        (b"9" * 10_000, JSON, JSON),
        (b"a=%FF", FORM, FORM),
        (b"a=\xff", FORM, FORM),
    ],
)
def test_a_body_that_is_not_what_it_is_declared_to_be(
    data: bytes, expected: str, declared: str | None
) -> None:
    with pytest.raises(HttpError) as refused:
        decode(data, expected, declared)
    assert refused.value.status == 400


def test_the_table_for_scripts_has_every_field() -> None:
    request = Request("https://x/a?b=1", "/a", "GET", {"b": "1"}, {"host": "x"}, {}, "127.0.0.1", "id", 5)
    assert request.table() == {
        "uri": "https://x/a?b=1",
        "route": "/a",
        "method": "GET",
        "parameters": {"b": "1"},
        "headers": {"host": "x"},
        "body": {},
        "ip": "127.0.0.1",
        "request_id": "id",
        "timestamp": 5,
    }


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
