"""Changes of a lab.yaml that are given as texts at a terminal: values by key, and further faults."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from labkit.core.errors import SettingsError, did_you_mean
from labkit.core.lined_yaml import LOADER
from labkit.settings.faults import FaultSettings
from labkit.settings.lab import LabSettings
from labkit.settings.validation import error_keys

# A fault's setting, or one name of it, `headers.Retry-After=5`; other words are its place.
SETTING = re.compile(r"(?P<key>[a-z_]+)(?:\.(?P<inner>[^=]+))?=(?P<value>.*)", re.DOTALL)
NAMES = (
    "id",
    "name",
    "sid",
    "client_id",
    "publisher",
)  # keys by whose values an item of a list can be chosen
LISTS = ("products", "solutions", "faults", "providers.social", "providers.messaging.accounts")
PATTERNS = "*&!%@`"  # characters that begin no text of YAML, but a pattern at a terminal

Step = str | int  # a name in a table, or an index of a list


def set_values(values: Any, assignments: Iterable[str], lines: dict[str, int] | None = None) -> Any:
    """Return the data of a lab.yaml with some values replaced: `products.0.auth=token`.

    A number is an index; the first free index of a list adds to it. An id or a name is that of an item,
    `products.thermostat.auth=token`. Values are YAML, or a text where the key needs one. Missing tables are added.
    lines: line of each key, which the replaced ones lose. Raises SettingsError for an assignment that does not fit the
    data.
    """
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        if not equals or not path:
            raise SettingsError(f"--set: expected KEY=VALUE as in products.0.auth=token, not {assignment!r}")
        steps = _steps(values, re.sub(r"\[(\d+)\]", r".\1", path).split("."), assignment)
        values = _typed(LabSettings, values, steps, _read("--set", assignment, text), text)
        if lines is not None:
            _forget(lines, _key(steps))
    return values


def _forget(lines: dict[str, int], key: str) -> None:
    """Drop the lines of a key and of those below it; 0 says that it has none, and hides that of the key above."""
    for each in [each for each in lines if _is_at(each, key)]:
        del lines[each]
    lines[key] = 0


def add_faults(values: Any, faults: Iterable[str], lines: dict[str, int] | None = None) -> Any:
    """Return the data of a lab.yaml with further faults: `POST /provision/activate status=503 first=2`.

    The words before the first setting are the place; values are YAML, or a text where the setting needs one; quotes are
    those of a shell. lines: line of each key, which the further ones have not. Raises SettingsError for a fault without
    place or settings.
    """
    added = [_fault(each) for each in faults]
    if not added:
        return values
    if not isinstance(values, dict) or not isinstance(values.get("faults", []), list):
        raise SettingsError("--fault: the faults of lab.yaml are no list")
    present = values.get("faults", [])
    if lines is not None:
        lines |= {f"faults[{len(present) + number}]": 0 for number in range(len(added))}
    return {**values, "faults": [*present, *added]}


def _fault(text: str) -> dict[str, Any]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise SettingsError(f"--fault: {text!r}: {error}") from None
    place = list(takewhile(lambda word: not SETTING.fullmatch(word), words))
    settings = [SETTING.fullmatch(word) for word in words[len(place) :]]
    values: dict[str, Any] = {"where": " ".join(place)}
    for found in settings:
        if found is None or not place:
            break
        steps = [each for each in (found["key"], found["inner"]) if each is not None]
        there = values.get(found["key"])
        if there is not None and (len(steps) == 1 or not isinstance(there, dict) or found["inner"] in there):
            raise SettingsError(f"--fault: {text!r}: {'.'.join(steps)} is given twice")
        read = _read("--fault", text, found["value"])
        values = _typed(FaultSettings, values, steps, read, found["value"])
    if not place or not settings or None in settings:
        raise SettingsError(
            f"--fault: expected a place and settings, as in 'POST /provision/activate status=503 first=2', not {text!r}"
        )
    return values


def _read(option: str, whole: str, text: str) -> Any:
    """Return the value of a text in YAML."""
    if text.startswith(tuple(PATTERNS)):
        return text
    try:
        return yaml.load(text, LOADER)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise SettingsError(f"{option}: {whole!r}: the value is not YAML: {text!r}") from None


def _typed(model: type[BaseModel], values: Any, steps: Sequence[Step], value: Any, text: str) -> Any:
    """Return the data of a model with a value at a path, or with its text where the model takes only that."""
    with_value, with_text = _with(values, steps, value), _with(values, steps, text)
    key = _key(steps)
    refused = _refuses(model, with_value, key) and not _refuses(model, with_text, key)
    return with_text if refused else with_value


def _refuses(model: type[BaseModel], values: Any, key: str) -> bool:
    """Return whether a model refuses what is at this key of its data, or below it."""
    try:
        model.model_validate(values)
    except ValidationError as error:
        return any(_is_at(each, key) for each in error_keys(error, values))
    return False


def _is_at(each: str, key: str) -> bool:
    """Return whether a key is another one, or below it."""
    return each == key or each.startswith((f"{key}.", f"{key}["))


def _steps(values: Any, path: Sequence[str], assignment: str) -> list[Step]:
    """Return the names and indexes of a path. Raises SettingsError if it does not fit the data."""
    steps: list[Step] = []
    for name in path:
        if values is None and (name == "0" or _key(steps) in LISTS):
            values = []
        if isinstance(values, list):
            index = _index(values, name, assignment)
            steps.append(index)
            values = values[index] if index < len(values) else None
        elif values is None or isinstance(values, dict):
            steps.append(name)
            values = (values or {}).get(name)
        else:
            raise SettingsError(f"--set: {assignment!r}: {values!r} has no {name!r}, since it is no table")
    return steps


def _index(items: Sequence[Any], name: str, assignment: str) -> int:
    """Return the index of an item of a list, or the first free one."""
    if name.isdecimal() and int(name) <= len(items):
        return int(name)
    named: dict[str, int] = {}
    for index, item in enumerate(items):
        for key in NAMES:
            if isinstance(item, Mapping) and key in item:
                named.setdefault(str(item[key]), index)
    if name not in named:
        known = f", or one of: {', '.join(named)}{did_you_mean(name, named)}" if named else ""
        raise SettingsError(
            f"--set: {assignment!r}: expected an index from 0 to {len(items)}, not {name!r}{known}"
        )
    return named[name]


def _with(values: Any, steps: Sequence[Step], value: Any) -> Any:
    """Return a copy of tables and lists with the value at a path; YAML's aliases share what they repeat."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        items = values if isinstance(values, list) else []
        inner = items[step] if step < len(items) else None
        return [*items[:step], _with(inner, rest, value), *items[step + 1 :]]
    table = values if isinstance(values, dict) else {}
    return {**table, step: _with(table.get(step), rest, value)}


def _key(steps: Iterable[Step]) -> str:
    """Return a path as lines of lab.yaml name a key: `products[0].auth`."""
    return "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in steps).removeprefix(".")
