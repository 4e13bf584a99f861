"""Every error that labkit raises on purpose.

LabWarning           what was asked works, but was perhaps not meant
LabkitError
├── SettingsError    lab.yaml or an argument is wrong: names the key and what was expected
├── LabError         a handle was used in a way that cannot work: names what to do instead
├── StorageError     the data file has no room or is damaged: names the file
└── ServiceError     a service operation refuses: becomes the error object {type, error, status}

Errors of one package alone (Lua, conformance) live there and derive from LabkitError too.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path
from traceback import walk_tb
from types import FrameType


class LabWarning(UserWarning):
    """What was asked works, but was perhaps not meant."""


class LabkitError(Exception):
    """Base of all errors of labkit's own. In a cell it is a line that says what was wrong, and one that says where."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of a traceback: our own frames tell nobody anything."""
        location = self._location()
        return [f"{type(self).__name__}: {self}", *([location] if location else [])]

    def _location(self) -> str:
        """The line of the caller's code that led here; empty where there is none."""
        outside = takewhile(lambda each: not _ours(each[0]), walk_tb(self.__traceback__))
        found = [(frame, line) for frame, line in outside if not _of_ipython(frame)]
        if not found:
            return ""
        frame, line = found[-1]
        file = frame.f_code.co_filename
        code = linecache.getline(file, line).strip()
        where = f"{file}, line {line}" if Path(file).is_file() else f"line {line} of the cell"
        return f"{where}: {code}" if code else where


def _ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "labkit"


def _of_ipython(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in ("IPython", "ipykernel")


class SettingsError(LabkitError):
    """A setting is wrong. The text names the key (`products[0].auth`) and what was expected."""


class LabError(LabkitError):
    """A handle was misused. The text names what was wrong and what to use instead."""


class StorageError(LabkitError):
    """The data file cannot be used. status: 507 where it has no room, so that nothing was stored; 500 for damage."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def unknown(kind: str, name: object, known: Iterable[str]) -> str:
    """The text of an error about a name that nothing has: `no product 'x', there are: a, b`."""
    return f"no {kind} {name!r}, there are: {', '.join(known) or 'none'}"


class ServiceError(LabkitError):
    """A service operation refuses (document 2 and 3, Errors).

    status: the HTTP-like status of the error object; message: its text; journaled: what the journal shows in its
    place, where the text repeats what a client sent.
    """

    def __init__(self, status: int, message: str, journaled: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.journaled = journaled

    def for_journal(self) -> ServiceError:
        """Return the error as the journal may show it."""
        return self if self.journaled is None else ServiceError(self.status, self.journaled)

    @property
    def type(self) -> str:
        """`QueryError` for the caller's mistakes (4xx), `ServerError` for the platform's (5xx)."""
        return "QueryError" if self.status < 500 else "ServerError"

    def as_object(self) -> dict[str, object]:
        """The error object that scripts see."""
        return {"type": self.type, "error": self.message, "status": self.status}
