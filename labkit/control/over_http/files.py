"""Paths in arguments from other processes: only files below a folder that the server names can be meant."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from labkit.control.over_http.problem import ControlProblem

T = TypeVar("T")


def within(folder: Path | None, value: T) -> T:
    """Return arguments in which each path is absolute; relative ones are relative to the folder.

    Raises ControlProblem (403) for a path that leads out of the folder, also by a link; for any path without a folder.
    """
    return _within(folder, value)  # type: ignore[no-any-return]


def _within(folder: Path | None, value: Any) -> Any:
    if isinstance(value, Path):
        return _resolved(folder, value)
    if isinstance(value, BaseModel):
        fields = {name: getattr(value, name) for name in value.model_fields_set}
        changed = {name: made for name, each in fields.items() if (made := _within(folder, each)) is not each}
        return value.model_copy(update=changed) if changed else value
    if isinstance(value, Mapping):
        return {key: _within(folder, each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_within(folder, each) for each in value)
    return value


def _resolved(folder: Path | None, path: Path) -> Path:
    if folder is None:
        raise ControlProblem(
            403, f"{path}: this server reads no files; send their content, or serve with --files"
        )
    try:
        found = (folder / path).resolve()
    except (OSError, ValueError, RuntimeError):  # a loop of links, a NUL
        raise ControlProblem(403, f"{str(path)!r}: not a path") from None
    if not found.is_relative_to(folder.resolve()):
        raise ControlProblem(403, f"{path}: not below the folder of --files")
    return found
