"""Checks of the arguments that cells pass to handles, before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, get_origin

from pydantic import BaseModel, BeforeValidator

from labkit.control.clock import number_of, seconds_of
from labkit.core.errors import LabError, SettingsError, did_you_mean
from labkit.fleet.device import check_points
from labkit.settings import build

M = TypeVar("M", bound=BaseModel)

FILE_NAME = re.compile(r"[\w .~:/\\-]*\.\w{1,8}")  # a text that looks like the name of a file


def value_texts(values: Mapping[Any, Any] | None, more: Mapping[str, Any], of: str = "") -> dict[Any, Any]:
    """Return the values to store by alias; with `of` (an alias), by timestamp. Raises LabError for an invalid value."""
    if values is not None and not isinstance(values, Mapping):
        raise LabError(f"write: expected temperature=21.5 or {{'temperature': 21.5}}, not {values!r}")
    given = {**(values or {}), **more}
    return {name: _value(of or str(name), each) for name, each in given.items()}


def _value(alias: str, value: Any) -> Any:
    if value is None:
        raise LabError(f"{alias}: None is no value; omit it to store nothing, '' is the empty text")
    if isinstance(value, bytes | Mapping | list | tuple | set | frozenset):
        raise LabError(f"{alias}: expected a text, a number or a boolean, not {value!r}")
    return value.item() if hasattr(value, "item") else value  # of numpy and pandas


def timed_values(points: Any) -> dict[str, dict[float, Any]]:
    """Return values by alias and timestamp. Raises LabError for another structure or an invalid value."""
    check_points(points)
    return {
        alias: {
            int(seconds_of(when, alias)) if isinstance(when, datetime) else when: value
            for when, value in value_texts(values, {}, alias).items()
        }
        for alias, values in points.items()
    }


def alias_list(aliases: Iterable[object]) -> list[str]:
    """Return the given aliases, single ones and lists, as one list. Raises LabError without any or for another type."""
    named = text_list(aliases, "aliases such as 'temperature'")
    if not named:
        raise LabError("expected at least one alias: read('temperature')")
    return named


def text_list(given: Iterable[object], expected: str) -> list[str]:
    """Return the given texts, single ones and lists, as one list. Raises LabError for another type."""
    named: list[str] = []
    for each in given:
        if isinstance(each, str):
            named.append(each)
        elif isinstance(each, Iterable) and not isinstance(each, bytes | Mapping):
            named += text_list(each, expected)
        else:
            raise LabError(f"expected {expected}, not {each!r}")
    return named


def duration(value: object, name: str) -> float:
    """Return a number of seconds. Raises LabError unless it is a number of 0 or more."""
    expected = "expected a number of seconds"
    seconds = number_of(value, name, expected)
    if seconds < 0:
        raise LabError(f"{name}: {expected}, not {value!r}")
    return seconds


def unknown_resource(alias: str, product: str, resources: Iterable[str]) -> str:
    """Return a sentence about an alias without a resource, which the platform ignores."""
    known = list(resources)
    if not known:
        return f"no resource {alias!r} in product {product!r}, it has none: give it resources={{{alias!r}: 'number'}}"
    return f"no resource {alias!r} in product {product!r}, there are: {', '.join(known)}{did_you_mean(alias, known)}"


def ignored_writes(written: Iterable[str], product: str, resources: Collection[str]) -> list[str]:
    """Return a sentence for each alias without a resource that devices of a fleet wrote."""
    return [
        f"devices wrote what the platform ignores: {unknown_resource(each, product, resources)}"
        for each in sorted(set(written).difference(resources))
    ]


def shown_duration(seconds: float) -> str:
    """Return a number of seconds as text: `1 d 2 h`."""
    days, rest = divmod(round(seconds), 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    parts = ((days, "d"), (hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 s"


def content_bytes(data: object) -> bytes:
    """Return the bytes of content, given as bytes, as a text or as the Path of a file.

    Raises LabError for a file that cannot be read, and for a text that looks like a file's name.
    """
    if isinstance(data, str):
        if FILE_NAME.fullmatch(data) and "\n" not in data:
            raise LabError(
                f"data: {data!r} looks like the name of a file; Path({data!r}) means the file, "
                f"{data!r}.encode() this text"
            )
        return data.encode()
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    if not isinstance(data, Path):
        raise LabError(f"data: expected bytes, a text or the Path of a file, not {type(data).__name__}")
    try:
        return data.read_bytes()
    except OSError as error:
        raise LabError(f"data: {data}: {error.strerror}") from error


def build_settings(model: type[M], what: str, values: Mapping[str, Any]) -> M:
    """Return settings built from values. Raises SettingsError that begins with `what`."""
    try:
        return build(model, values, "")
    except SettingsError as error:
        raise SettingsError(f"{what}: {str(error).removeprefix('settings: ')}") from None


def given_settings(
    model: type[BaseModel],
    what: str,
    values: Mapping[str, Any],
    others: Iterable[str] = (),
    hints: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the settings that are not None, with a list for each setting that takes several values.

    others: arguments of the call that are no settings; hints: what to use instead of names that people expect. Raises
    SettingsError, beginning with `what`, for a key that the model does not have.
    """
    named = {name: value for name, value in values.items() if value is not None}
    for name, value in named.items():
        field = model.model_fields.get(name)
        if field is None:
            known = [*others, *model.model_fields]
            meant = hints.get(name) or did_you_mean(name, known) or f"; there are: {', '.join(known)}"
            raise SettingsError(f"{what}: {name}: no such setting{meant}")
        has_short_form = any(isinstance(each, BeforeValidator) for each in field.metadata)
        if get_origin(field.annotation) is tuple and not has_short_form:
            named[name] = as_list(value)
    return named


def as_list(value: Any) -> list[Any]:
    """Return a list of one or several given values."""
    one = isinstance(value, str | Mapping) or not isinstance(value, Iterable)
    return [value] if one else list(value)


def without_control(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings of a lab in this process. Raises SettingsError if they ask for control over HTTP."""
    if settings.get("control") not in (None, False):
        raise SettingsError(
            "control: a Lab in this process has no control over HTTP; start `labkit serve --control` and use "
            "Lab.connect(url, token)"
        )
    return settings
