"""Validation of plain values against schemas in the form that `Keywords.draft7()` returns, as JSON Schema draft 7 says.

A schema becomes functions, by the type of the values that they check. Patterns are run by RE2, and the time of all
other keywords grows only with the size of the value. Errors never contain the value.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from labkit.services.interface.formats import conforms
from labkit.services.interface.keywords import Re2Pattern
from labkit.services.interface.plain import INFINITE, KINDS, Invalid, kind

LONGEST_LIST = 200  # characters of a list in an error

Check: TypeAlias = Callable[[Any], object]  # raises Invalid, with path and reason, for an invalid value
Schema: TypeAlias = Mapping[str, Any]
Type: TypeAlias = type[Any] | None  # of a value; None: of infinity and NaN, which are no numbers


def validator(schema: Schema | bool) -> Check | None:
    """Return a function that raises Invalid if a plain value violates `schema`; None if none does."""
    if isinstance(schema, bool):
        return None if schema else _refuse
    checks: dict[Type, list[Check]] = {each: [] for each in TYPES}
    for keyword, given in schema.items():
        for each, check in _checks(keyword, given, schema):
            checks[each].append(check)

    def validate(value: Any) -> None:
        of = type(value)
        for check in checks[None if of is float and not math.isfinite(value) else of]:
            check(value)

    return validate if any(checks.values()) else None


def _checks(keyword: str, given: Any, schema: Schema) -> Iterator[tuple[Type, Check]]:
    """Yield the checks of a keyword, each with the type of the values that it checks."""
    if keyword == "type":
        yield from _of_types(given)
    elif keyword in NESTED:
        of, make = NESTED[keyword]
        if (check := make(given, schema)) is not None:
            yield of, check
    else:
        types, holds, expected = RULES[keyword]
        check = _rule(holds, given, expected.format(_listed(given) if keyword == "enum" else given))
        yield from ((each, check) for each in types)


def _refuse(value: Any) -> None:
    raise Invalid("is not expected")


def _of_types(given: list[str]) -> Iterator[tuple[Type, Check]]:
    def refuse(value: Any) -> None:
        raise Invalid(f"expected {' or '.join(given)}, not {kind(value)}")

    def expect_whole(value: float) -> None:
        if not value.is_integer():
            refuse(value)

    for of, name in TYPES.items():
        if name not in given and not (of is int and "number" in given):
            yield of, expect_whole if of is float and "integer" in given else refuse


# ---- keywords that a value satisfies as a whole


def _rule(holds: Callable[[Any, Any], object], given: Any, message: str) -> Check:
    def check(value: Any) -> None:
        if not holds(value, given):
            raise Invalid(message)

    return check


def _at_most(value: Any, most: int) -> bool:
    return len(value) <= most


def _at_least(value: Any, least: int) -> bool:
    return len(value) >= least


def _is_one_of(value: Any, values: dict[str, None]) -> bool:
    return isinstance(value, str) and value in values


def _are_different(items: list[Any], different: bool) -> bool:
    return len({_hashable(each) for each in items}) == len(items)


def _hashable(value: Any) -> object:
    """Return a hashable object that is equal exactly for values equal in JSON Schema: 1 equals 1.0, but not true."""
    if isinstance(value, dict):
        return frozenset((name, _hashable(each)) for name, each in value.items())
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return (bool, value) if isinstance(value, bool) else value


TYPES: dict[Type, str] = {**KINDS, None: INFINITE}
NUMBERS, TEXTS, LISTS, OBJECTS = (int, float), (str,), (list,), (dict,)
# By keyword: types of the values that it concerns, test of value and keyword's value, and message with that for {}.
RULES: dict[str, tuple[Iterable[Type], Callable[[Any, Any], object], str]] = {
    "enum": (TYPES, _is_one_of, "expected one of {}"),
    "format": (TEXTS, conforms, "expected a text of format {}"),
    "maximum": (NUMBERS, operator.le, "expected at most {}"),
    "minimum": (NUMBERS, operator.ge, "expected at least {}"),
    "exclusiveMaximum": (NUMBERS, operator.lt, "expected less than {}"),
    "exclusiveMinimum": (NUMBERS, operator.gt, "expected more than {}"),
    "maxLength": (TEXTS, _at_most, "expected at most {} characters"),
    "minLength": (TEXTS, _at_least, "expected at least {} characters"),
    "pattern": (TEXTS, lambda text, pattern: pattern.search(text), "expected a text that matches {}"),
    "maxItems": (LISTS, _at_most, "expected at most {} items"),
    "minItems": (LISTS, _at_least, "expected at least {} items"),
    "uniqueItems": (LISTS, _are_different, "expected items that are all different"),
    "maxProperties": (OBJECTS, _at_most, "expected at most {} properties"),
    "minProperties": (OBJECTS, _at_least, "expected at least {} properties"),
}

# ---- keywords about the entries of objects and lists


def _within(check: Check, key: str | int, value: Any) -> None:
    """Check the entry of a value. Raises Invalid with the path from that value on."""
    try:
        check(value)
    except Invalid as error:
        raise error.below(key) from None


def _required(names: list[str], schema: Schema) -> Check:
    def check(value: dict[str, Any]) -> None:
        if missing := [name for name in names if name not in value]:
            raise Invalid(f"expected {_listed(missing)}, which is required")

    return check


def _properties(given: dict[str, Any], schema: Schema) -> Check | None:
    checks = {name: inner for name, each in given.items() if (inner := validator(each)) is not None}

    def check(value: dict[str, Any]) -> None:
        for name, each in value.items():  # not over the schema, which may have many more properties
            if name in checks:
                _within(checks[name], name, each)

    return check if checks else None


def _pattern_properties(given: dict[Re2Pattern, Any], schema: Schema) -> Check | None:
    checks = [(pattern, inner) for pattern, each in given.items() if (inner := validator(each)) is not None]

    def check(value: dict[str, Any]) -> None:
        for pattern, each_check in checks:
            for name, each in value.items():
                if pattern.search(name):
                    _within(each_check, name, each)

    return check if checks else None


def _additional_properties(given: Any, schema: Schema) -> Check | None:
    inner = validator(given)
    if inner is None:
        return None
    named, patterns = schema.get("properties", ()), schema.get("patternProperties", ())

    def check(value: dict[str, Any]) -> None:
        for name, each in value.items():
            if name not in named and not any(pattern.search(name) for pattern in patterns):
                _within(inner, name, each)

    return check


def _items(given: Any, schema: Schema) -> Check | None:
    if not isinstance(given, list):
        return _from(0, given)
    checks = [validator(each) for each in given]

    def check(value: list[Any]) -> None:
        for index, (inner, each) in enumerate(zip(checks, value, strict=False)):
            if inner is not None:
                _within(inner, index, each)

    return check


def _additional_items(given: Any, schema: Schema) -> Check | None:
    first = schema.get("items")
    return _from(len(first), given) if isinstance(first, list) else None


def _from(start: int, given: Any) -> Check | None:
    """Return the check of the items from an index on."""
    inner = validator(given)
    if inner is None:
        return None

    def check(value: list[Any]) -> None:
        for index, each in enumerate(value[start:], start):
            _within(inner, index, each)

    return check


NESTED: dict[str, tuple[type, Callable[[Any, Schema], Check | None]]] = {
    "required": (dict, _required),
    "properties": (dict, _properties),
    "patternProperties": (dict, _pattern_properties),
    "additionalProperties": (dict, _additional_properties),
    "items": (list, _items),
    "additionalItems": (list, _additional_items),
}


def _listed(names: Iterable[str]) -> str:
    text = ", ".join(names)
    return text if len(text) <= LONGEST_LIST else f"{text[:LONGEST_LIST]}…"
