"""Interface of a solution's handlers, in Lua or Python; the context of a run; and errors of runs."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Protocol

from labkit.core.errors import LabkitError
from labkit.services.operation import Caller
from labkit.solutions.lua import LuaError, LuaLimitError

Log = Callable[[str, str], None]  # level and text


@dataclass(slots=True, kw_only=True)  # not frozen, which would make creating it several times slower
class HandlerRun(Caller):
    """Run of a handler, the caller of its service calls.

    solution: its id; cause: sequence number of the run's journal record; context: the `context` of scripts; measures:
    measurements of the run, for that record; printed: what it prints, if somebody waits for that.
    """

    context: Mapping[str, object]
    measures: dict[str, float] = field(default_factory=dict)
    printed: list[str] | None = None


class Handler(Protocol):
    """Function that answers a request or handles an event."""

    async def __call__(self, arguments: Mapping[str, Any], run: HandlerRun) -> object:
        """Run with arguments by name and return plain data. Raises the handler's exceptions."""
        ...

    def close(self) -> None:
        """Free the handler's resources; it must not run again."""
        ...


class ScriptTimeError(LabkitError):
    """Error of a handler's run that exceeded its time limit. place: file and line of a script that waited then."""

    def __init__(self, seconds: float, place: str = "") -> None:
        text = f"time limit: the handler ran for more than {seconds:g} s (guard.script_time)"
        super().__init__(f"{place}: {text}" if place else text)


class HandlerError(LabkitError):
    """An error of a handler, as its caller is told. status: of the HTTP response."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def explain(error: BaseException) -> str:
    """Return an error as one line of text, for the caller of the handler."""
    text = str(error)
    if isinstance(error, LabkitError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def status_of(error: BaseException) -> int:
    """Return the HTTP status for a handler's error: 504 if it exceeded its time or CPU limit, else 500."""
    if isinstance(error, HandlerError):
        return error.status
    late = isinstance(error, ScriptTimeError) or (isinstance(error, LuaLimitError) and error.limit == "cpu")
    return 504 if late else 500


def trace(error: BaseException) -> list[str]:
    """Return the frames of an error's traceback as lines, without the folders of this machine."""
    if isinstance(error, LuaError):
        return error.traceback.splitlines()
    return [
        f"{PurePath(frame.filename).name}:{frame.lineno} in {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
