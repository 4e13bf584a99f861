"""How deep the calls of one solution to another are nested, wherever a run asks: on the loop or in a thread.

What runs within a call must never wait for what a run above it holds (a thread, a turn): that would wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_DEPTH: ContextVar[int] = ContextVar("calls that wait", default=0)


def depth() -> int:
    """How many calls wait for what runs now; 0 for a request, an event, a cell."""
    return _DEPTH.get()


@contextmanager
def nested() -> Iterator[int]:
    """What runs within is one call deeper. Gives its depth, from 1."""
    token = _DEPTH.set(_DEPTH.get() + 1)
    try:
        yield _DEPTH.get()
    finally:
        _DEPTH.reset(token)
