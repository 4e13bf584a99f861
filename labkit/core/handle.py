"""Base of the objects that cells use: a traceback of their errors shows the caller's code, not labkit's.

Every public method and property of a handle passes on an error of labkit with the frames of the caller and one of its
own. LABKIT_DEBUG=1 keeps all frames and the causes. The texts of a handle never fail: where its lab is closed, or does
not answer, they say so.
"""

from __future__ import annotations

import html
import inspect
import linecache
import re
import sys
import sysconfig
import warnings
from abc import ABCMeta
from collections.abc import Callable, Iterable
from functools import wraps
from types import FrameType, FunctionType, TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from labkit.core.errors import (
    MAGIC,
    ArgumentError,
    LabkitError,
    LabWarning,
    NoAttributeError,
    did_you_mean,
    is_debugging,
    is_ours,
    tell_interrupt,
)
from labkit.core.record_lines import visible
from labkit.core.words import counted

P = ParamSpec("P")
T = TypeVar("T")

SPECIAL = frozenset(
    f"__{name}__"
    for name in (
        *("init", "call", "bool", "len", "iter", "contains", "enter", "exit"),
        *("getattr", "setattr", "getitem", "setitem", "delitem"),
    )
)
INTERRUPTED = " was interrupted"
STANDARD_LIBRARY = sysconfig.get_path("stdlib")


TEXTS = ("__repr__", "_repr_html_")
_own_attributes: set[tuple[type, str]] = set()  # of handles, which labkit itself has set, by class


class Handle:
    """Base of the classes whose errors show the caller's code alone, and whose texts never fail."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        for name, member in list(vars(cls).items()):
            if not name.startswith("_") or name in SPECIAL:
                shown = _shown(member)
                if shown is not member:
                    setattr(cls, name, shown)
            elif name in TEXTS:
                setattr(cls, name, _lenient(member, name == TEXTS[1]))
            elif name == "__dir__":
                setattr(cls, name, _known_names(member))

    if not TYPE_CHECKING:  # type checkers know the attributes, unless this is defined

        def __setattr__(self, name: str, value: object) -> None:
            kind = type(self)
            # with few calls: each attribute of a handle is set here
            known = name[:1] == "_" or name in self.__dict__ or (kind, name) in _own_attributes
            if known or hasattr(kind, name):
                pass
            elif is_ours(sys._getframe(1)):
                _own_attributes.add((kind, name))
            elif kind.__module__.startswith("labkit."):
                settable = [each for each in dir(kind) if isinstance(getattr(kind, each), property)]
                raise NoAttributeError(
                    f"a {kind.__name__} has no attribute {name!r} to set{did_you_mean(name, settable)}"
                )
            object.__setattr__(self, name, value)


def _lenient(function: Callable[[Any], str], is_html: bool) -> Callable[[Any], str]:
    """Return a function for the text of a handle that says why, where the lab cannot be asked.

    Control characters in a text that is no HTML are escaped, since a terminal shows it as it is.
    """

    @wraps(function)
    def text(self: Any) -> str:
        try:
            found = function(self)
            return found if is_html else "\n".join(map(visible, found.split("\n")))
        except LabkitError as error:
            name = (
                re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(self).__name__.removeprefix("Lab")).lower() or "lab"
            )
            return f"<b>{name}</b>: {html.escape(str(error))}" if is_html else f"<{name}: {error}>"

    return text


def _known_names(function: Callable[[Any], Iterable[str]]) -> Callable[[Any], Iterable[str]]:
    """Return a function for the names of a handle that leaves out those of a lab that cannot be asked."""

    @wraps(function)
    def names(self: Any) -> Iterable[str]:
        try:
            return function(self)
        except LabkitError:
            return object.__dir__(self)

    return names


def _shown(member: Any) -> Any:
    """Return a member of a class with short tracebacks; itself where it is neither function nor property."""
    if isinstance(member, property):
        getter, setter = (None if each is None else short_trace(each) for each in (member.fget, member.fset))
        return property(getter, setter, member.fdel, member.__doc__)
    if isinstance(member, classmethod):
        return classmethod(short_trace(member.__func__))
    if isinstance(member, FunctionType) and not inspect.iscoroutinefunction(member):
        return short_trace(member)
    return member


def _is_hidden(raised: object) -> bool:
    """Return whether pytest hides the frame of a call that raised; it asks then, rather than every call."""
    return not is_debugging()


def short_trace(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function that passes on labkit's errors without the frames below the caller's.

    A call whose arguments do not fit raises ArgumentError, which names the argument that was meant. An interrupt has a
    sentence as its text, at least that the call was interrupted: the outermost one, which is the one in the cell.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = _is_hidden
        try:
            return function(*args, **kwargs)
        except LabkitError as error:
            if is_debugging():
                raise
            raise error.with_traceback(_callers(error.__traceback__)) from None
        except KeyboardInterrupt as interrupt:
            # Only the interrupt itself: hunts end a search by a class of their own.
            if is_debugging() or type(interrupt) is not KeyboardInterrupt:
                raise
            if not interrupt.args:  # nobody knew more than the name
                tell_interrupt(interrupt, call_name() + INTERRUPTED)
            raise interrupt.with_traceback(_callers(interrupt.__traceback__)) from None
        except TypeError as error:
            trace = error.__traceback__
            if trace is None or trace.tb_next is not None:  # of the function's own code
                raise
            raise ArgumentError(misfit(function, error, kwargs)) from None

    return call


def call_name() -> str:
    """Return the name of the call of a handle, or of a function such as `hunt`, that the caller's code made."""
    frame: FrameType | None = sys._getframe(1)
    name = ""
    while frame is not None:
        if frame.f_code.co_qualname == "short_trace.<locals>.call" and is_ours(frame):
            function, args = frame.f_locals["function"], frame.f_locals["args"]
            name = function.__qualname__
            if args and isinstance(args[0], Handle):  # also where a base of its class has the method
                name = f"{type(args[0]).__name__}.{function.__name__}"
        frame = frame.f_back
    return re.sub(r"\.__\w+__$", "", name)


