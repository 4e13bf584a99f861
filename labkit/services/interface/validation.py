"""Validation of values against schemas: jsonschema's validator of draft 7, without its slow keywords.

Keywords that could take long are replaced: patterns are run by RE2, and the time of `uniqueItems` and `enum` grows only
with the size of the value. Errors never contain the value. Schemas have the form that `Keywords.draft7()` returns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from labkit.services.interface.formats import conforms
from labkit.services.interface.jsonschema_import import Draft7Validator, ValidationError, extend
from labkit.services.interface.keywords import Re2Pattern
from labkit.services.interface.plain import Invalid, joined, kind

LONGEST_LIST = 200  # characters of a list in an error


def _pattern(validator: Any, pattern: Re2Pattern, value: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not pattern.search(value):
        yield ValidationError("")


def _properties(validator: Any, given: dict[str, Any], value: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, dict):
        for name, each in value.items():  # not over the schema, which may have many more properties
            if name in given:
                yield from validator.descend(each, given[name], path=name)


def _pattern_properties(validator: Any, given: dict[Re2Pattern, Any], value: Any, schema: Any) -> Any:
    if isinstance(value, dict):
        for pattern, inner in given.items():
            for name, each in value.items():
                if pattern.search(name):
                    yield from validator.descend(each, inner, path=name)


def _additional_properties(validator: Any, inner: Any, value: Any, schema: Any) -> Any:
    if not isinstance(value, dict) or inner is True:
        return
    named, patterns = schema.get("properties", ()), schema.get("patternProperties", ())
    for name, each in value.items():
        if name not in named and not any(pattern.search(name) for pattern in patterns):
            yield from validator.descend(each, inner, path=name)


def _forbidden(validator: Any, forbidden: bool, value: Any, schema: Any) -> Iterator[ValidationError]:
    yield ValidationError("")


def _format(validator: Any, format: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not conforms(value, format):
        yield ValidationError("")


def _enum(validator: Any, values: dict[str, None], value: Any, schema: Any) -> Iterator[ValidationError]:
    if not isinstance(value, str) or value not in values:
        yield ValidationError("")


def _unique_items(validator: Any, unique: bool, value: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, list) and len({_hashable(each) for each in value}) < len(value):
        yield ValidationError("")


def _hashable(value: Any) -> object:
    """Return a hashable object that is equal exactly for values equal in JSON Schema: 1 equals 1.0, but not true."""
    if isinstance(value, dict):
        return frozenset((name, _hashable(each)) for name, each in value.items())
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return (bool, value) if isinstance(value, bool) else value


def _is_number(checker: Any, value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


Validator = extend(  # type: ignore[no-untyped-call]
    Draft7Validator,
    {
        "pattern": _pattern,
        "properties": _properties,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "forbidden": _forbidden,
        "format": _format,
        "enum": _enum,
        "uniqueItems": _unique_items,
    },
    type_checker=Draft7Validator.TYPE_CHECKER.redefine("number", _is_number),
)


def validator(schema: Mapping[str, Any]) -> Callable[[Any], None]:
    """Return a function that raises Invalid, with path and reason, if a plain value violates `schema`."""
    compiled = Validator(schema)

    def validate(value: Any) -> None:
        for error in compiled.iter_errors(value):
            raise Invalid(_message(error), joined(list(error.absolute_path))) from None

    return validate


EXPECTED: dict[str, str] = {  # error messages by keyword; {} is the keyword's value
    "pattern": "expected a text that matches {}",
    "format": "expected a text of format {}",
    "maximum": "expected at most {}",
    "minimum": "expected at least {}",
    "exclusiveMaximum": "expected less than {}",
    "exclusiveMinimum": "expected more than {}",
    "maxLength": "expected at most {} characters",
    "minLength": "expected at least {} characters",
    "maxItems": "expected at most {} items",
    "minItems": "expected at least {} items",
    "maxProperties": "expected at most {} properties",
    "minProperties": "expected at least {} properties",
    "uniqueItems": "expected items that are all different",
}


def _message(error: ValidationError) -> str:
    """Return the message of an error: what the schema expects, without the invalid value."""
    keyword, given = str(error.validator), cast("Any", error.validator_value)
    if keyword == "type":
        return f"expected {' or '.join(given)}, not {kind(error.instance)}"
    if keyword == "enum":
        return f"expected one of {_listed(given)}"
    if keyword == "required":
        missing = [name for name in given if name not in cast("dict[str, Any]", error.instance)]
        return f"expected {_listed(missing)}, which is required"
    if keyword in EXPECTED:
        return EXPECTED[keyword].format(given)
    return "is not expected"


def _listed(names: Any) -> str:
    text = ", ".join(names)
    return text if len(text) <= LONGEST_LIST else f"{text[:LONGEST_LIST]}…"
