"""Parsing of form bodies and queries."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.device_api import forms
from tests.cases import cases

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PAIRS = st.lists(st.tuples(TEXT, TEXT), max_size=5)


@given(PAIRS)
def test_encoded_pairs_read_back(pairs: list[tuple[str, str]]) -> None:
    text = forms.encode(pairs)
    assert re.fullmatch(r"[A-Za-z0-9_.~&=%-]*", text)
    assert forms.parse(text) == pairs
    if all(name for name, _ in pairs):
        assert forms.parse_body(text.encode()) == pairs


@given(PAIRS)
def test_pairs_with_the_least_escapes_read_back(pairs: list[tuple[str, str]]) -> None:
    def escape(text: str) -> str:
        return re.sub(r"[%&=+]", lambda match: f"%{ord(match[0]):02x}", text).replace(" ", "+")

    assert forms.parse("&".join(f"{escape(name)}={escape(value)}" for name, value in pairs)) == pairs


@given(st.text("ab%4Gü+&=", max_size=10) | st.text(max_size=6))
def test_any_text_gives_pairs_or_a_reason(text: str) -> None:
    reason = ""
    try:
        assert len(forms.parse(text)) <= text.count("&") + 1
    except ValueError as error:
        reason = str(error)
    assert len(reason) < 100
    assert "codec" not in reason


@cases(
    ("text", "pairs"),
    [
        ("", []),
        ("&&", []),
        ("a", [("a", None)]),
        ("a=", [("a", "")]),
        ("a=b=c", [("a", "b=c")]),
        ("a=1&a=2", [("a", "1"), ("a", "2")]),
        ("a%3Db=c%26d", [("a=b", "c&d")]),
        ("a+b=c%2Bd", [("a b", "c+d")]),
        ("%41=%c3%bC", [("A", "ü")]),
        ("ü=€", [("ü", "€")]),
        ("=x", [("", "x")]),
    ],
)
def test_pairs(text: str, pairs: list[tuple[str, str | None]]) -> None:
    assert forms.parse(text) == pairs


@cases(
    ("text", "reason"),
    [
        ("a=%", "followed by two hex digits"),
        ("a=%4", "followed by two hex digits"),
        ("%zz", "followed by two hex digits"),
        ("a=%25%", "followed by two hex digits"),
        ("a=%%41", "followed by two hex digits"),
        ("a=%ff", "not valid UTF-8"),
        ("a=%c3", "not valid UTF-8"),
        ("a=%ed%a0%80", "not valid UTF-8"),
        ("a=%00%c0%80", "not valid UTF-8"),
    ],
)
def test_wrong_escapes(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        forms.parse(text)


@cases(
    ("body", "reason"),
    [(b"a=\xff", "not valid UTF-8"), (b"=x", "a pair has no name"), (b"a=1&=", "a pair has no name")],
)
def test_wrong_bodies(body: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        forms.parse_body(body)


def test_a_name_without_a_value_has_an_empty_one_in_a_body() -> None:
    assert forms.parse_body(b"a&b=&c=1") == [("a", ""), ("b", ""), ("c", "1")]