class ShortTraceType(ABCMeta):
    """Type of classes whose construction shows the caller's code alone; for dataclasses, which get `__init__` late."""

    @short_trace
    def __call__(cls, *args: object, **named: object) -> Any:
        try:
            return super().__call__(*args, **named)
        except TypeError as error:
            raise ArgumentError(misfit(_initializer(cls), error, named)) from None

    @property
    def __signature__(cls) -> inspect.Signature:
        """Signature of the construction, which `__call__` would hide."""
        shown = inspect.signature(_initializer(cls))
        return shown.replace(parameters=list(shown.parameters.values())[1:])


def _initializer(cls: type) -> Callable[..., object]:
    found: Callable[..., object] = inspect.getattr_static(cls, "__init__")
    return found


def warn(text: str, kind: type[LabWarning] = LabWarning) -> None:
    """Warn with a LabWarning that shows the line of the caller's code."""
    if (place := callers_place()) is not None:
        warnings.warn_explicit(text, kind, *place)


def cells_shell() -> Any:
    """Return the IPython shell that runs cells in this process, None without one. It imports nothing."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def callers_place() -> tuple[str, int] | None:
    """Return file and line of the caller's code that called labkit; None where labkit itself did, as in a check.

    For a cell in Lua it is the line of its magic.
    """
    frame = callers_frame()
    if frame is None:
        return None
    file, line = frame.f_code.co_filename, frame.f_lineno
    return ("cell", 1) if linecache.getline(file, line).startswith(MAGIC) else (file, line)


def callers_frame() -> FrameType | None:
    """Return the frame of the code that called labkit; None where labkit itself did."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not _is_callers(frame):
        frame = frame.f_back
    return frame


def _callers(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback with its frames of the caller's code alone, as of a function that was passed to labkit."""
    if trace is None:
        return None
    rest = _callers(trace.tb_next)
    if not _is_callers(trace.tb_frame):
        return rest
    return TracebackType(rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)


def _is_callers(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return not (is_ours(frame) or "site-packages" in file or file.startswith((STANDARD_LIBRARY, "<frozen")))


def misfit(function: Callable[..., object], error: TypeError, given: dict[str, Any]) -> str:
    """Return the text about a call whose arguments do not fit the function."""
    every = inspect.signature(function).parameters.values()
    parameters = [each for each in every if each.name not in ("self", "cls")]
    known = [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    shown = [_shown_parameter(each) for each in parameters]
    name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    wrong = next((each for each in given if each not in known), None)
    if wrong is not None and not any(each.kind is each.VAR_KEYWORD for each in parameters):
        listed = ", ".join(shown) or "none"
        return f"{name}: no argument {wrong!r}, there are: {listed}{did_you_mean(wrong, known)}"
    if many := re.search(r" but (\d+) .*given$", str(error)):
        count = int(many[1]) - (len(every) - len(parameters))
        named = ", as in name=value" * any(each.kind is each.VAR_KEYWORD for each in parameters)
        values = counted(count, "value")
        return f"{name}: {values} without a name; its arguments are: {', '.join(shown) or 'none'}{named}"
    return f"{error}; its arguments are: {', '.join(shown) or 'none'}"


def _shown_parameter(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return f"*{parameter.name}"
    return f"**{parameter.name}" if parameter.kind is parameter.VAR_KEYWORD else parameter.name
