"""Coroutines that never wait."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def result_of(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits to its end, and return its result. Raises AssertionError if it waits."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value  # type: ignore[no-any-return]
    coroutine.close()
    raise AssertionError(f"{coroutine!r} waits, which it never should")
