"""C stacks of their own for Lua, so that a run can be switched out in the middle.

A Lua coroutine cannot yield from a hook, and a run cannot move to another thread. But a greenlet can be switched
out from the Python function that a hook calls, with all that stands on the C stack below. Nobody may enter the
Lua state meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from greenlet import getcurrent, greenlet

ENDED = -1.0


class Raised:
    """A function ended by raising an error."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Fibers:
    """Calls functions, each to its end or to its first `pause`. One thread uses it."""

    def __init__(self) -> None:
        self._idle: list[greenlet] = []  # a new one costs 4 µs, one that is there 0.6

    def start(self, function: Callable[..., Any], *arguments: object) -> Any:
        """What a function gives, or Raised; where it pauses, the greenlet to `resume`."""
        fiber = self._idle.pop() if self._idle else greenlet(_serve)
        outcome = fiber.switch(function, arguments)
        if outcome is not fiber:
            self._idle.append(fiber)
        return outcome

    def resume(self, fiber: greenlet, go_on: bool = True) -> Any:
        """Return from the pause, and give what `start` gives; with go_on=False the pause gives ENDED."""
        outcome = fiber.switch(go_on)
        if outcome is not fiber:
            self._idle.append(fiber)
        return outcome

    def clear(self) -> None:
        """Free the stacks that are not in use."""
        self._idle.clear()


def pause() -> float:
    """Switch out what Fibers runs. Gives the CPU seconds of the thread until it went on, or ENDED.

    Never raises: what it raised would be an error that a script can catch.
    """
    began = time.thread_time()
    fiber = getcurrent()
    try:
        go_on = fiber.parent.switch(fiber)
    except BaseException:  # noqa: BLE001 - thrown in when nobody will ever resume it
        return ENDED
    return time.thread_time() - began if go_on else ENDED


def _serve(function: Callable[..., Any], arguments: tuple[object, ...]) -> None:
    parent = getcurrent().parent
    while True:
        try:
            outcome = function(*arguments)
        except BaseException as error:  # noqa: BLE001 - raised again outside of the fiber
            outcome = Raised(error)
        del function, arguments  # an idle fiber holds nothing
        given, outcome = outcome, None
        function, arguments = parent.switch(given)
