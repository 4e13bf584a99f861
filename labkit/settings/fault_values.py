"""Types of the values in the settings of faults."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from labkit.settings.edits import parse_edit
from labkit.settings.values import HEADER, MAX_NAME

MAX_VALUES = 100  # names, fields or headers in one key of a fault
MAX_JSON = 64 * 1024  # characters of a body, or of new values of fields, as JSON
MAX_TIME = 366 * 86400.0  # seconds
MAX_COUNT = 10**9
FRAMING = ("content-length", "transfer-encoding", "connection")  # headers that a fault may not change


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def plain_json(value: Any) -> Any:
    """Return a value that JSON can express, within the limit. Raises ValueError for another."""
    try:
        if len(json.dumps(value, allow_nan=False)) <= MAX_JSON:
            return value
    except (TypeError, ValueError, RecursionError):
        raise ValueError("expected text, numbers, lists and mappings, as JSON has them") from None
    raise ValueError(f"expected at most {MAX_JSON} characters, as JSON")


def _edit(value: Any) -> Any:
    parse_edit(value)
    return plain_json(value)


def _two(value: Any) -> Any:
    if len(value) == 2:
        return value
    raise ValueError(f"expected a number, or two as in [0.1, 2], not {len(value)} numbers")


def _in_order(ends: tuple[float, float]) -> tuple[float, float]:
    if ends[0] < ends[1]:
        return ends
    raise ValueError(f"expected a smaller number before a larger one, not {ends[0]:g} and {ends[1]:g}")


def _span(value: Any) -> str:
    """Return the tag of a value of `Span`: an own error for each form is clearer than one for both."""
    return "range" if isinstance(value, list | tuple) else "number"


def header_name(name: str) -> str:
    """Return the name of a header that a fault may change. Raises ValueError for another."""
    if not HEADER.fullmatch(name) or name.lower() in FRAMING:
        raise ValueError(f"expected a header name that does not set the framing, not {name!r}")
    return name


def _header_value(value: str) -> str:
    if any(character in value for character in "\r\n\0"):
        raise ValueError("expected a value on one line")
    return value


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Names = Annotated[
    tuple[Name, ...],
    BeforeValidator(_as_tuple, json_schema_input_type=Name | tuple[Name, ...]),
    Field(min_length=1, max_length=MAX_VALUES),
]
Status = Annotated[int, Field(strict=True, ge=200, le=599)]
Time = Annotated[float, Field(strict=True, gt=0, le=MAX_TIME, allow_inf_nan=False)]
Spent = Annotated[float, Field(strict=True, ge=0, le=MAX_TIME, allow_inf_nan=False)]
Range = Annotated[
    tuple[Spent, Spent],
    BeforeValidator(_two, json_schema_input_type=tuple[Spent, Spent]),
    AfterValidator(_in_order),
]
Span = Annotated[Annotated[Time, Tag("number")] | Annotated[Range, Tag("range")], Discriminator(_span)]
Count = Annotated[int, Field(strict=True, ge=1, le=MAX_COUNT)]
Fields = Annotated[dict[Name, Any], Field(min_length=1, max_length=MAX_VALUES), AfterValidator(plain_json)]
Edits = Annotated[
    dict[Name, Annotated[Any, AfterValidator(_edit)]], Field(min_length=1, max_length=MAX_VALUES)
]
Conditions = Annotated[
    dict[Name, Annotated[str, Field(max_length=4096)]], Field(min_length=1, max_length=MAX_VALUES)
]
Headers = Annotated[
    dict[
        Annotated[str, Field(max_length=MAX_NAME), AfterValidator(header_name)],
        Annotated[str, Field(max_length=4096), AfterValidator(_header_value)],
    ],
    Field(min_length=1, max_length=MAX_VALUES),
]
