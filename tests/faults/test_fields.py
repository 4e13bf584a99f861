"""Fields that go or are replaced: what was given stays as it was."""

from __future__ import annotations

import copy
import json
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.faults.fields import Changes, applied_to

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("drop", "data", "left"),
    [
        ("a", {"a": 1, "b": 2}, {"b": 2}),
        ("a.b", {"a": {"b": 1, "c": 2}}, {"a": {"c": 2}}),
        ("a", [{"a": 1}, {"b": 2}, 3, {"a": 4}], [{}, {"b": 2}, 3, {}]),
        ("users.email", {"users": [{"email": 1, "id": 2}, {"id": 3}]}, {"users": [{"id": 2}, {"id": 3}]}),
        ("value.1", {"value": [1, "x"]}, {"value": [1]}),
        ("*", {"a": 1, "b": {"c": 2}}, {}),
        ("*.c", {"a": 1, "b": {"c": 2}}, {"a": 1, "b": {}}),
        ("a\\.b", {"a.b": 1, "a": {"b": 2}}, {"a": {"b": 2}}),
        ("ä b", {"ä b": 1}, {}),
        ("1", {1: "a", "2": "b"}, {"2": "b"}),
    ],
)
def test_what_a_path_names_goes(drop: str, data: Any, left: Any) -> None:
    assert Changes([drop], None).apply(data) == (left, True)


@pytest.mark.parametrize(
    ("drop", "data"),
    [
        ("a", {"b": 1}),
        ("a.b", {"a": 1}),
        ("a", "text"),
        ("3", [1, 2]),
        ("a", None),
        ("a.b.c", {"a": {"b": []}}),
    ],
)
def test_what_is_not_there_changes_nothing(drop: str, data: Any) -> None:
    changed, found = Changes([drop], None).apply(data)
    assert changed is data
    assert not found


def test_what_is_replaced_keeps_its_place() -> None:
    data = {"a": 1, "b": [{"c": 2}, {"c": 3}]}
    assert Changes(None, {"b.c": None, "a": {"x": []}}).apply(data) == (
        {"a": {"x": []}, "b": [{"c": None}, {"c": None}]},
        True,
    )


@given(DATA, st.lists(NAMES, min_size=1, max_size=3), DATA)
def test_what_is_given_is_never_changed(data: Any, names: list[str], value: Any) -> None:
    before = copy.deepcopy(data)
    Changes([".".join(names)], {names[0]: value, "*": value}).apply(data)
    assert data == before


@given(
    st.dictionaries(NAMES.filter(lambda name: "\\" not in name and name != "*"), DATA, min_size=1, max_size=5)
)
def test_a_name_of_any_kind_can_be_dropped(data: dict[str, Any]) -> None:
    for name in data:
        left, found = Changes([name.replace(".", "\\.")], None).apply(data)
        assert found
        assert left == {other: value for other, value in data.items() if other != name}


@given(st.dictionaries(NAMES, DATA, min_size=1, max_size=5))
def test_json_text(data: dict[str, Any]) -> None:
    text, found = Changes(["*"], None).apply_to_json(json.dumps(data))
    assert (json.loads(text), found) == ({}, True)


@pytest.mark.parametrize("text", ["", "no JSON", "[" * 100_000, '{"a": ', "1"])
def test_text_that_is_no_json_stays(text: str) -> None:
    assert Changes(["a"], None).apply_to_json(text) == (text, False)


def test_a_form() -> None:
    changed, found = Changes(["b"], {"a": "x & y", "c": 5}).apply_to_form("a=1&b=2&a=%C3%A9&d=+&c=")
    assert found
    assert parse_qsl(changed, keep_blank_values=True) == [
        ("a", "x & y"),
        ("a", "x & y"),
        ("d", " "),
        ("c", "5"),
    ]
    assert Changes(["z"], None).apply_to_form("a=%zz") == ("a=%zz", False)


@pytest.mark.parametrize(
    ("type", "known"),
    [
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ("application/problem+json", True),
        ("application/x-www-form-urlencoded; charset=utf-8", True),
        ("text/plain", False),
        ("", False),
    ],
)
def test_which_bodies_have_fields(type: str, known: bool) -> None:
    assert (applied_to(type) is not None) == known


def test_data_that_is_deeper_than_it_may_be_stays() -> None:
    deep: Any = {"a": 1}
    for _ in range(100):
        deep = {"b": deep}
    changed, found = Changes([".".join(["b"] * 100 + ["a"])], None).apply(deep)
    assert (changed, found) == (deep, False)
