"""Faults in what schemas let through, and in what they fill in."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import mutant
from labkit.services.interface.keywords import Keywords
from labkit.services.interface.schemas import Schema

DRAFT7 = "labkit.services.interface.keywords:Keywords.draft7"
HAS_DEFAULT = "labkit.services.interface.keywords:Keywords.has_default"
FILLED = "labkit.services.interface.schemas:Schema.filled"

Table = dict[str, Any]


def _schema(original: Any, change: Any) -> Any:
    """Have values validated by another schema: change(schema)."""
    return lambda self: change(original(self))


def _without(original: Any, *names: str) -> Any:
    """Have keywords ignored."""
    return _schema(
        original, lambda schema: {name: each for name, each in schema.items() if name not in names}
    )


@mutant("IFC-SCH-1", DRAFT7)
def any_type(original: Any) -> Any:
    """type narrows nothing"""
    return _without(original, "type")


@mutant("IFC-SCH-1", DRAFT7)
def integers_are_numbers(original: Any) -> Any:
    """a number with a fraction is an integer"""

    def changed(schema: Table) -> Table:
        types = ["number" if each == "integer" else each for each in schema.get("type", ())]
        return schema | {"type": types} if types else schema

    return _schema(original, changed)


@mutant("IFC-SCH-1", DRAFT7)
def numbers_are_integers(original: Any) -> Any:
    """a number has no fraction"""

    def changed(schema: Table) -> Table:
        types = ["integer" if each == "number" else each for each in schema.get("type", ())]
        return schema | {"type": types} if types else schema

    return _schema(original, changed)


@mutant("IFC-SCH-1", FILLED)
def booleans_are_numbers(original: Any) -> Any:
    """true is the number 1"""

    def broken(self: Schema, value: Any) -> Any:
        numeric = {*(self.keywords.type or ())} & {"integer", "number"}
        return original(self, int(value) if numeric and isinstance(value, bool) else value)

    return broken


@mutant("IFC-SCH-2", DRAFT7)
def no_bounds(original: Any) -> Any:
    """maximum and minimum narrow nothing"""
    return _without(original, "maximum", "minimum")


@mutant("IFC-SCH-2", DRAFT7)
def bounds_included(original: Any) -> Any:
    """exclusive bounds are included"""
    names = {"exclusiveMaximum": "maximum", "exclusiveMinimum": "minimum"}
    return _schema(original, lambda schema: {names.get(name, name): each for name, each in schema.items()})


@mutant("IFC-SCH-2", DRAFT7)
def bounds_excluded(original: Any) -> Any:
    """maximum and minimum are excluded"""
    names = {"maximum": "exclusiveMaximum", "minimum": "exclusiveMinimum"}
    return _schema(original, lambda schema: {names.get(name, name): each for name, each in schema.items()})


@mutant("IFC-SCH-3", DRAFT7)
def any_length(original: Any) -> Any:
    """lengths narrow nothing"""
    return _without(original, "maxLength", "minLength")


@mutant("IFC-SCH-3", DRAFT7)
def any_text(original: Any) -> Any:
    """pattern narrows nothing"""
    return _without(original, "pattern")


@mutant("IFC-SCH-3", DRAFT7)
def any_of_the_enum(original: Any) -> Any:
    """enum narrows nothing"""
    return _without(original, "enum")


@mutant("IFC-SCH-4", DRAFT7)
def any_number_of_items(original: Any) -> Any:
    """maxItems and minItems narrow nothing"""
    return _without(original, "maxItems", "minItems")


@mutant("IFC-SCH-4", DRAFT7)
def any_items(original: Any) -> Any:
    """items and additionalItems narrow nothing"""
    return _without(original, "items", "additionalItems")


@mutant("IFC-SCH-4", DRAFT7)
def items_again(original: Any) -> Any:
    """uniqueItems narrows nothing"""
    return _without(original, "uniqueItems")


@mutant("IFC-SCH-4", DRAFT7)
def additional_items(original: Any) -> Any:
    """additionalItems narrows nothing"""
    return _without(original, "additionalItems")


@mutant("IFC-SCH-5", DRAFT7)
def nothing_required(original: Any) -> Any:
    """required narrows nothing"""
    return _without(original, "required")


@mutant("IFC-SCH-5", DRAFT7)
def any_properties(original: Any) -> Any:
    """properties narrow nothing"""
    return _without(original, "properties", "patternProperties", "additionalProperties")


@mutant("IFC-SCH-5", DRAFT7)
def additional_properties(original: Any) -> Any:
    """additionalProperties narrows nothing"""
    return _without(original, "additionalProperties")


@mutant("IFC-SCH-5", DRAFT7)
def any_number_of_properties(original: Any) -> Any:
    """maxProperties and minProperties narrow nothing"""
    return _without(original, "maxProperties", "minProperties")


@mutant("IFC-SCH-6", HAS_DEFAULT)
def no_defaults(original: Any) -> Any:
    """defaults are not filled in"""
    return property(lambda self: False)


@mutant("IFC-SCH-6", HAS_DEFAULT)
def defaults_that_are_false(original: Any) -> Any:
    """a default of false, 0 or nothing is none"""
    return property(lambda self: original.fget(self) and bool(self.default))


@mutant("IFC-SCH-6", FILLED)
def defaults_above(original: Any) -> Any:
    """a table that was given gets no defaults"""

    def broken(self: Schema, value: Any) -> Any:
        filled = original(self, value)
        if not isinstance(value, dict) or not isinstance(filled, dict):
            return filled
        return {name: value.get(name, each) for name, each in filled.items()}

    return broken


@mutant("IFC-SCH-7", DRAFT7)
def examples_alone(original: Any) -> Any:
    """only what stands under examples is let through"""

    def broken(self: Keywords) -> Any:
        schema = original(self)
        return schema | {"enum": dict.fromkeys(map(str, self.examples))} if self.examples else schema

    return broken
