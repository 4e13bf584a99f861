"""Base classes of control results, and functions that copy values so that nothing is shared with the platform."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, PlainSerializer

from labkit.control.json_values import JsonValue
from labkit.core.canonical import SCALARS
from labkit.core.errors import LabError
from labkit.services.redaction import redacted
from labkit.settings import Resource

T = TypeVar("T")

SLICE = 2_000  # items that are made or copied before other tasks on the event loop may run
BRIEF = 60  # longest value in a message, in characters
FEW = 5  # items of a list that a message shows as a whole
ABSENT = object()


class Data(BaseModel):
    """Base class of all control results: immutable models. Bytes are base64 in JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")


def base64_text(data: bytes) -> str:
    """Return bytes in base64, not with pydantic's letters for URLs."""
    return b64encode(data).decode()


Base64 = Annotated[bytes, PlainSerializer(base64_text, return_type=str, when_used="json")]


class Table(Data):
    """Result of a query: rows of values. hidden: secret columns that the query named, as `table.column`."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Annotated[Any, JsonValue], ...], ...]
    hidden: tuple[str, ...] = ()


async def in_slices(items: Iterable[T]) -> AsyncIterator[list[T]]:
    """Return items in lists of at most SLICE; other tasks on the event loop run in between."""
    rest = iter(items)
    while some := list(islice(rest, SLICE)):
        yield some
        await asyncio.sleep(0)


def differences(there: BaseModel, given: BaseModel) -> str:
    """Return the differences of two settings as text: `auth ('token' there, 'password' here)`; empty if none.

    there: the existing settings; given: the new ones. Of mappings and lists only the parts that differ are shown.
    Values whose names suggest a secret are not shown.
    """
    pairs = ((name, getattr(there, name), getattr(given, name)) for name in type(there).model_fields)
    return ", ".join(
        text
        for name, old, new in pairs
        if old != new
        for text in _differences((name,), _as_given(old), _as_given(new))
    )


def _differences(path: tuple[str, ...], old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping) and (old or new):
        for key in dict.fromkeys([*old, *new]):
            if old.get(key, ABSENT) != new.get(key, ABSENT):
                yield from _differences((*path, str(key)), old.get(key, ABSENT), new.get(key, ABSENT))
    elif isinstance(old, list) and isinstance(new, list) and max(len(old), len(new)) > FEW:
        known = {"there": {*map(repr, new)}, "here": {*map(repr, old)}}
        parts = {
            where: [each for each in some if repr(each) not in known[where]]
            for where, some in (("there", old), ("here", new))
        }
        shown = [f"{_brief(path, each)} only {where}" for where, each in parts.items() if each]
        yield f"{'.'.join(path)} ({', '.join(shown) or 'in another order or number'})"
    else:
        yield f"{'.'.join(path)} ({_brief(path, old)} there, {_brief(path, new)} here)"


def _brief(path: tuple[str, ...], value: object) -> str:
    """Return a value in a message. The name of a setting marks no secret (`auth`), a key that somebody chose may."""
    if value is ABSENT:
        return "none"
    named: Any = redacted({path[-1]: value})
    text = repr(named[path[-1]] if len(path) > 1 else redacted(value))
    return text if len(text) <= BRIEF else f"{text[: BRIEF - 1]}…"


def _as_given(value: object) -> object:
    """Return settings as plain values as a user writes them, without the keys that have their defaults."""
    if isinstance(value, Resource):
        return (
            value.format
            if value == Resource(format=value.format)
            else value.model_dump(exclude_defaults=True)
        )
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_defaults=True)
    if isinstance(value, Mapping):
        return {key: _as_given(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_as_given(each) for each in value]
    return str(value) if isinstance(value, Path) else value


def copied(value: Any) -> Any:
    """Return a deep copy of lists, tuples and mappings; other values are shared. Raises LabError if nested too deep."""
    try:
        return _copied(value)
    except RecursionError:
        raise LabError("a value is nested too deep, or holds itself") from None


def _copied(value: Any) -> Any:
    if type(value) in SCALARS:
        return value
    if isinstance(value, Mapping):
        return {key: _copied(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_copied(each) for each in value]
    if isinstance(value, tuple):
        return tuple(_copied(each) for each in value)
    return value


def plain(value: Any) -> Any:
    """Return a deep copy in which keys of mappings, and values that JSON cannot represent, are converted to text."""
    if type(value) in SCALARS:  # most are: asking whether each is a mapping takes most of the time
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)
