"""Validation of plain values by settings models, with errors that name the key and the line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from labkit.core.errors import SettingsError, did_you_mean, in_seconds
from labkit.core.redaction import is_secret_name

S = TypeVar("S", bound=BaseModel)
KeyPath = tuple[str | int, ...]

SHOULD_BE = "Input should be "  # beginning of pydantic's message about an expected type or value
MOST_TOLD = 5  # invalid keys in one message
MOST_NAMED = 20  # invalid keys that an error has
PARSING = re.compile(r", (unable to (parse|interpret)|got a number with) .*")
SHOULD_HAVE = re.compile(r"^\w+ should have (at (?:most|least) \d+ \w+)(?: after validation)?")
LARGE_NUMBER = 1e16  # from here on its digits say nothing
KINDS: Mapping[type, str] = {
    str: "a text",
    bytes: "bytes",
    list: "a list",
    tuple: "a list",
    Mapping: "a mapping",
}
MAPPING = re.compile(r"a valid dictionary( or instance of \w+)?")
LIST = re.compile(r"a valid (tuple|list|array)|an instance of Sequence")
EXPECTED: Mapping[str, str] = {  # by the type of an error whose message has words of Python
    "path_type": "expected the path of a file or folder",
    "sequence_str": "expected a list",
    "bytes_type": "expected bytes",
    "bytes_invalid_encoding": "expected base64",
}
# Lists whose items are identified by another key than `id`. Those of an interface keep their indexes, which its
# publishers read in the platform's errors.
NAMED: Mapping[str | int, str] = {"faults": "name", "social": "name"}
FORM_TYPES = {"tuple_type", "list_type", "dict_type"}
FORMS: Mapping[str | int, str] = {  # of the keys that are often written as the other kind
    "products": "; as in - id: thermostat",
    "solutions": "; as in - id: acme",
    "resources": "; as in {temperature: number}",
}
ID = re.compile(r"[\w-]*[A-Za-z_-][\w-]*")
LONGEST = 60  # characters of a wrong text that an error quotes


def build(model: type[S], values: object, where: str = "", lines: dict[str, int] | None = None) -> S:
    """Return settings made from plain values. Raises SettingsError with the invalid keys and their lines.

    where: key of the section that the values belong to; lines: line of each key in lab.yaml.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        found, more = mistakes(error, values, model, where=where, lines=lines)
        told = [f"{shown_key(path, values, where)}: {text}" for path, text in found]
        text = listed(told, more)
        told += [f"and {more} more"] if more else []
    # Raised outside of the except clause: the garbage collector cannot see the references of pydantic's error, and
    # would never free it as the context of this one.
    raise SettingsError(text, told)


def listed(told: Sequence[str], more: int = 0) -> str:
    """Return sentences about invalid keys as one text, at most MOST_TOLD of them. more: number of further ones."""
    more += len(told) - MOST_TOLD
    return "; ".join(told[:MOST_TOLD]) + (f"; and {more} more" if more > 0 else "")


def mistakes(
    error: ValidationError,
    values: object,
    model: type[BaseModel],
    *,
    where: str = "",
    lines: dict[str, int] | None = None,
) -> tuple[list[tuple[KeyPath, str]], int]:
    """Return the paths of the first MOST_NAMED invalid values within `values`, each with the sentence about it.

    They are in the order of their lines; the number of further ones follows.

    where: key of the section that the values belong to; lines: line of each key in lab.yaml.
    """
    wrong: dict[KeyPath, list[ErrorDetails]] = {}
    for each in error.errors(include_url=False):
        wrong.setdefault(_path(each, values), []).append(each)
    # A mistake inside of one type of a union says more than the names of its other types.
    outer = {path[:end] for path in wrong for end in range(len(path))}
    paths = [path for path in wrong if path not in outer]
    paths.sort(key=lambda path: line_of(lines or {}, key_text(path, where)))
    found = [
        (
            path,
            _explain(wrong[path])
            + _instead(wrong[path][0], path)
            + line_suffix(lines or {}, key_text(path, where))
            + (FORMS.get(path[-1], "") if wrong[path][0]["type"] in FORM_TYPES else "")
            + _hint(wrong[path][0], model),
        )
        for path in paths[:MOST_NAMED]
    ]
    return found, len(paths) - len(found)


def error_keys(error: ValidationError, values: object) -> set[str]:
    """Return the keys that a validation of values has refused."""
    return {key_text(_path(each, values)) for each in error.errors(include_url=False, include_context=False)}


def key_text(path: KeyPath, where: str = "") -> str:
    """Return a path as `lines` have it: `products[0].auth`. where: the section in which it begins."""
    return _joined(path, where)


