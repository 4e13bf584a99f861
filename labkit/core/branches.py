"""What an async function does side by side: its calls, one at a time where somebody drives the clock (`core/turns.py`),
and its own code between them.

Nothing tells when code that waits goes on. So each call is a piece of work of its own, with a turn of its own, and the
function rests once the loop has turned a few times without another call of it: then it is no activity, and the next of
its calls has its turn. One that is over wakes it, and it goes on before another begins. What it waits for by other
means (an event, real time) is no call: where it waits for nothing else, it works meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from labkit.core.turns import Turn, Turns, current, on_behalf_of

T = TypeVar("T")

QUIET = 10  # turns of the loop: more than from the end of a task to the code that waits for a group of them


class Branches:
    """The calls of one run of an async function, and a context manager around that run."""

    def __init__(self, turns: Turns) -> None:
        self._activity = turns.activity
        turn = current()
        self._apart = turn is None  # of a request, a cell: it waits for no handler
        self._turn = turns.apart().next() if turn is None else turn
        self._calls = 0
        self._quiet = 0  # turns of the loop since it was seen to work
        self._watched = self._rests = self._over = False

    def __enter__(self) -> Branches:
        self._turn.go_on()
        return self

    def __exit__(self, *_: object) -> None:
        """What the function has left behind works for nobody."""
        self._over = True
        self._wake()
        if self._apart:
            self._turn.end()

    async def call(self, calling: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Call when it is the turn of that; return when it is the function's. Raises what is raised."""
        branch = self._turn.branch()
        self._begin(branch)
        try:
            try:
                with on_behalf_of(branch):
                    await branch.come()
                    result = await calling()
            finally:
                self._end(branch)
            await self._turn.come()
            return result
        except BaseException:
            self._turn.go_on()  # it was given up: the function goes on at once
            raise
        finally:
            self._works()

    def _begin(self, branch: Turn) -> None:
        branch.ask()
        self._activity.begin()
        self._calls += 1
        self._works()

    def _end(self, branch: Turn) -> None:
        self._calls -= 1
        self._wake()
        self._turn.ask()
        branch.end()
        self._activity.end()

    def _wake(self) -> None:
        if self._rests:
            self._rests = False
            self._activity.begin()

    def _works(self) -> None:
        """The function was seen to work: look when it rests."""
        self._wake()
        self._quiet = 0
        if not self._watched:
            self._watched = True
            asyncio.get_running_loop().call_soon(self._look)

    def _look(self) -> None:
        self._quiet += 1
        self._watched = self._quiet < QUIET
        if self._watched:
            asyncio.get_running_loop().call_soon(self._look)
        elif self._calls and not self._over:
            self._rests = True
            self._turn.give()
            self._activity.end()
