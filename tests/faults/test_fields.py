"""Fields that faults drop or replace; the original data stays unchanged."""

from __future__ import annotations

import copy
import json
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from labkit.faults.fault import Conditions
from labkit.faults.fields import Changes
from labkit.faults.message import FORM, FieldMessage

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
def test_the_field_of_a_path_is_dropped(drop: str, data: Any, left: Any) -> None:
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
def test_an_absent_field_changes_nothing(drop: str, data: Any) -> None:
    changed, found = Changes([drop], None).apply(data)
    assert changed is data
    assert not found


def test_a_replaced_field_keeps_its_place() -> None:
    data = {"a": 1, "b": [{"c": 2}, {"c": 3}]}
    assert Changes(None, {"b.c": None, "a": {"x": []}}).apply(data) == (
        {"a": {"x": []}, "b": [{"c": None}, {"c": None}]},
        True,
    )


@given(DATA, st.lists(NAMES, min_size=1, max_size=3), DATA)
def test_the_original_is_never_changed(data: Any, names: list[str], value: Any) -> None:
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
    message = json_message(json.dumps(data))
    assert message.apply(Changes(["*"]))
    assert json.loads(message.text or "") == {}


@pytest.mark.parametrize("text", ["", "no JSON", "[" * 100_000, '{"a": ', "1"])
def test_text_that_is_no_json_is_unchanged(text: str) -> None:
    message = json_message(text)
    assert not message.apply(Changes(["a"]))
    assert message.text == text


def json_message(text: str) -> FieldMessage:
    return FieldMessage(CIMultiDict({"Content-Type": "application/json"}), text)


def test_a_form() -> None:
    message = FieldMessage(CIMultiDict({"Content-Type": FORM}), "a=1&b=2&a=%C3%A9&d=+&c=")
    assert message.apply(Changes(["b"], {"a": "x & y", "c": 5}, {"e": "new"}))
    assert parse_qsl(message.text or "", keep_blank_values=True) == [
        ("a", "x & y"),
        ("a", "x & y"),
        ("d", " "),
        ("c", "5"),
        ("e", "new"),
    ]
    message = FieldMessage(CIMultiDict({"Content-Type": FORM}), "a=%zz")
    assert not message.apply(Changes(["z"]))
    assert message.text == "a=%zz"


@pytest.mark.parametrize(
    ("type", "known"),
    [
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ("application/problem+json", True),
        ("application/x-www-form-urlencoded; charset=utf-8", False),
        ("text/plain", False),
        ("", True),
    ],
)
def test_types_of_bodies_with_fields(type: str, known: bool) -> None:
    message = FieldMessage(CIMultiDict({"Content-Type": type} if type else {}), '{"a": {"b": 1}}')
    assert message.apply(Changes(["a.b"])) == known


def test_a_message_has_fields_beyond_its_body() -> None:
    message = FieldMessage(CIMultiDict({"X-A": "1", "x-a": "2", "B": "b"}), "a=1", "/x/y", "q&r=%20s&r=t")
    fields = ("@x-A", "@b", "@none", ".", "a", "/", "?", "?q", "?r", "?*")
    assert [list(message.values(each)) for each in fields] == [
        ["1", "2"],
        ["b"],
        [],
        ["a=1"],
        ["1"],
        ["/x/y"],
        ["q&r=%20s&r=t"],
        [""],
        [" s", "t"],
        ["", " s", "t"],
    ]
    edits = {"@x-a": ["add", 1], "/": "upper", "?r": "strip", ".": ["format", "<{}>"]}
    assert message.apply(Changes(["?q"], {"@B": 7}, {"@New": "n"}, edits))
    assert [*message.headers.items()] == [("X-A", "2"), ("X-A", "3"), ("B", "7"), ("New", "n")] or [
        *message.headers.items()
    ] == [("B", "7"), ("New", "n"), ("x-a", "2"), ("x-a", "3")]
    assert (message.path, message.query, message.text) == ("/X/Y", "r=s&r=t", "<a=1>")


def test_put_adds_missing_fields() -> None:
    assert Changes(put={"a": 1}).apply({}) == ({"a": 1}, True)
    assert Changes(put={"a": 1}).apply({"a": 1}) == ({"a": 1}, False)
    assert Changes(put={"x.a": 1}).apply([{"x": {}}, {}]) == ([{"x": {"a": 1}}, {}], True)
    assert Changes(put={".": 1}).apply(None) == (1, True)


def test_a_field_can_take_another_fields_value() -> None:
    edit = {"users.id": ["sibling", "name"]}
    data = {"users": [{"id": 1, "name": "a"}, {"id": 2}]}
    assert Changes(edit=edit).apply(data) == ({"users": [{"id": "a", "name": "a"}, {"id": 2}]}, True)


def test_an_edit_without_effect_is_no_change() -> None:
    assert Changes(replace={"a": 1}).apply({"a": 1}) == ({"a": 1}, False)
    assert Changes(replace={"a": True}).apply({"a": 1}) == ({"a": True}, True)
    assert Changes(edit={"a": "lower"}).apply({"a": "x"}) == ({"a": "x"}, False)


@pytest.mark.parametrize(
    ("patterns", "holds"),
    [
        (None, True),
        ({"a": "1"}, True),
        ({"a": "2"}, False),
        ({"a": "!2"}, True),
        ({"none": "*"}, False),
        ({"none": "!*"}, True),
        ({"list": "two"}, False),
        ({"list": '["one","t*'}, True),
        ({"list.1": "two"}, True),
        ({"d.x": "null", "a": "*"}, True),
        ({"d.x": "null", "a": "!*"}, False),
        ({".": "{*}"}, True),
    ],
)
def test_conditions(patterns: dict[str, str] | None, holds: bool) -> None:
    data = {"a": 1, "list": ["one", "two"], "d": {"x": None}}
    assert Conditions(patterns).are_met_by(data) == holds


def test_data_deeper_than_the_limit_is_unchanged() -> None:
    deep: Any = {"a": 1}
    for _ in range(100):
        deep = {"b": deep}
    changed, found = Changes([".".join(["b"] * 100 + ["a"])], None).apply(deep)
    assert (changed, found) == (deep, False)
