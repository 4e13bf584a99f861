"""Changes of a lab.yaml that are given as texts at a terminal: values by key, and further faults."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Any

import yaml

from labkit.core.errors import SettingsError

SETTING = re.compile(r"([a-z_]+)=(.*)", re.DOTALL)  # a fault's setting; other words are its place


def set_values(values: Any, assignments: Iterable[str]) -> Any:
    """Return the data of a lab.yaml with some values replaced: `products.0.auth=token`.

    A number is an index; the first free index of a list adds to it. Values are YAML. Missing tables are added. Raises
    SettingsError for an assignment that does not fit the data.
    """
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        if not equals or not path:
            raise SettingsError(f"--set: expected KEY=VALUE as in products.0.auth=token, not {assignment!r}")
        values = _with(values, path.split("."), _value("--set", assignment, text), assignment)
    return values


def add_faults(values: Any, faults: Iterable[str]) -> Any:
    """Return the data of a lab.yaml with further faults: `POST /provision/activate status=503 first=2`.

    The words before the first setting are the place; values are YAML, quotes are those of a shell. Raises
    SettingsError for a fault without settings.
    """
    added = [_fault(each) for each in faults]
    if not added:
        return values
    if not isinstance(values, dict) or not isinstance(values.get("faults", []), list):
        raise SettingsError("--fault: the faults of lab.yaml are no list")
    return {**values, "faults": [*values.get("faults", []), *added]}


def _fault(text: str) -> dict[str, Any]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise SettingsError(f"--fault: {text!r}: {error}") from None
    place = [each for each in words if not SETTING.fullmatch(each)]
    settings = [found for each in words if (found := SETTING.fullmatch(each))]
    if not settings or words[: len(place)] != place:
        raise SettingsError(
            f"--fault: expected a place and settings, as in 'POST /provision/activate status=503 first=2', not {text!r}"
        )
    return {"where": " ".join(place), **{each[1]: _value("--fault", text, each[2]) for each in settings}}


def _value(option: str, whole: str, text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise SettingsError(f"{option}: {whole!r}: the value is not YAML: {text!r}") from None


def _with(values: Any, path: list[str], value: Any, assignment: str) -> Any:
    """Return a copy of tables and lists with the value at a path."""
    if not path:
        return value
    name, rest = path[0], path[1:]
    if isinstance(values, list):
        if not name.isdecimal() or int(name) > len(values):
            raise SettingsError(
                f"--set: {assignment!r}: expected an index from 0 to {len(values)}, not {name!r}"
            )
        index = int(name)
        inner = values[index] if index < len(values) else None
        return [*values[:index], _with(inner, rest, value, assignment), *values[index + 1 :]]
    if values is None:
        values = [] if name == "0" else {}
        return _with(values, path, value, assignment)
    if not isinstance(values, dict):
        raise SettingsError(f"--set: {assignment!r}: {values!r} has no {name!r}, since it is no table")
    return {**values, name: _with(values.get(name), rest, value, assignment)}
