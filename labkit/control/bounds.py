"""Types of the arguments of control operations, with the bounds that hold for calls from other processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Annotated, Any, TypeVar, cast

from pydantic import Field

from labkit.control.json_values import JsonValue

MAX_TIME = 1e12  # seconds; lab time ends earlier

Id = Annotated[str, Field(max_length=256)]  # of a product, a solution, a device, a name of anything
Line = Annotated[str, Field(max_length=4096)]
Script = Annotated[str, Field(max_length=2**20)]  # a program, or a query
Content = Annotated[bytes, Field(max_length=47 * 2**20)]  # 63 MiB in base64: a body has 64
Count = Annotated[int, Field(ge=0, le=1_000_000)]
Number = Annotated[int, Field(ge=0, le=2**53 - 1)]  # of a record
Seconds = Annotated[float, Field(ge=-MAX_TIME, le=MAX_TIME, allow_inf_nan=False)]
Values = Mapping[str, Annotated[Any, JsonValue]]

F = TypeVar("F", bound=Callable[..., Any])
_LIMIT = "_labkit_limit"
_WAITS = "_labkit_waits"


def alone(function: F) -> F:
    """Let an operation begin after those on the whole lab, and go on to its end also without its caller."""

    @wraps(function)
    async def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        return await self._platform.context.whole.run(partial(function, self, *args, **kwargs))

    return cast(F, run)


def ends_after(seconds: float) -> Callable[[F], F]:
    """Mark an operation that ends after `seconds` of real time if another process calls it."""

    def mark(function: F) -> F:
        setattr(function, _LIMIT, seconds)
        return function

    return mark


def waits(function: F) -> F:
    """Mark an operation that may last for any time, since lab time or somebody else ends it."""
    setattr(function, _WAITS, True)
    return function


def is_waiting(function: Callable[..., Any]) -> bool:
    """Return whether an operation has the mark of `waits`."""
    return hasattr(function, _WAITS)


def limit_of(function: Callable[..., Any]) -> float | None:
    """Return the seconds of `ends_after`, None for an operation without this mark."""
    limit: float | None = getattr(function, _LIMIT, None)
    return limit
