"""Faults in the data that schemas accept, and in the defaults that they fill in."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import Change, change_result
from labkit.conformance.mutant import patch

DRAFT7 = "labkit.services.interface.keywords:Keywords.draft7"
HAS_DEFAULT = "labkit.services.interface.keywords:Keywords.has_default"
FILLED = "labkit.services.interface.schemas:Schema.filled"

Table = dict[str, Any]


def without(*names: str) -> Change:
    """Return a change that ignores keywords."""
    return change_result(lambda schema: {name: each for name, each in schema.items() if name not in names})


def renamed(**names: str) -> Change:
    """Return a change that reads keywords as others."""
    return change_result(lambda schema: {names.get(name, name): each for name, each in schema.items()})


def retyped(one: str, other: str) -> Change:
    """Return a change that reads a type as another."""

    def changed(schema: Table) -> Table:
        types = [other if each == one else each for each in schema.get("type", ())]
        return schema | {"type": types} if types else schema

    return change_result(changed)


words_lost = patch(
    "IFC-SCH-14",
    "labkit.services.interface.keywords:Keywords.unknown_words",
    "unknown words of a schema are ignored in silence",
)(lambda original, self: iter(()))
any_type = patch("IFC-SCH-1", DRAFT7, "type narrows nothing")(without("type"))
integers_are_numbers = patch("IFC-SCH-1", DRAFT7, "a number with a fraction is an integer")(
    retyped("integer", "number")
)
numbers_are_integers = patch("IFC-SCH-1", DRAFT7, "a number has no fraction")(retyped("number", "integer"))
no_bounds = patch("IFC-SCH-2", DRAFT7, "maximum and minimum narrow nothing")(without("maximum", "minimum"))
bounds_included = patch("IFC-SCH-2", DRAFT7, "exclusive bounds are included")(
    renamed(exclusiveMaximum="maximum", exclusiveMinimum="minimum")
)
bounds_excluded = patch("IFC-SCH-2", DRAFT7, "maximum and minimum are excluded")(
    renamed(maximum="exclusiveMaximum", minimum="exclusiveMinimum")
)
any_length = patch("IFC-SCH-3", DRAFT7, "lengths narrow nothing")(without("maxLength", "minLength"))
any_text = patch("IFC-SCH-3", DRAFT7, "pattern narrows nothing")(without("pattern"))
any_of_the_enum = patch("IFC-SCH-3", DRAFT7, "enum narrows nothing")(without("enum"))
any_number_of_items = patch("IFC-SCH-4", DRAFT7, "maxItems and minItems narrow nothing")(
    without("maxItems", "minItems")
)
any_items = patch("IFC-SCH-4", DRAFT7, "items and additionalItems narrow nothing")(
    without("items", "additionalItems")
)
items_again = patch("IFC-SCH-4", DRAFT7, "uniqueItems narrows nothing")(without("uniqueItems"))
additional_items = patch("IFC-SCH-4", DRAFT7, "additionalItems narrows nothing")(without("additionalItems"))
nothing_required = patch("IFC-SCH-5", DRAFT7, "required narrows nothing")(without("required"))
any_properties = patch("IFC-SCH-5", DRAFT7, "properties narrow nothing")(
    without("properties", "patternProperties", "additionalProperties")
)
additional_properties = patch("IFC-SCH-5", DRAFT7, "additionalProperties narrows nothing")(
    without("additionalProperties")
)
any_number_of_properties = patch("IFC-SCH-5", DRAFT7, "maxProperties and minProperties narrow nothing")(
    without("maxProperties", "minProperties")
)
no_defaults = patch("IFC-SCH-6", HAS_DEFAULT, "defaults are not filled in")(lambda original, self: False)
defaults_that_are_false = patch(
    "IFC-SCH-6", HAS_DEFAULT, "a default of false, 0 or an empty value is ignored"
)(lambda original, self: original(self) and bool(self.default))


@patch("IFC-SCH-1", FILLED)
def booleans_are_numbers(original: Any, self: Any, value: Any) -> Any:
    """true is the number 1"""
    is_number = {*(self.keywords.type or ())} & {"integer", "number"}
    return original(self, int(value) if isinstance(value, bool) and is_number else value)


@patch("IFC-SCH-6", FILLED)
def defaults_above(original: Any, self: Any, value: Any) -> Any:
    """a table that was given gets no defaults"""
    filled = original(self, value)
    return {**filled, **value} if isinstance(value, dict) and isinstance(filled, dict) else filled


@patch("IFC-SCH-7", DRAFT7)
def examples_alone(original: Any, self: Any) -> Any:
    """only the values under examples are accepted"""
    return original(self) | ({"enum": dict.fromkeys(map(str, self.examples))} if self.examples else {})
