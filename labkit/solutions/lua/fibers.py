"""C stacks of their own for Lua, so that a run can be switched out in the middle.

A Lua coroutine cannot yield from a hook, and a run cannot move to another thread. But a greenlet can be switched
out from the Python function that a hook calls, with all that stands on the C stack below. Nobody may enter the
Lua state meanwhile.
"""

from __future__ import annotations

import time

from greenlet import getcurrent, greenlet

ENDED = -1.0


class Fibers:
    """Greenlets in which functions run that may `pause`. One thread uses it."""

    def __init__(self) -> None:
        self._idle: list[greenlet] = []  # a new one costs 4 µs, one that is there 0.6

    def take(self) -> greenlet:
        """Return a fiber in which nothing runs.

        `fiber.switch(function, arguments, outcome)` calls a function there, and appends its result, or the exception
        that it raised, to the list `outcome`. It returns True once the function has ended, False where it paused: then
        `fiber.switch(True)` returns from the pause, `fiber.switch(False)` returns ENDED from it.
        """
        if self._idle:
            return self._idle.pop()
        fiber = greenlet(_serve)
        fiber.switch()  # to where it waits: a greenlet holds what it is first called with until it ends
        return fiber

    def give_back(self, fiber: greenlet) -> None:
        """Keep a fiber in which nothing runs any more for another run."""
        self._idle.append(fiber)

    def clear(self) -> None:
        """Free the stacks that are not in use."""
        self._idle.clear()


def pause() -> float:
    """Switch out of the fiber that calls this. Gives the CPU seconds of the thread until it went on, or ENDED.

    Never raises: what it raised would be an error that a script can catch.
    """
    began = time.thread_time()
    try:
        go_on = getcurrent().parent.switch(False)
    except BaseException:  # noqa: BLE001 - thrown in when nobody will ever resume it
        return ENDED
    return time.thread_time() - began if go_on else ENDED


def _serve() -> None:
    while True:
        function, arguments, outcome = getcurrent().parent.switch(True)
        try:
            outcome.append(function(*arguments))
        except BaseException as error:  # noqa: BLE001 - raised again outside of the fiber
            outcome.append(error)
        del function, arguments, outcome  # an idle fiber holds nothing
