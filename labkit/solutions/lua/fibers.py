"""C stacks of their own for Lua, so that a run can be switched out in the middle.

A Lua coroutine cannot yield from a hook, and a run cannot move to another thread. But a greenlet can be switched
out from the Python function that a hook calls, with all that stands on the C stack below. Nobody may enter the
Lua state meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from greenlet import getcurrent, greenlet

ENDED = -1.0


class Fibers:
    """Runs functions, each to its end or to its first `pause`. One thread uses it."""

    def __init__(self) -> None:
        self._idle: list[greenlet] = []  # a new one costs 4 µs, one that is there 0.6

    def start(self, function: Callable[[], None]) -> greenlet | None:
        """Call a function, which must not raise. None once it returned, otherwise what to `resume`."""
        fiber = self._idle.pop() if self._idle else greenlet(_serve)
        if not fiber.switch(function):
            return fiber
        self._idle.append(fiber)
        return None

    def resume(self, fiber: greenlet, go_on: bool = True) -> greenlet | None:
        """Return from the pause; with go_on=False it gives ENDED."""
        if not fiber.switch(go_on):
            return fiber
        self._idle.append(fiber)
        return None

    def clear(self) -> None:
        """Free the stacks that are not in use."""
        self._idle.clear()


def pause() -> float:
    """Switch out what Fibers runs. Gives the CPU seconds of the thread until it went on, or ENDED.

    Never raises: what it raised would be an error that a script can catch.
    """
    began = time.thread_time()
    try:
        go_on = getcurrent().parent.switch(False)
    except BaseException:  # noqa: BLE001 - thrown in when nobody will ever resume it
        return ENDED
    return time.thread_time() - began if go_on else ENDED


def _serve(function: Callable[[], None]) -> None:
    while True:
        function()
        del function  # an idle fiber holds nothing
        function = getcurrent().parent.switch(True)
