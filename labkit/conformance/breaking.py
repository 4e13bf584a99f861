"""Changes, the building blocks of faults in code.

A change is called in place of a function, with the original function first and then the call's arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

CALL = "labkit.services.calls:Services.call"  # every operation is called through it

Change = Callable[..., Any]  # change(original, *arguments)
_signature = cache(inspect.signature)


def wrap(original: Any, change: Change) -> Any:
    """Return a function that calls a change with the original; a property or class method stays one."""
    if isinstance(original, property):
        return property(wrap(original.fget, change))
    if isinstance(original, classmethod | staticmethod):
        return type(original)(wrap(original.__func__, change))

    def broken(*arguments: Any, **named: Any) -> Any:
        return change(original, *arguments, **named)

    first, *rest = inspect.signature(change).parameters.values()
    if first.kind is not first.VAR_POSITIONAL:  # a signature of that form describes no arguments
        vars(broken)["__signature__"] = inspect.Signature(rest)
    return broken


def always(value: Any) -> Change:
    """Return a change that returns a fixed value and does not call the original."""

    async def later() -> Any:
        return value

    return lambda original, *_, **__: later() if inspect.iscoroutinefunction(original) else value


def change_result(change: Callable[[Any], Any]) -> Change:
    """Return a change that replaces the result by change(result)."""

    async def later(awaited: Any) -> Any:
        return change(await awaited)

    def broken(original: Any, *arguments: Any, **named: Any) -> Any:
        result = original(*arguments, **named)
        return later(result) if inspect.iscoroutinefunction(original) else change(result)

    return broken


def change_arguments(**changes: Any) -> Change:
    """Return a change that replaces arguments by name: by a value, or by a function of the argument that was passed."""

    def broken(original: Any, *arguments: Any, **named: Any) -> Any:
        bound = _signature(original).bind(*arguments, **named)
        for name, change in changes.items():
            if not callable(change):
                bound.arguments[name] = change
            elif name in bound.arguments:
                bound.arguments[name] = change(bound.arguments[name])
        return original(*bound.args, **bound.kwargs)

    return broken


def call_before(also: Callable[..., object]) -> Change:
    """Return a change that calls also(*arguments) before the original."""

    def broken(original: Any, *arguments: Any, **named: Any) -> Any:
        also(*arguments)
        return original(*arguments, **named)

    return broken


def call_after(also: Callable[..., object]) -> Change:
    """Return a change that calls also(result, *arguments) after the original."""

    def broken(original: Any, *arguments: Any, **named: Any) -> Any:
        result = original(*arguments, **named)
        also(result, *arguments)
        return result

    return broken


def is_error(result: object) -> bool:
    """Return whether a result is an error object."""
    return isinstance(result, dict) and "error" in result
