"""Errors of scripts.

LuaError            the script raised an error, or a value could not be converted
├── LuaSyntaxError  the source does not compile
└── LuaLimitError   the script exceeded a limit
"""

from __future__ import annotations

import re

from labkit.core.errors import LabkitError

_POSITION = re.compile(r"^(.*):(\d+): (.*)$", re.DOTALL)
_FRAME = re.compile(r"^\s*(?!\[C\])(\S.*?): in ", re.MULTILINE)


def innermost(traceback: str) -> str:
    """Return the file and line of a script at which a traceback begins; empty without one."""
    found = _FRAME.search(traceback)
    return found[1] if found else ""


class LuaError(LabkitError):
    """A script raised an error, or a value could not be converted.

    message: the text, as a rule led by `script:line:`; traceback: where it happened, innermost first, may be
    empty.
    """

    def __init__(self, message: str, traceback: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.traceback = traceback


class LuaSyntaxError(LuaError):
    """A source does not compile.

    name: the script; line: counted as in its file, 0 if unknown; message: without position.
    """

    def __init__(self, name: str, line: int, message: str) -> None:
        super().__init__(f"{name}:{line}: {message}")
        self.name = name
        self.line = line
        self.message = message

    @classmethod
    def from_text(cls, name: str, text: str) -> LuaSyntaxError:
        """Return the error for a compiler's message (`script:line: reason`) about the script `name`."""
        found = _POSITION.match(text)
        return cls(name, int(found[2]), found[3]) if found else cls(name, 0, text)


class LuaLimitError(LuaError):
    """A script was stopped because it exceeded a limit: `cpu`, `memory`, `pattern` or `coroutines`.

    Its message begins with the script's file and line where the traceback has them.
    """

    def __init__(self, limit: str, message: str, traceback: str = "") -> None:
        place = innermost(traceback)
        super().__init__(f"{place}: {message}" if place else message, traceback)
        self.limit = limit
