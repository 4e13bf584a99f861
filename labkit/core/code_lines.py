"""Lines of stories and promises, as `file:line`, for messages."""

from __future__ import annotations

import linecache
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from dis import get_instructions
from functools import partial
from inspect import getattr_static, getclosurevars, isfunction, unwrap
from types import CodeType

LineCounts = dict[str, dict[int, int]]  # by file and line


def summed(counts: Iterable[LineCounts]) -> LineCounts:
    """Return the sum of counts, by file and line."""
    total: dict[str, Counter[int]] = {}
    for each in counts:
        for file, lines in each.items():
            total.setdefault(file, Counter()).update(lines)
    return {file: dict(lines) for file, lines in total.items()}


def defined_at(function: object) -> str:
    """Return where a function begins, as `file:line`, or `line 3` of a cell; empty if that is unknown.

    function: also a partial one, a method, or an object that can be called.
    """
    code = _code_of(function)
    return "" if code is None else _shown(code.co_filename, code.co_firstlineno)


def raised_at(function: object, error: BaseException) -> tuple[str, str]:
    """Return the last line of a function's file in the traceback of an error: its place as of `defined_at`, its text.

    Both are empty if no line of that file ran.
    """
    code = _code_of(function)
    file = None if code is None else code.co_filename
    for frame, number in reversed(list(traceback.walk_tb(error.__traceback__))):
        name = frame.f_code.co_filename
        if name == file:
            return _shown(name, number), linecache.getline(name, number).strip()
    return "", ""


def names_used(function: object) -> Iterator[tuple[str, object, str]]:
    """Yield the names from outside that a function uses, with their values, and its first line with each."""
    while isinstance(function, partial):
        function = function.func
    function = getattr(function, "__func__", function)
    if not isfunction(function):
        return
    plain = unwrap(function)
    found, code = getclosurevars(plain), plain.__code__
    for name, value in {**found.globals, **found.nonlocals}.items():
        lines = [
            each.positions.lineno for each in get_instructions(code) if each.argval == name and each.positions
        ]
        yield name, value, _shown(code.co_filename, min(filter(None, lines), default=code.co_firstlineno))


def with_line(reason: str, place: str) -> str:
    """Return a reason with the place of a line behind it, if that is known."""
    return f"{reason} ({place})" if place else reason


def _code_of(function: object) -> CodeType | None:
    while isinstance(function, partial):
        function = function.func
    if callable(function):
        function = unwrap(function)
    for each in (
        function,
        getattr(function, "__func__", None),
        getattr_static(type(function), "__call__", None),
    ):
        code = getattr(each, "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None


def _shown(name: str, number: int) -> str:
    """Return a line of a file, without its folder, which depends on the machine; of a cell the line alone."""
    if name.startswith("<") or "ipykernel" in name:
        return f"line {number}"
    last = name.replace("\\", "/").rpartition("/")[2]
    return f"{last}:{number}"