def shown_key(path: KeyPath, values: object, where: str = "") -> str:
    """Return a path as errors name it: like `key_text`, but with the id of an item that has one, `products.lamp.auth`.

    values: in which the path begins, plain ones or settings.
    """
    parts: list[str | int] = []
    at = values
    for number, part in enumerate(path):
        id_key = NAMED.get(path[number - 1] if number else where, "id")
        of_id = path[number + 1 : number + 2] == (id_key,)  # the id itself may be wrong
        id = _id(at, part, id_key) if isinstance(part, int) and not of_id else None
        parts.append(part if id is None else id)
        at = _inner(at, part)
    return _joined(parts, where)


def _joined(path: Iterable[str | int], where: str) -> str:
    key = where
    for part in path:
        key += f"[{part}]" if isinstance(part, int) else f".{part}" if key else part
    return key or "settings"


def _id(items: object, index: int, key: str) -> str | None:
    """Return the id of an item of a list, the value of its `key`; None if it has none, or another item has it too."""
    id = _inner(_inner(items, index), key)
    if not isinstance(id, str) or not ID.fullmatch(id) or not isinstance(items, list | tuple):
        return None
    return id if sum(_inner(each, key) == id for each in items) == 1 else None


def _inner(values: object, part: str | int) -> object:
    """Return the value of a key or an index; None where there is none."""
    if isinstance(values, Mapping):
        return values.get(part)
    if isinstance(values, list | tuple):
        return values[part] if isinstance(part, int) and part < len(values) else None
    return getattr(values, str(part), None) if isinstance(values, BaseModel) else None


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
    if name == "seed" and not above:
        return ", since a seed is not part of the file: use Lab(seed=7) or labkit serve --seed 7"
    return did_you_mean(name, known) or f"; there are: {', '.join(known)}"


def expected_value(errors: list[ErrorDetails]) -> str:
    """Return the value that errors of one key expected: `expected a number or a text`."""
    expected = [
        PARSING.sub("", LIST.sub("a list", MAPPING.sub("a mapping", each["msg"].removeprefix(SHOULD_BE))))
        for each in errors
        if each["msg"].startswith(SHOULD_BE)
    ]
    first = errors[0]["msg"]
    if errors[0]["type"] in EXPECTED:
        return EXPECTED[errors[0]["type"]]
    if first.startswith(SHOULD_BE):
        return "expected " + " or ".join(dict.fromkeys(expected))
    return SHOULD_HAVE.sub(r"expected \1", first).removeprefix("Value error, ")


def _instead(error: ErrorDetails, path: KeyPath) -> str:
    """Return `, not -9` for a wrong value: as it is if it is short and no secret, else its kind."""
    given = error["input"]
    if "_too_" in error["type"] and isinstance(given, str):
        return f", not {len(given)}"
    if error["type"] == "bytes_invalid_encoding" or not (
        error["msg"].startswith(SHOULD_BE) or error["type"] in EXPECTED
    ):
        return ""
    kind = next((name for kind, name in KINDS.items() if isinstance(given, kind)), "that")
    if error["type"] != "literal_error" and any(
        isinstance(each, str) and is_secret_name(each) for each in path
    ):
        return f", not {kind}" if kind != "that" else ""
    if isinstance(given, bool | None):
        return f", not {json.dumps(given)}"
    if isinstance(given, int | float):
        return ", not a larger number" if LARGE_NUMBER <= abs(given) < math.inf else f", not {given}"
    if isinstance(given, str) and len(given) <= LONGEST:
        is_number = "valid number" in EXPECTED.get(error["type"], error["msg"])
        return f", not {given!r}{in_seconds(given) if is_number else ''}"
    return f", not {kind}"


def _keys(model: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """Return the keys that are possible at a location in the values of a model."""
    models = [model]
    for part in location:
        found = [each.model_fields[part].annotation for each in models if part in each.model_fields]
        models = [
            inner for each in found for inner in models_in(each)
        ] or models  # else an index, or a union's member
    return list(dict.fromkeys(key for each in models for key in each.model_fields))


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from models_in(each)


def line_suffix(lines: dict[str, int], key: str) -> str:
    """Return ` (line 12)` for a key of lab.yaml; empty for one without a line, or with line 0."""
    line = line_of(lines, key)
    return f" (line {line})" if line else ""


def line_of(lines: Mapping[str, int], key: str) -> int:
    """Return the line of a key of lab.yaml, 0 if it has none."""
    while key and key not in lines:  # a missing key has no line of its own: use its parent's
        key = key[: max(key.rfind("."), key.rfind("["), 0)]
    return lines.get(key, 0)
