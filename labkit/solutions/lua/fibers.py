"""Fibers: separate C stacks for Lua, so that a run can be suspended in the middle of a script.

A Lua coroutine cannot yield from a hook, and a run cannot move to another thread. But a greenlet can be switched
out from the Python function that a hook calls, together with its C stack. No other code may enter the
Lua state meanwhile.
"""

from __future__ import annotations

import time

from greenlet import GreenletExit, getcurrent, greenlet

ENDED = -1.0


class Fibers:
    """Pool of greenlets in which functions run that may `pause`. For one thread."""

    def __init__(self) -> None:
        self._idle: list[greenlet] = []  # a new fiber costs 4 µs, an idle one 0.6

    def take(self) -> greenlet:
        """Return an idle fiber.

        `fiber.switch(function, arguments, outcome)` calls a function there, and appends its result, or the exception
        that it raised, to the list `outcome`. It returns True once the function has ended, False if it paused: then
        `fiber.switch(True)` returns from the pause, `fiber.switch(False)` returns ENDED from it.
        """
        if self._idle:
            return self._idle.pop()
        fiber = greenlet(_serve)
        fiber.switch()  # run up to its wait: a greenlet keeps the arguments of its first call until it ends
        return fiber

    def give_back(self, fiber: greenlet) -> None:
        """Return an idle fiber to the pool."""
        self._idle.append(fiber)

    def clear(self) -> None:
        """Free the idle fibers."""
        self._idle.clear()


def pause() -> float:
    """Suspend the calling fiber. Return the thread's CPU seconds until it was resumed, or ENDED if it has to end.

    Raises nothing but an interrupt.
    """
    began = time.thread_time()
    try:
        is_resumed = getcurrent().parent.switch(False)
    except GreenletExit:  # the fiber is deleted instead of resumed
        return ENDED
    return time.thread_time() - began if is_resumed else ENDED


def _serve() -> None:
    while True:
        function, arguments, outcome = getcurrent().parent.switch(True)
        try:
            outcome.append(function(*arguments))
        except BaseException as error:  # noqa: BLE001 - raised again outside of the fiber
            outcome.append(error)
        del function, arguments, outcome  # an idle fiber keeps no objects alive
