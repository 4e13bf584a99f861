"""All exceptions that labkit raises on purpose.

LabWarning           a call works, but was perhaps not intended
└── SlowWarning      a call held the lab's event loop; depends on the speed of the machine
LabkitError
├── SettingsError    lab.yaml or an argument is wrong: names the key and the expected value
├── LabError         a handle was used in a way that cannot work: names the alternative
│   ├── UnknownError     what is named does not exist: lists the existing names
│   │   ├── NoEntryError      of a list or a table (also an IndexError and a KeyError)
│   │   └── NoAttributeError  of a handle (also an AttributeError)
│   ├── TakenError       what is named exists already, or is in use: names the way out
│   ├── FullError        the most that may run at one time are running: says what has to end
│   ├── ArgumentError    the arguments of a call do not fit (also a TypeError)
│   └── OwnProcessError  the call needs the lab in its own process, not a connection to it: says why
├── StorageError     the data file is out of room or damaged: names the file
└── ServiceError     a service operation fails: becomes the error object {type, error, status, status_code}

Errors of one package alone (Lua, conformance) live there and derive from LabkitError too.
"""

from __future__ import annotations

import linecache
import os
import re
import traceback
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path
from traceback import walk_tb
from types import FrameType

UNITS = {"ms": 0.001, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
DURATION = re.compile(rf"\s*(\d{{1,9}}(?:\.\d{{1,9}})?)\s*({'|'.join(UNITS)})\s*")


class LabWarning(UserWarning):
    """Warning about a call that works, but was perhaps not intended."""


class SlowWarning(LabWarning):
    """Warning about a call that held the lab's event loop: see `lab.slow`.

    It depends on the speed of the machine, so only people who look on get it: at a terminal, or in JupyterLab.
    """


MAGIC = "get_ipython().run_cell_magic("  # begins the code that runs a cell such as one in Lua


class LabkitError(Exception):
    """Base of labkit's errors. A notebook shows the reason, its notes, and one line for the caller's location."""

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows instead of a traceback, without labkit's own frames."""
        if is_debugging():
            return traceback.format_exception(self)
        location = self._location()
        notes = getattr(self, "__notes__", [])
        return [f"{type(self).__name__}: {self}", *notes, *([location] if location else [])]

    def _location(self) -> str:
        """Return the line of the caller's code that led here; empty where there is none."""
        outside = takewhile(lambda each: not is_ours(each[0]), walk_tb(self.__traceback__))
        found = [(frame, line) for frame, line in outside if not _of_ipython(frame)]
        if not found:
            return ""
        frame, line = found[-1]
        file = frame.f_code.co_filename
        code = linecache.getline(file, line).strip()
        if code.startswith(MAGIC):  # nothing that the cell's author wrote
            return ""
        where = f"{file}, line {line}" if Path(file).is_file() else f"line {line} of the cell"
        return f"{where}: {code}" if code else where


def tell_interrupt(interrupt: KeyboardInterrupt, sentence: str) -> None:
    """Give an interrupt a sentence, which is all that a notebook shows of it unless LABKIT_DEBUG asks for more.

    Only the interrupt itself, not a class of its own, by which hunts end a search.
    """
    if is_debugging() or type(interrupt) is not KeyboardInterrupt:
        return
    interrupt.args = (sentence,)
    # IPython calls it instead of printing the frames between the cell and where the interrupt came.
    interrupt._render_traceback_ = lambda: [f"KeyboardInterrupt: {sentence}"]  # type: ignore[attr-defined]


def is_debugging() -> bool:
    """Return whether LABKIT_DEBUG asks for whole tracebacks."""
    return os.environ.get("LABKIT_DEBUG", "") not in ("", "0")


def is_ours(frame: FrameType) -> bool:
    """Return whether a frame runs code of labkit."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "labkit"


def _of_ipython(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in ("IPython", "ipykernel")


class SettingsError(LabkitError):
    """A setting is wrong. The text names the key (`products.lamp.auth`) and the expected value.

    parts: a text for each wrong setting, where there are several.
    """

    def __init__(self, text: str, parts: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.parts = tuple(parts) or (text,)


class LabError(LabkitError):
    """Error of a call that cannot work. The text names the mistake and the alternative."""


class UnknownError(LabError):
    """Error of a call that names something that does not exist. The text lists the existing names."""


class NoEntryError(UnknownError, IndexError, KeyError):
    """Error of an index or a key that a list or a table does not have."""

    __str__ = Exception.__str__  # that of KeyError is the text's repr


class NoAttributeError(UnknownError, AttributeError):
    """Error of an attribute that a handle does not have. text: its message."""

    def __init__(self, text: str) -> None:
        # With an object, Python appends no suggestion of its own to the text.
        super().__init__(text, obj=type(self))


class TakenError(LabError):
    """Error of a call that would add what exists already, or use what is in use. The text names the way out."""


class FullError(LabError):
    """Error of a call that would start one more than may run at one time. The text says what has to end."""


class ArgumentError(LabError, TypeError):
    """Error of a call whose arguments do not fit: one of another name, too many, or one that is missing."""


class OwnProcessError(LabError):
    """Error of a call that a connection to a lab cannot make, since it needs the lab in its own process."""


class StorageError(LabkitError):
    """The data file cannot be used.

    message: its text; status: 507 if the disk is full, so that nothing was stored; 500 for damage.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def unknown(kind: str, name: object, known: Iterable[str], others: Iterable[str] = ()) -> str:
    """Return the text of an error about an unknown name: `no product 'bb', there are: a, b; did you mean b?`.

    others: names of another kind that may be meant.
    """
    names = list(known)
    return (
        f"no {kind} {name!r}, there are: {', '.join(names) or 'none'}{did_you_mean(name, [*names, *others])}"
    )


def in_seconds(value: object) -> str:
    """Return the end of an error's text that has a duration such as `5m` in seconds; empty for other values."""
    found = DURATION.fullmatch(value) if isinstance(value, str) else None
    return "" if found is None else f"; in seconds: {float(found[1]) * UNITS[found[2]]:.9g}"


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return the end of an error's text that names the similar known name; empty for a known one."""
    names = list(known)
    if name in names:
        return ""
    text = str(name)[:200]
    close = [each for each in names if each.lower() == text.lower()] or get_close_matches(text, names, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def sentence(text: str) -> str:
    """Return a text with a full stop at its end, unless it ends with one or with a question."""
    return text if text.endswith((".", "?")) else f"{text}."


class ServiceError(LabkitError):
    """Error that a service operation raises to refuse a call (document 2 and 3, Errors).

    status: the HTTP-like status of the error object; message: its text; journaled: the text for the journal,
    where `message` repeats a client's input.
    """

    def __init__(self, status: int, message: str, journaled: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.journaled = journaled

    def for_journal(self) -> ServiceError:
        """Return the error with the text for the journal."""
        return self if self.journaled is None else ServiceError(self.status, self.journaled)

    @property
    def type(self) -> str:
        """`QueryError` for the caller's mistakes (4xx), `ServerError` for the platform's (5xx)."""
        return "QueryError" if self.status < 500 else "ServerError"

    def as_object(self) -> dict[str, object]:
        """Return the error object that scripts see. Public scripts compare with either `status` or `status_code`."""
        return {
            "type": self.type,
            "error": self.message,
            "status": self.status,
            "status_code": self.status,
        }
