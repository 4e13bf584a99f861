"""Configuration of a publisher: each rule of document 3 at its bound, and errors that name the key."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.core.errors import SettingsError
from labkit.services.interface.configuration import Definition
from labkit.services.interface.schemas import Invalid
from tests.cases import cases


def read(*, own_id: str = "lights", own_name: str = "", **plain: Any) -> Definition:
    return Definition.read(plain, solution=own_id, name=own_name)


def test_nothing_is_required() -> None:
    found = read()
    assert (found.default_script_key, found.name, found.mode, found.type) == ("lights", "lights", None, "S")
    assert (found.whitelist, found.tags, found.operations, found.events) == ((), (), {}, {})
    assert found.description == ""


@cases(
    ("given", "key", "name"),
    [
        ({"name": "Smart lights, é 2!"}, "Smartlights2", "Smart lights, é 2!"),
        ({"name": "2 lights"}, "lights", "2 lights"),  # the key would begin with a digit
        ({"name": "é"}, "lights", "é"),
        ({"name": "n" * 100}, "lights", "n" * 100),  # more than 63 characters
        ({"name": "n" * 63}, "n" * 63, "n" * 63),
        ({"default_script_key": "Ab"}, "Ab", "Ab"),
        ({"default_script_key": "a1" * 31 + "z", "name": "Other"}, "a1" * 31 + "z", "Other"),
    ],
)
def test_key_and_name_default_to_each_other(given: dict[str, Any], key: str, name: str) -> None:
    found = read(**given)
    assert (found.default_script_key, found.name) == (key, name)


def test_the_name_defaults_to_the_solutions() -> None:
    found = read(own_name="My house")
    assert (found.default_script_key, found.name) == ("Myhouse", "Myhouse")


def test_a_whole_configuration() -> None:
    found = read(
        contact={"name": "n" * 100, "email": "ann@example.com"},
        description="d" * 1000,
        tags=["t" * 20] * 10,
        whitelist=["labkit", "other"],
        parameters=[
            {"name": "A_1", "description": "d" * 1000},
            {"name": "n" * 100, "type": "array", "items": {"type": "string", "additionalItems": False}},
            {"name": "place", "type": "object", "properties": {"room": {"default": "hall"}}, "default": {}},
            {"name": "level", "type": "integer", "default": 5, "restricted": True},
        ],
        operations=[
            {"name": "light", "script": "return 1", "parameters": {"title": "order"}},
            {"name": "l2"},
        ],
        events=[{"name": "changed", "default_script": "print(1)", "response": {"type": "object"}}],
        mode="sync",
        type="P",
    )
    assert list(found.operations) == ["light", "l2"]
    assert found.operations["light"].parameters.title == "order"
    assert found.operations["l2"].parameters.title == found.events["changed"].parameters.title == "event"
    assert found.events["changed"].default_script == "print(1)"
    assert found.parameters["level"].restricted
    assert found.parameters["A_1"].type == ("string",)
    with pytest.raises(Invalid):
        found.events["changed"].response.filled(1)


def test_a_key_without_a_value_is_as_absent() -> None:
    assert read(operations=None, contact=None, name=None) == read()


@cases(
    ("given", "error"),
    [
        (
            {"default_script_key": "a"},
            "default_script_key: expected 2 to 63 letters and digits, a letter first",
        ),
        ({"default_script_key": "ab\n"}, "default_script_key: "),
        ({"contact": {"email": "Ann <ann@example.com>"}}, "contact.email: "),
        ({"contact": {"phone": "1"}}, "contact.phone: unknown key"),
        ({"whitelist": [1]}, "whitelist[0]: "),
        ({"mode": "both"}, "mode: expected 'sync' or 'async'"),
        ({"type": "X"}, "type: "),
        ({"quota": {}}, "quota: unknown key"),
        ({"parameters": {"a": 1}}, "parameters: "),
        ({"parameters": [{"name": "abé"}]}, "parameters[0].name: "),
        ({"parameters": [{"type": "string"}]}, "parameters[0].name: is required"),
        ({"parameters": [{"name": "abc"}, {"name": "abc"}]}, "parameters[1].name: abc is given twice"),
        (
            {"parameters": [{"name": "abc", "default": 1}]},
            "parameters[0]: default: expected string, not integer",
        ),
        ({"parameters": [{"name": "abc", "items": {"type": 1}}]}, "parameters[0].items.type: "),
        (
            {"operations": [{"name": "a"}]},
            "operations[0].name: expected a letter, then at least one letter or digit",
        ),
        ({"operations": [{"name": "ab"}, {"name": "ab"}]}, "operations[1].name: ab is given twice"),
        ({"operations": [{"name": "ab", "default_script": ""}]}, "operations[0].default_script: unknown key"),
        ({"operations": [{"name": "ab", "script": 1}]}, "operations[0].script: "),
        ({"operations": [{"name": "subscriberAdded"}]}, "operations[0]: name: subscriberAdded is an event"),
        (
            {"operations": [{"name": "ab", "parameters": {"title": "a b"}}]},
            "operations[0].parameters: title: ",
        ),
        ({"events": [{"name": "ab", "parameters": {"title": "end"}}]}, "events[0].parameters: title: "),
        ({"events": [{"name": "ab", "script": ""}]}, "events[0].script: unknown key"),
        (
            {
                "events": [
                    {"name": "ab", "response": {"items": [{"properties": {"a": {"pattern": "(?=a)"}}}]}}
                ]
            },
            "events[0].response.items[0].properties.a.pattern: expected a pattern that RE2 knows",
        ),
        ({"description": {1, 2}}, "description: expected a value of JSON, not set"),
        (
            {"operations": [{"name": "ab", "script": "x" * 1_048_577}]},
            "operations[0].script: expected at most ",
        ),
        ({"tags": ["a"] * 20_001}, "tags[19998]: expected at most 20000 values in all"),
        ({"operations": [{"name": f"o{n}"} for n in range(501)]}, "operations: "),
    ],
)
def test_an_invalid_value_is_refused_with_its_key(given: dict[str, Any], error: str) -> None:
    with pytest.raises(SettingsError) as found:
        read(**given)
    assert str(found.value).startswith(error)


def test_a_configuration_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(SettingsError, match="expected a mapping, not array"):
        Definition.read([], solution="lights", name="")  # type: ignore[arg-type]


def test_a_configuration_that_contains_itself_is_refused() -> None:
    endless: dict[str, Any] = {"name": "ab"}
    endless["parameters"] = endless
    with pytest.raises(SettingsError, match="expected at most 40 levels"):
        read(operations=[endless])


def test_without_a_usable_name_the_key_is_required() -> None:
    with pytest.raises(SettingsError, match="default_script_key: is required"):
        read(own_id="1", name="é")


def test_unknown_words_of_schemas_are_named_with_what_was_perhaps_meant() -> None:
    schema = {"maxLenght": 1, "x-note": {"maxLength": 1}, "items": [{"const": "é"}, {"": 0}]}
    found = read(
        parameters=[{"name": "abc"}, {"name": "abd", "restrictd": True}],
        operations=[{"name": "ab", "response": schema}],
        events=[{"name": "ac"}, {"name": "ab", "parameters": {"patternProperties": {"^a": {"not": {}}}}}],
    )
    ignored = "unknown word of a schema, ignored"
    assert list(found.warnings()) == [
        f"parameters[1].restrictd: {ignored}; did you mean restricted?",
        f"operations[0].response.maxLenght: {ignored}; did you mean maxLength?",
        f"operations[0].response.x-note: {ignored}",
        f"operations[0].response.items[0].const: {ignored}",
        f"operations[0].response.items[1].: {ignored}",
        f"events[1].parameters.patternProperties.^a.not: {ignored}",
    ]


def test_both_words_restrict_a_parameter() -> None:
    parameters = [
        {"name": "abc", "restricted": True},
        {"name": "abd", "x-exosite-restricted": True},
        {"name": "abe", "x-exosite-restricted": False},
    ]
    assert read(parameters=parameters).restricted == {"abc", "abd"}
