"""Nesting depth of calls from one solution to another, on the loop and in threads.

Code within a call must never wait for a resource (a thread, a turn) that one of its callers keeps, since that would be
a deadlock.
"""

from __future__ import annotations

from contextvars import ContextVar

DEPTH: ContextVar[int] = ContextVar("calls that wait", default=0)


def depth() -> int:
    """Return the number of calls that wait for the running code; 0 for a request, an event, a cell."""
    return DEPTH.get()
