"""Error objects of refused service operations, which warn if nobody reads them."""

from __future__ import annotations

import sys
import warnings
from typing import Any, TypeGuard

from labkit.core.errors import LabWarning
from labkit.core.handle import callers_place

READS = (
    *(
        "__getitem__",
        "__contains__",
        "__iter__",
        "__eq__",
        "__ne__",
        "__repr__",
        "__or__",
        "__ror__",
        "__reduce_ex__",
    ),
    *("get", "keys", "values", "items", "pop", "popitem", "copy", "setdefault"),
)


def is_refusal(value: object) -> TypeGuard[dict[str, Any]]:
    """Return whether the result of an operation is an error object {type, error, status}."""
    return isinstance(value, dict) and {"type", "error", "status"} <= value.keys()


class RefusedCall(dict[str, Any]):
    """Error object {type, error, status}. A warning at the line of the call says so if it is never read."""

    def __init__(self, error: dict[str, Any], operation: str, hint: str) -> None:
        super().__init__(error)
        text = error.get("message", error["error"])
        self._unread: str | None = f"{operation} was refused with {error['status']}: {text}{hint}"
        self._place = callers_place()

    def read(self) -> str:
        """Return the sentence about the refusal, of which no warning follows."""
        text, self._unread = self._unread or "", None
        return text

    def __del__(self) -> None:
        if self._unread is not None and self._place is not None and not sys.is_finalizing():
            warnings.warn_explicit(self._unread, LabWarning, *self._place)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.pretty(dict(self))  # IPython breaks the lines of a dict alone

    __hash__ = None


def _reading(name: str) -> Any:
    """Return a method of dict that counts as reading."""
    plain = getattr(dict, name)

    def method(self: RefusedCall, *args: Any, **kwargs: Any) -> Any:
        self._unread = None
        return plain(self, *args, **kwargs)

    method.__name__ = name
    return method


for _name in READS:
    setattr(RefusedCall, _name, _reading(_name))
