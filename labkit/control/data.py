"""The form of what goes in and comes out: values that share nothing with the platform."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from labkit.core.errors import LabError
from labkit.services.redaction import redacted

BRIEF = 60  # characters of a value in a message


class Data(BaseModel):
    """Base of all results. Bytes are base64 in JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")


class Table(Data):
    """Rows of values below the names of their columns. hidden: columns that were asked for, as `table.column`, and
    are secret."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    hidden: tuple[str, ...] = ()


def differences(there: BaseModel, given: BaseModel) -> str:
    """In what two settings differ: `auth ('token' there, 'password' here)`; empty where they do not.

    Values whose names sound like a secret's are not shown.
    """
    pairs = ((name, getattr(there, name), getattr(given, name)) for name in type(there).model_fields)
    return ", ".join(
        f"{name} ({_brief(old)} there, {_brief(new)} here)" for name, old, new in pairs if old != new
    )


def _brief(value: object) -> str:
    text = str(value) if isinstance(value, BaseModel) else repr(redacted(value))
    return text if len(text) <= BRIEF else f"{text[: BRIEF - 1]}…"


def copied(value: Any) -> Any:
    """A copy of lists, tuples and mappings; other values are as they were. Raises LabError for one nested too deep."""
    try:
        return _copied(value)
    except RecursionError:
        raise LabError("a value is nested too deep, or holds itself") from None


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_copied(each) for each in value]
    if isinstance(value, tuple):
        return tuple(_copied(each) for each in value)
    return value


def plain(value: Any) -> Any:
    """As `copied`; what JSON has no form for becomes text, and the keys of mappings do."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)
