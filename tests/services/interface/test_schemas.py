"""Schemas of Interface: the keywords of document 3, defaults, and limits on time and size."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from http import HTTPStatus
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from labkit.core.errors import SettingsError
from labkit.services.interface.formats import conforms
from labkit.services.interface.plain import DEEPEST, MOST_CHARACTERS, MOST_ITEMS
from labkit.services.interface.schemas import Invalid, Schema
from tests.cases import cases


def refused(schema: dict[str, Any], value: object) -> tuple[str, str]:
    with pytest.raises(Invalid) as error:
        Schema.read(schema).filled(value)
    return error.value.path, error.value.message


@cases(
    ("schema", "good", "bad", "message"),
    [
        ({"type": "integer"}, 1.0, 1.5, "expected integer, not number"),
        ({"type": "integer"}, -(2**60), True, "expected integer, not boolean"),
        ({"type": "number"}, 1, False, "expected number, not boolean"),
        ({"type": "number"}, 1, float("nan"), "expected number, not infinity or NaN"),
        ({"type": ["null", "string"]}, None, 1, "expected null or string, not integer"),
        ({"type": "boolean"}, False, 0, "expected boolean, not integer"),
        ({"enum": ["on", "off"]}, "on", "On", "expected one of on, off"),
        ({"enum": ["1"]}, "1", 1, "expected one of 1"),
        ({"enum": ["1"]}, "1", ["1"], "expected one of 1"),
        ({"maximum": 0}, 0, 0.001, "expected at most 0"),
        ({"minimum": 0}, 0, -1, "expected at least 0"),
        ({"exclusiveMaximum": 5}, 4.9, 5, "expected less than 5"),
        ({"exclusiveMinimum": 5}, 5.1, 5, "expected more than 5"),
        ({"maximum": 5, "exclusiveMaximum": True}, 4.9, 5, "expected less than 5"),
        ({"minimum": 0, "exclusiveMinimum": True}, 0.1, 0, "expected more than 0"),
        ({"maximum": 5, "exclusiveMaximum": False}, 5, 6, "expected at most 5"),
        ({"maximum": 9, "exclusiveMaximum": 5}, 4, 5, "expected less than 5"),
        ({"pattern": "^a.$"}, "aé", "a\n", "expected a text that matches ^a.$"),
        ({"pattern": "b"}, "abc", "ac", "expected a text that matches b"),  # matches anywhere
        ({"pattern": "^.$"}, "\udc80", "\udc80\udc80", "expected a text that matches ^.$"),  # bytes from Lua
        ({"maxLength": 1}, "\U0001f600", "ab", "expected at most 1 characters"),
        ({"minLength": 2}, "ab", "\U0001f600", "expected at least 2 characters"),
        ({"maxItems": 0}, [], [1], "expected at most 0 items"),
        ({"minItems": 1}, [1], [], "expected at least 1 items"),
        (
            {"uniqueItems": True},
            [1, True, "1", [1], {"a": 1}],
            [1, 1.0],
            "expected items that are all different",
        ),
        (
            {"uniqueItems": True},
            [[1], [True]],
            [{"a": [1]}, {"a": [1.0]}],
            "expected items that are all different",
        ),
        ({"required": ["a", "b"]}, {"a": None, "b": 1}, {"a": 1}, "expected b, which is required"),
        ({"maxProperties": 1}, {"a": 1}, {"a": 1, "b": 2}, "expected at most 1 properties"),
        ({"minProperties": 1}, {"a": 1}, {}, "expected at least 1 properties"),
        ({"format": "email"}, "ann@example.com", "Ann <ann@example.com>", "expected a text of format email"),
        ({"format": "int32"}, "anything", None, ""),
    ],
)
def test_each_keyword_accepts_and_refuses(
    schema: dict[str, Any], good: object, bad: object, message: str
) -> None:
    assert Schema.read(schema).filled(good) == good
    if message:
        assert refused(schema, bad) == ("", message)


@cases(
    ("schema", "value", "path"),
    [
        ({"properties": {"a": {"type": "number"}}}, {"a": ""}, "a"),
        ({"properties": {"a": False}}, {"a": 1}, "a"),
        ({"items": {"properties": {"a": {"maximum": 1}}}}, [{"a": 1}, {"a": 2}], "[1].a"),
        ({"items": [{"type": "string"}], "additionalItems": {"type": "number"}}, ["", 1, ""], "[2]"),
        ({"items": [{"type": "string"}], "additionalItems": False}, ["", 1], "[1]"),
        ({"additionalProperties": False, "properties": {"a": {}}}, {"a": 1, "b": 1}, "b"),
        (
            {"additionalProperties": {"type": "number"}, "patternProperties": {"^x": {}}},
            {"x1": "", "y": ""},
            "y",
        ),
        ({"patternProperties": {"^x": {"type": "number"}, "1$": {"maximum": 3}}}, {"x1": 4}, "x1"),
        ({"patternProperties": {"^x": False}}, {"ax": 1, "x": 1}, "x"),
        ({}, {"a": [{1: 2}]}, "a[0]"),
        ({}, {"a": {"b": b""}}, "a.b"),
        ({}, [[10**400]], "[0][0]"),
    ],
)
def test_an_error_has_the_path_of_the_value(schema: dict[str, Any], value: object, path: str) -> None:
    assert refused(schema, value)[0] == path


def test_a_number_of_another_class_becomes_plain() -> None:
    class Level(float):
        pass

    assert refused({"type": "string"}, Level(1.5)) == ("", "expected string, not number")
    assert type(Schema().filled(Level(1.5))) is float
    assert type(Schema.read({"type": "integer"}).filled(HTTPStatus.OK)) is int
    assert Schema.read({"type": "number"}).filled(2**1024 - 1) == 2**1024 - 1  # above the largest float


def test_an_error_does_not_contain_the_value() -> None:
    schema = {"properties": {"key": {"type": "string", "maxLength": 3, "pattern": "x", "enum": ["a"]}}}
    with pytest.raises(Invalid) as error:
        Schema.read(schema).filled({"key": "secret"})
    assert "secret" not in str(error.value)


# --- defaults -----------------------------------------------------------------------------------------------

LIGHT = {
    "type": "object",
    "title": "light",
    "required": ["level"],
    "properties": {
        "level": {"type": "integer", "default": 5},
        "fade": {"type": "object", "properties": {"seconds": {"default": 1}}},
        "color": {"type": "object", "default": {}, "properties": {"red": {"default": 255}}},
        "steps": {"type": "array", "items": {"properties": {"level": {"default": 0}}}},
    },
    "patternProperties": {"^zone": {"properties": {"on": {"default": True}}}},
    "additionalProperties": {"properties": {"other": {"default": "yes"}}},
}


def test_defaults_are_filled_in_at_every_level() -> None:
    schema = Schema.read(LIGHT)
    assert schema.title == "light"
    given = {"steps": [{}, {"level": 3}], "zone1": {}, "more": {}, "fade": {}, "color": {"red": 1}}
    assert schema.filled(given) == {
        "level": 5,
        "fade": {"seconds": 1},
        "color": {"red": 1},
        "steps": [{"level": 0}, {"level": 3}],
        "zone1": {"on": True},
        "more": {"other": "yes"},
    }
    assert given["steps"] == [{}, {"level": 3}]  # the caller's value is not changed
    assert schema.filled({}) == {"level": 5, "color": {"red": 255}}


def test_a_filled_in_default_belongs_to_one_call() -> None:
    schema = Schema.read({"properties": {"list": {"default": []}}})
    schema.filled({})["list"].append(1)
    assert schema.filled({}) == {"list": []}


def test_the_title_defaults_to_event() -> None:
    assert Schema().title == Schema.read({}).title == "event"


def test_absent_data_is_replaced_by_the_schemas_default() -> None:
    assert Schema.read({"default": {}, "properties": {"a": {"default": 1}}}).filled(None) == {"a": 1}
    assert Schema().filled(None) is None
    assert Schema.read({"properties": {"a": {"default": 1}}}).filled({"a": None}) == {"a": None}


def test_an_empty_table_has_the_type_of_the_schema() -> None:
    both = {"properties": {"list": {"type": "array"}, "table": {"type": ["object", "null"]}, "any": {}}}
    assert Schema.read(both).filled({"list": {}, "table": [], "any": []}) == {
        "list": [],
        "table": {},
        "any": [],
    }
    assert Schema.read({"type": "object", "properties": {"a": {"default": 1}}}).filled([]) == {"a": 1}
    assert Schema.read({"type": ["array", "object"]}).filled([]) == []
    assert refused({"type": "array"}, {"a": 1}) == ("", "expected array, not object")


# --- valid and invalid schemas ------------------------------------------------------------------------------


@cases(
    ("schema", "error"),
    [
        ({"x-exosite-restricted": "yes"}, "x-exosite-restricted: expected a valid boolean"),
        (
            {"type": "text"},
            "type: expected 'array', 'boolean', 'integer', 'null', 'number', 'object' or 'string'",
        ),
        ({"type": []}, "type: "),
        ({"enum": []}, "enum: "),
        ({"enum": [1]}, "enum[0]: expected a valid string"),
        ({"maxLength": -1}, "maxLength: expected "),
        ({"maxLength": True}, "maxLength: expected a valid integer"),
        ({"uniqueItems": 1}, "uniqueItems: expected a valid boolean"),
        ({"required": True}, "required: expected "),
        ({"required": "a"}, "required: expected "),
        ({"exclusiveMinimum": True}, "exclusiveMinimum: true needs minimum"),
        ({"items": [{}, 1]}, "items[1]: expected a mapping"),
        ({"pattern": "(?=a)"}, "pattern: expected a pattern that RE2 knows: invalid perl operator: (?="),
        ({"pattern": r"(a)\1"}, r"pattern: expected a pattern that RE2 knows: invalid escape sequence: \1"),
        ({"pattern": "\ud800"}, "pattern: expected a pattern of valid Unicode"),
        ({"pattern": "a" * 1001}, "pattern: expected a pattern of at most 1000 characters"),
        ({"pattern": 1}, "pattern: expected a pattern, a string"),
        (
            {"patternProperties": {"(": {}}},
            "patternProperties.(: expected a pattern that RE2 knows: missing ): (",
        ),
        ({"default": "5", "type": "number"}, "default: expected number, not string"),
        ({"properties": {"a": {"default": 5, "maximum": 4}}}, "properties.a.default: expected at most 4"),
        (
            {"items": [{"default": {"b": 1}, "properties": {"b": False}}]},
            "items[0].default.b: is not expected",
        ),
    ],
)
def test_an_invalid_schema_is_refused_with_its_key(schema: dict[str, Any], error: str) -> None:
    with pytest.raises(SettingsError) as found:
        Schema.read(schema)
    below = ": " if "default" in error or "true needs" in error else "."
    assert str(found.value).startswith(f"schema{below}{error}")


def test_the_size_of_a_schema_is_limited() -> None:
    endless: dict[str, Any] = {}
    endless["items"] = endless
    many: dict[str, Any] = {f"p{n}": {} for n in range(501)}
    schema: dict[str, Any]
    for schema in (
        endless,
        {"description": "x" * (MOST_CHARACTERS + 1)},
        {"properties": many},
        {"pattern": "(ab?c?d?){400}"},
        {"patternProperties": {f"^{n}[ab]{{200}}": {} for n in range(5)}},
    ):
        with pytest.raises(SettingsError):
            Schema.read(schema)


# --- limits of time and size --------------------------------------------------------------------------------


@cases(
    ("schema", "value"),
    [
        ({"pattern": "^(a+)+$"}, "a" * (MOST_CHARACTERS - 1) + "!"),
        ({"pattern": "(x+x+)+y"}, "x" * MOST_CHARACTERS),
        ({"pattern": "[ab]*a[ab]{450}c"}, "ab" * (MOST_CHARACTERS // 2)),
        (
            {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": {}},
            {"a" * (MOST_CHARACTERS - 1) + "!": 1},
        ),
        ({"uniqueItems": True}, [{"a": n} for n in range(MOST_ITEMS // 2 - 1)]),
        ({"uniqueItems": True}, [[n] for n in range(MOST_ITEMS // 2 - 1)]),
        ({"items": {"enum": [f"{n:04}" for n in range(4000)]}}, ["3999"] * (MOST_ITEMS - 1)),
        ({"items": {"properties": {f"p{n}": {} for n in range(500)}}}, [{} for _ in range(MOST_ITEMS - 1)]),
        *(({"format": name}, "1:" * (MOST_CHARACTERS // 2)) for name in ("ipv6", "time", "uri", "hostname")),
        *(
            ({"format": name}, "a." * (MOST_CHARACTERS // 2))
            for name in ("email", "hostname", "uuid", "ipv4")
        ),
    ],
)
def test_no_validation_takes_long(schema: dict[str, Any], value: object) -> None:
    compiled = Schema.read(schema)
    start = time.thread_time()
    with contextlib.suppress(Invalid):
        compiled.filled(value)
    assert time.thread_time() - start < 1  # a fifth of a second at most, without measurement of coverage


def test_the_size_of_a_value_is_limited() -> None:
    deep: object = 1
    for _ in range(DEEPEST):
        deep = [deep]
    assert Schema().filled(deep) == deep
    endless: list[object] = []
    endless.append(endless)
    for value in (
        [deep],
        endless,
        [0] * MOST_ITEMS,
        "x" * (MOST_CHARACTERS + 1),
        {"x" * (MOST_CHARACTERS + 1): 1},
    ):
        with pytest.raises(Invalid):
            Schema().filled(value)
    assert Schema().filled([0] * (MOST_ITEMS - 1))


def test_defaults_do_not_enlarge_a_value_much() -> None:
    schema = Schema.read({"items": {"properties": {"a": {"default": list(range(1000))}}}})
    with pytest.raises(Invalid, match="at most 10000 values in all"):
        schema.filled([{}] * 5000)


# --- against jsonschema itself ------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "ab", ""])
VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 1.0, 1.5, -3, "", "a", "ab"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
COUNTS = st.integers(0, 3)
KEYWORDS: dict[str, st.SearchStrategy[Any]] = {
    "type": st.sampled_from(
        ["boolean", "integer", "null", "number", "string", ["null", "integer"], ["array", "object"]]
    ),
    "enum": st.lists(st.sampled_from(["", "a", "ab"]), min_size=1),
    "maximum": st.integers(-3, 3),
    "minimum": st.floats(-3, 3),
    "exclusiveMaximum": st.integers(-3, 3),
    "exclusiveMinimum": st.integers(-3, 3),
    "pattern": st.sampled_from(["^a", "b$", "^$", "a.?"]),
    "uniqueItems": st.booleans(),
    "required": st.lists(NAMES, max_size=2),
} | dict.fromkeys("maxLength minLength maxItems minItems maxProperties minProperties".split(), COUNTS)


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    sub = inner | st.booleans()
    nested = {
        "properties": st.dictionaries(NAMES, sub, max_size=2),
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$", "^$"]), sub, max_size=2),
        "additionalProperties": sub,
        "items": sub | st.lists(sub, max_size=2),
        "additionalItems": sub,
    }
    return st.fixed_dictionaries({}, optional=KEYWORDS | nested)


@given(st.recursive(st.fixed_dictionaries({}, optional=KEYWORDS), _schemas, max_leaves=4), VALUES)
def test_it_accepts_the_same_values_as_jsonschema(schema: dict[str, Any], value: object) -> None:
    try:
        accepted = Schema.read(schema).filled(value) == value
    except Invalid:
        accepted = False
    assert accepted == Draft7Validator(schema).is_valid(value)


# --- the cost of importing jsonschema -----------------------------------------------------------------------


@pytest.mark.skipif(find_spec("rfc3987_syntax") is None, reason="jsonschema is here without its extras")
def test_the_grammar_of_an_unchecked_format_is_not_built() -> None:
    code = """
