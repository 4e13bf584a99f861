"""JSON form of values of any type: what JSON cannot express is an object with one key that begins with `$`.

Bytes are `{"$bytes": "AP8="}` (base64), numbers that are not finite `{"$number": "NaN"}` (or `Infinity`, `-Infinity`).
In an object whose only key begins with `$` already, that key gets another `$` in front, so that each form is distinct.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import BaseModel, GetCoreSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema, core_schema

NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_json(value: Any) -> Any:
    """Return a value as JSON has it. Anything unknown becomes its text."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$number": _number_text(value)}
    if isinstance(value, bytes):
        return {"$bytes": b64encode(value).decode()}
    if isinstance(value, Mapping):
        made = {str(key): to_json(each) for key, each in value.items()}
        return {f"${key}": each for key, each in made.items()} if _is_marked(made) else made
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    return str(value)


def without_json(value: Any) -> Iterator[Any]:
    """Yield the values within one that `to_json` would change to a text, or to another text.

    Models and dates, which have a form of their own, are not among them.
    """
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from without_json(key) if isinstance(key, str) else (key,)
            yield from without_json(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from without_json(each)
    elif isinstance(value, str):
        if not value.isascii() and any("\ud800" <= each <= "\udfff" for each in value):
            yield value
    elif not isinstance(value, int | float | bytes | None | BaseModel | date | Path):
        yield value


def from_json(value: Any) -> Any:
    """Return the value that `to_json` got. Raises ValueError for an unknown `$` key, and for a wrong value of one."""
    if isinstance(value, list):
        return [from_json(each) for each in value]
    if not isinstance(value, dict):
        return value
    if _is_marked(value):
        [(key, inner)] = value.items()
        if key.startswith("$$"):
            return {key[1:]: from_json(inner)}
        if key == "$bytes" and isinstance(inner, str):
            return b64decode(inner, validate=True)
        if key == "$number" and isinstance(inner, str) and inner in NUMBERS:
            return NUMBERS[inner]
        raise ValueError('expected {"$bytes": base64}, {"$number": "NaN"}, or a key that begins with $$')
    return {key: from_json(each) for key, each in value.items()}


def _is_marked(value: Mapping[str, Any]) -> bool:
    return len(value) == 1 and next(iter(value)).startswith("$")


def _number_text(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _decode(value: Any, info: ValidationInfo) -> Any:
    return from_json(value) if info.mode == "json" else value


class _JsonValue:
    """Annotation of a value of any type: it has the form of this module in JSON, and is unchanged in Python."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_before_validator_function(
            _decode,
            core_schema.any_schema(),
            serialization=core_schema.plain_serializer_function_ser_schema(to_json, when_used="json"),
        )


JsonValue = _JsonValue()
