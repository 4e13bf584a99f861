"""Generator of values that match a JSON Schema, of the kinds that the OpenAPI document has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

Schema = Mapping[str, Any]
MAX_ITEMS = 3
MAX_TEXT = 40
ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=5,
)
# Of a length that the bounds allow; `a` and `GET` exist in the lab of the test, and are often right.
WORDS = st.sampled_from(["a", "a", "a", "GET", "/a", "2026-03-01", "", "é\U0001f600", "a\0b", "../a", "User"])


def values(schema: Schema, named: Mapping[str, Schema]) -> st.SearchStrategy[Any]:
    """Return the strategy of values that match a schema. named: the schemas that it refers to."""
    if "$ref" in schema:
        return st.deferred(lambda: values(named[schema["$ref"].rpartition("/")[2]], named))
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return st.one_of([values(each, named) for each in schema[key]])
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    made: st.SearchStrategy[Any] = KINDS.get(schema.get("type", ""), lambda *_: ANY)(schema, named)
    return made


def _text(schema: Schema, _: Mapping[str, Schema]) -> st.SearchStrategy[str]:
    if "pattern" in schema:
        pattern = st.from_regex(str(schema["pattern"]), fullmatch=True)
        return st.just("a") | pattern.filter(lambda text: len(text) <= schema.get("maxLength", MAX_TEXT))
    if schema.get("format") == "base64url":
        return st.binary(max_size=MAX_TEXT).map(lambda data: data.hex()[: len(data) // 4 * 4])
    least, most = schema.get("minLength", 0), min(schema.get("maxLength", MAX_TEXT), MAX_TEXT)
    fitting = WORDS.filter(lambda text: least <= len(text) <= most)
    return fitting | st.text(min_size=least, max_size=most)


def _integer(schema: Schema, _: Mapping[str, Schema]) -> st.SearchStrategy[int]:
    return st.integers(schema.get("minimum"), schema.get("maximum"))


def _number(schema: Schema, _: Mapping[str, Schema]) -> st.SearchStrategy[float]:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    return st.floats(
        low,
        high,
        allow_nan=False,
        allow_infinity=False,
        exclude_min="exclusiveMinimum" in schema,
        exclude_max="exclusiveMaximum" in schema,
    )


def _array(schema: Schema, named: Mapping[str, Schema]) -> st.SearchStrategy[list[Any]]:
    least = schema.get("minItems", 0)
    return st.lists(values(schema.get("items", {}), named), min_size=least, max_size=least + MAX_ITEMS)


def _object(schema: Schema, named: Mapping[str, Schema]) -> st.SearchStrategy[dict[str, Any]]:
    required = schema.get("required", ())
    fields = {name: values(each, named) for name, each in schema.get("properties", {}).items()}
    more = schema.get("additionalProperties", False)
    if fields or not (more or "patternProperties" in schema):
        return st.fixed_dictionaries(
            {name: each for name, each in fields.items() if name in required},
            optional={name: each for name, each in fields.items() if name not in required},
        )
    if "patternProperties" in schema:
        [(pattern, inner)] = schema["patternProperties"].items()
        keys = {"pattern": pattern}
    else:
        keys, inner = schema.get("propertyNames", {}), {} if more is True else more
    names = _text({"maxLength": MAX_TEXT, **keys}, named)
    return st.dictionaries(names, values(inner, named), max_size=MAX_ITEMS)


KINDS: Mapping[str, Any] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "array": _array,
    "object": _object,
    "boolean": lambda *_: st.booleans(),
    "null": lambda *_: st.none(),
}
