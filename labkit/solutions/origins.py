"""Origin of a handler, which decides whether another handler may replace it without `replace=True`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from labkit.core.errors import SettingsError
from labkit.solutions.folders.scripts import ScriptSource

LAMBDA = "<lambda>"
CELL = "a cell"


class Origin(NamedTuple):
    """Script or function of a handler. place: the file and line of a script, or `a cell`."""

    script: ScriptSource | None = None
    function: Callable[..., Any] | None = None
    place: str = CELL

    def is_same(self, other: Origin) -> bool:
        """Return whether `other` has the same script text, or a function of the same module and name.

        Lambdas have no name, so their code has to be the same.
        """
        if self.script is not None and other.script is not None:
            return self.script.source == other.script.source
        if self.function is None or other.function is None:
            return False
        first, second = _plain(self.function), _plain(other.function)
        if first is second or first == second:
            return True
        name = _name(first)
        if (first.__module__, name) != (second.__module__, _name(second)):
            return False
        return not name.endswith(LAMBDA) or _code(first) == _code(second)

    def __str__(self) -> str:
        if self.function is not None:
            return f"the function {_name(_plain(self.function))}"
        return "a script of a cell" if self.place == CELL else self.place


INSTALLED = Origin()  # of scripts that a service installs; any other handler may replace them


def check_replacement(what: str, present: Origin | None, given: Origin, replace: bool) -> None:
    """Raise SettingsError if a different handler is present, unless `replace`.

    what: the event or the route of both handlers, such as `device datapoint`.
    """
    if present is not None and not replace and not given.is_same(present):
        raise SettingsError(
            f"{what}: {present} handles it already; pass replace=True to put {given} in its place"
        )


def _plain(function: Any) -> Any:
    """Return the function within a partial."""
    while isinstance(function, partial):
        function = function.func
    return function


def _name(function: Any) -> str:
    """Return the qualified name of a function, or of a callable object's class."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def _code(function: Any) -> tuple[object, ...]:
    code = function.__code__
    return code.co_code, code.co_consts, code.co_names, code.co_varnames
