"""Nesting depth of calls from one solution to another, on the loop and in threads.

Code within a call must never wait for a resource (a thread, a turn) that one of its callers keeps, since that would be
a deadlock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_DEPTH: ContextVar[int] = ContextVar("calls that wait", default=0)


def depth() -> int:
    """Return the number of calls that wait for the running code; 0 for a request, an event, a cell."""
    return _DEPTH.get()


@contextmanager
def nested() -> Iterator[int]:
    """Run the block one call deeper, and yield its depth, from 1."""
    token = _DEPTH.set(_DEPTH.get() + 1)
    try:
        yield _DEPTH.get()
    finally:
        _DEPTH.reset(token)
