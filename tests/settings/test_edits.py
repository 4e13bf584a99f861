"""Edits of values; a value of another type stays unchanged."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.settings.edits import parse_edit
from tests.cases import cases

MADE: list[tuple[Any, Any, Any]] = [
    ("lower", "AÉ", "aé"),
    ("lower", 5, 5),
    ("upper", "aé", "AÉ"),
    ("strip", " a ", "a"),
    ("sort", ["b", "a"], ["a", "b"]),
    ("sort", [{"b": 1}, 10, "x"], [10, "x", {"b": 1}]),
    (["sort", "&"], "b&a", "a&b"),
    ("reverse", [1, 2], [2, 1]),
    (["reverse", ", "], "a, b", "b, a"),
    ("reverse", "text", "text"),
    ("compact", [None, 0, None], [0]),
    (["before", "="], "a=b=c", "a"),
    (["after", "="], "a=b=c", "b=c"),
    (["replace", "\r\n", "\n"], "a\r\nb\r\n", "a\nb\n"),
    (["replace", "", "x"], "ab", "ab"),
    (["format", "<{}>"], "a", "<a>"),
    (["format", "{}{}"], [1], "[1][1]"),
    (["add", 3600], 5, 3605),
    (["add", 1], "41", "42"),
    (["add", 1], "-1.5", "-0.5"),
    (["add", 1], "4x", "4x"),
    (["add", 1], True, True),
    (["multiply", 0.5], 4, 2.0),
    ("round", 2.6, 3),
    ("round", "2.6", "3"),
    ("text", 5, "5"),
    ("text", "a", "a"),
    ("text", {"ü": None}, '{"ü":null}'),
    ("number", "12", 12),
    ("number", "1.50", 1.5),
    ("number", "1e5", "1e5"),
    ("json", "[1]", [1]),
    ("json", "[1", "[1"),
    ("quote", "a é", "a+%C3%A9"),
    ("unquote", "a+%C3%A9", "a é"),
    (["or", 30], "", 30),
    (["or", 30], None, 30),
    (["or", 30], 0, 0),
    ("not", True, False),
    ("not", 1, 1),
    ("list", 1, [1]),
    ("keys", {"a": 1}, ["a"]),
    ("values", {"a": 1}, [1]),
    (["field", "a"], {"a": 1}, 1),
    (["field", "b"], {"a": 1}, None),
    (["field", "a"], ["a"], ["a"]),
    (["sibling", "a"], 1, 1),
    ("[0]", "ab", "a"),
    ("[-1]", [1, 2], 2),
    ("[5]", "ab", "ab"),
    ("[:-1]", "ab", "a"),
    ("[1:]", [1, 2, 3], [2, 3]),
    ("[::-1]", "ab", "ba"),
    ("[:200]", 7, 7),
]


@cases(("written", "value", "made"), MADE)
def test_the_result_of_an_edit(written: Any, value: Any, made: Any) -> None:
    result = parse_edit(written)(value)
    assert (result, type(result)) == (made, type(made))


@cases(
    "written",
    ["", "louder", "[", "[]", "[a]", "[1:2:0]", [], ["add"], ["lower", 1], ["[1:]", 2], [1], None, {}],
)
def test_an_invalid_edit_is_refused(written: Any) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_edit(written)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from([written for written, _, _ in MADE]), VALUES)
def test_any_value_can_be_edited(written: Any, value: Any) -> None:
    parse_edit(written)(value)
