"""What faults in code are made of: changes. One is called instead of a function, with the original first and then what
that would be called with.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

CALL = "labkit.services.calls:Services.call"  # the one way to every operation

Change = Callable[..., Any]  # change(original, *arguments)
_signature = cache(inspect.signature)


def put(original: Any, change: Change) -> Any:
    """What calls a change instead of the original; of a property or a class method another one."""
    if isinstance(original, property):
        return property(put(original.fget, change))
    if isinstance(original, classmethod | staticmethod):
        return type(original)(put(original.__func__, change))

    def broken(*arguments: Any, **named: Any) -> Any:
        return change(original, *arguments, **named)

    first, *rest = inspect.signature(change).parameters.values()
    if first.kind is not first.VAR_POSITIONAL:  # which says nothing of the arguments
        vars(broken)["__signature__"] = inspect.Signature(rest)
    return broken


def always(value: Any) -> Change:
    """It does nothing, and gives a value."""

    async def later() -> Any:
        return value

    return lambda original, *_, **__: later() if inspect.iscoroutinefunction(original) else value


def gives(change: Callable[[Any], Any]) -> Change:
    """It gives something else: change(result)."""

    async def later(awaited: Any) -> Any:
        return change(await awaited)

    def broken(original: Any, *arguments: Any, **named: Any) -> Any:
        result = original(*arguments, **named)
        return later(result) if inspect.iscoroutinefunction(original) else change(result)

    return broken


def given(**changes: Any) -> Change:
    """It is given something else: by an argument's name another value, or a function of the value that comes."""

    def broken(original: Any, *arguments: Any, **named: Any) -> Any:
        bound = _signature(original).bind(*arguments, **named)
        for name, change in changes.items():
            if not callable(change):
                bound.arguments[name] = change
            elif name in bound.arguments:
                bound.arguments[name] = change(bound.arguments[name])
        return original(*bound.args, **bound.kwargs)

    return broken


def beforehand(also: Callable[..., object]) -> Change:
    """It does something else first: also(*arguments)."""

    def broken(original: Any, *arguments: Any, **named: Any) -> Any:
        also(*arguments)
        return original(*arguments, **named)

    return broken


def afterwards(also: Callable[..., object]) -> Change:
    """It does something else afterwards: also(result, *arguments)."""

    def broken(original: Any, *arguments: Any, **named: Any) -> Any:
        result = original(*arguments, **named)
        also(result, *arguments)
        return result

    return broken


def failed(result: object) -> bool:
    """Is it an error object?"""
    return isinstance(result, dict) and "error" in result
