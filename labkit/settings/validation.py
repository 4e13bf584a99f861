"""Validation of plain values by settings models, with errors that name the key and the line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from labkit.core.errors import SettingsError, did_you_mean

S = TypeVar("S", bound=BaseModel)
KeyPath = tuple[str | int, ...]

SHOULD_BE = "Input should be "  # beginning of pydantic's message about an expected type or value
MOST_TOLD = 5  # invalid keys in one message
PARSING = re.compile(r", unable to (parse|interpret) .*")
SHOULD_HAVE = re.compile(r"^\w+ should have (at (?:most|least) \d+ \w+)(?: after validation)?")
LARGE_NUMBER = 1e16  # from here on its digits say nothing
KINDS: Mapping[type, str] = {str: "a text", list: "a list", Mapping: "an object"}
MAPPING = re.compile(r"a valid dictionary( or instance of \w+)?")


def build(model: type[S], values: object, where: str = "", lines: dict[str, int] | None = None) -> S:
    """Return settings made from plain values. Raises SettingsError with the invalid keys and their lines.

    where: key of the section that the values belong to; lines: line of each key in lab.yaml.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        told = [
            f"{key_text(path, where)}: {text}"
            for path, text in mistakes(error, values, model, where=where, lines=lines)
        ]
    # Raised outside of the except clause: the garbage collector cannot see the references of pydantic's error, and
    # would never free it as the context of this one.
    raise SettingsError(listed(told), told)


def listed(told: Sequence[str]) -> str:
    """Return sentences about invalid keys as one text, at most MOST_TOLD of them."""
    more = len(told) - MOST_TOLD
    return "; ".join(told[:MOST_TOLD]) + (f"; and {more} more" if more > 0 else "")


def mistakes(
    error: ValidationError,
    values: object,
    model: type[BaseModel],
    *,
    where: str = "",
    lines: dict[str, int] | None = None,
    shown: bool = False,
) -> list[tuple[KeyPath, str]]:
    """Return the path of each invalid value within `values`, and the sentence about it.

    where: key of the section that the values belong to; lines: line of each key in lab.yaml; shown: whether a sentence
    names the wrong number, or the kind of another wrong value (never a text, which may be a secret).
    """
    wrong: dict[KeyPath, list[ErrorDetails]] = {}
    for each in error.errors(include_url=False):
        wrong.setdefault(_path(each, values), []).append(each)
    return [
        (
            path,
            _explain(errors)
            + (_instead(errors[0]) if shown else "")
            + line_suffix(lines or {}, key_text(path, where))
            + _hint(errors[0], model),
        )
        for path, errors in wrong.items()
        # a mistake inside of one type of a union says more than the names of its other types
        if not any(len(other) > len(path) and other[: len(path)] == path for other in wrong)
    ]


def error_keys(error: ValidationError, values: object) -> set[str]:
    """Return the keys that a validation of values has refused."""
    return {key_text(_path(each, values)) for each in error.errors(include_url=False, include_context=False)}


def key_text(path: KeyPath, where: str = "") -> str:
    """Return a path as text: `products[0].auth`. where: the section in which it begins."""
    key = where
    for part in path:
        key += f"[{part}]" if isinstance(part, int) else f".{part}" if key else part
    return key or "settings"


def _path(error: ErrorDetails, values: object) -> KeyPath:
    """Return the path of an error: its location, without the names that pydantic gives to members of a union."""
    path: list[str | int] = []
    at, location = values, error["loc"]
    for index, part in enumerate(location):
        last = index == len(location) - 1
        if isinstance(at, Mapping) and (part in at or (last and error["type"] == "missing")):
            path.append(str(part))
            at = at.get(part)
        elif isinstance(at, list | tuple) and isinstance(part, int) and part < len(at):
            path.append(part)
            at = at[part]
    return tuple(path)


def _explain(errors: list[ErrorDetails]) -> str:
    """Return the expected value as text. For a union, there is one error for each of its types."""
    first = errors[0]
    if first["type"] == "extra_forbidden":
        return "unknown key"
    if first["type"] == "missing":
        return "is required"
    return expected_value(errors)


def _hint(error: ErrorDetails, model: type[BaseModel]) -> str:
    """Return the end of the text about an unknown key: the similar key, or all that are possible in its place."""
    if error["type"] != "extra_forbidden":
        return ""
    *above, name = error["loc"]
    known = _keys(model, above)
    return did_you_mean(name, known) or f"; there are: {', '.join(known)}"


def expected_value(errors: list[ErrorDetails]) -> str:
    """Return the value that errors of one key expected: `expected a number or a text`."""
    expected = [
        PARSING.sub("", MAPPING.sub("a mapping", each["msg"].removeprefix(SHOULD_BE)))
        for each in errors
        if each["msg"].startswith(SHOULD_BE)
    ]
    first = errors[0]["msg"]
    if first.startswith(SHOULD_BE):
        return "expected " + " or ".join(dict.fromkeys(expected))
    if errors[0]["type"] == "bytes_invalid_encoding":
        return "expected base64"
    return SHOULD_HAVE.sub(r"expected \1", first).removeprefix("Value error, ")


def _instead(error: ErrorDetails) -> str:
    """Return `, not -9` for a wrong number, or the kind of a value of a wrong type; empty for other mistakes."""
    given = error["input"]
    if "_too_" in error["type"] and isinstance(given, str):
        return f", not {len(given)}"
    if not error["msg"].startswith(SHOULD_BE):
        return ""
    if isinstance(given, bool | None):
        return f", not {json.dumps(given)}"
    if isinstance(given, int | float):
        return ", not a larger number" if abs(given) >= LARGE_NUMBER else f", not {given}"
    return f", not {next((name for kind, name in KINDS.items() if isinstance(given, kind)), 'that')}"


def _keys(model: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """Return the keys that are possible at a location in the values of a model."""
    models = [model]
    for part in location:
        found = [each.model_fields[part].annotation for each in models if part in each.model_fields]
        models = [
            inner for each in found for inner in _models(each)
        ] or models  # else an index, or a union's member
    return list(dict.fromkeys(key for each in models for key in each.model_fields))


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from _models(each)


def line_suffix(lines: dict[str, int], key: str) -> str:
    """Return ` (line 12)` for a key of lab.yaml; empty for one without a line, or with line 0."""
    while key and key not in lines:  # a missing key has no line of its own: name its parent's
        key = key[: max(key.rfind("."), key.rfind("["), 0)]
    return f" (line {lines[key]})" if lines.get(key) else ""
