"""What every handler of a solution is, in whichever language."""

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


@dataclass(slots=True, kw_only=True)  # not frozen, at several times the cost with each event
class Run(Caller):
    """One run of a handler, which calls services.

    solution: whose; cause: the journal record of the run; context: what scripts see as `context`; measures:
    what the handler measured of itself, for that record.
    """

    context: Mapping[str, object]
    measures: dict[str, float] = field(default_factory=dict)


class Handler(Protocol):
    """Answers a request or handles an event."""

    async def __call__(self, arguments: Mapping[str, Any], run: Run) -> object:
        """Run with arguments by name. Returns plain data; raises whatever went wrong."""
        ...

    def close(self) -> None:
        """Forget what it holds: it never runs again."""
        ...


class ScriptTimeError(LabkitError):
    """A run of a handler took too long, and was ended."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"time limit: the handler ran for more than {seconds:g} s (guard.script_time)")


def explain(error: BaseException) -> str:
    """An error in one line, for whoever called."""
    text = str(error)
    if isinstance(error, LabkitError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def status_of(error: BaseException) -> int:
    """The status that a handler's error means: 504 where it was ended for its time or its CPU time, else 500."""
    late = isinstance(error, ScriptTimeError) or (isinstance(error, LuaLimitError) and error.limit == "cpu")
    return 504 if late else 500


def trace(error: BaseException) -> list[str]:
    """Where an error comes from, without the folders of this machine."""
    if isinstance(error, LuaError):
        return error.traceback.splitlines()
    return [
        f"{PurePath(frame.filename).name}:{frame.lineno} in {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