import sys, types, labkit.reporting, jsonschema
assert not {"lark", "rfc3987_syntax"} & sys.modules.keys()
asked = []  # in place of the real one, which builds its grammar for seconds
sys.modules["rfc3987_syntax"] = types.SimpleNamespace(is_valid_syntax=lambda *given: asked.append(given) or True)
assert jsonschema.FormatChecker().conforms("http://é.example/", "iri")
assert [list(each) for each in asked] == [["iri", "http://é.example/"]], asked
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# --- formats ------------------------------------------------------------------------------------------------


@cases(
    ("format", "good", "bad"),
    [
        ("date", "2024-02-29", "2023-02-29 20240229 2024-2-9 ٢٠٢٤-01-01"),
        (
            "time",
            "12:00:00Z 23:59:60Z 12:00:00.123456789+05:30 12:00:00z",
            "12:00Z 12:00:00 24:00:00Z 12:00:61Z",
        ),
        (
            "date-time",
            "2024-02-29T12:00:00Z 1999-12-31t23:59:60.5-11:00",
            "2024-02-29 2023-02-29T12:00:00Z T",
        ),
        ("email", "ann@example.com ann@localhost", "ann @example.com a@b@c"),
        ("hostname", "example.com a x-1.y " + "a" * 63, "-a a- a..b a_b .a a. é " + "a" * 64),
        ("ipv4", "127.0.0.1 0.0.0.0", "1.2.3 256.0.0.1 01.2.3.4 ::1"),
        ("ipv6", "::1 fe80::1 ::ffff:1.2.3.4", "1.2.3.4 ::g fe80::1%eth0 :::"),
        (
            "uri",
            "https://example.com/a?b=%20#c urn:x:y mailto:a@b.c",
            "/a //a a%20:b http://a%2 é:a http://[\\]",
        ),
        (
            "uuid",
            "2eb8aa08-aa98-11ea-b4aa-73b441d16380",
            "2eb8aa08aa9811eab4aa73b441d16380 {x} 2eb8aa08-aa98",
        ),
        ("password", "x", ""),
    ],
)
def test_formats(format: str, good: str, bad: str) -> None:
    assert [text for text in good.split() if not conforms(text, format)] == []
    assert [text for text in bad.split() if conforms(text, format)] == []
