"""Order of an async function's concurrent service calls.

While a virtual clock is driven, they run one at a time (turns.py), and the function's own code runs before its
next call. Each call is a piece of work with a turn of its own. The function rests while it waits only for its calls: it
has calls, and nothing is scheduled for its own code (scheduled.py). Then it is no activity, and the next call
has its turn. While a function waits only for something else (real time, a thread), it counts as activity.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from labkit.labtime.scheduled import ScheduledCallbacks, uncounted
from labkit.labtime.turns import Turn, Turns, current, on_behalf_of

T = TypeVar("T")

AT_ONCE = (
    50  # calls without a turn of the loop: calls that never wait would make the function impossible to cancel
)


class Branches:
    """The service calls of one run of an async function, and a context manager around that run."""

    def __init__(self, turns: Turns) -> None:
        self._activity = turns.activity
        turn = current()
        self._is_separate = turn is None  # a run for a request or a cell, which waits for no handler
        self._turn = turns.separate().next() if turn is None else turn
        self._own_code = ScheduledCallbacks(on_some=self._wake, on_none=self._rest)
        self._calls = 0
        self._made = 0
        self._asked: dict[Callable[[], object], Coroutine[Any, Any, object]] = {}  # not awaited yet
        self._rests = self._over = False

    def __enter__(self) -> Branches:
        self._turn.resume()
        self._own_code.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """End the run: tasks that the function has left behind are not part of its activity."""
        self._own_code.__exit__()
        self._over = True
        self._wake()
        if self._is_separate:
            self._turn.end()

    async def unawaited(self) -> list[Any]:
        """Return the calls, as given to `call`, that the function has not awaited at its end: they were not made."""
        if self._asked:
            await asyncio.sleep(0)  # tasks that it has left behind begin
        for each in self._asked.values():
            each.close()  # else Python warns of it
        return list(self._asked)

    def call(self, calling: Callable[[], Coroutine[Any, Any, T]]) -> Coroutine[Any, Any, T]:
        """Run `calling` in a turn of its own, and return its result when the function has its turn again.

        Raises the exceptions of `calling`.
        """
        self._asked[calling] = made = self._call(calling)
        return made

    async def _call(self, calling: Callable[[], Coroutine[Any, Any, T]]) -> T:
        del self._asked[calling]
        self._made += 1
        if not self._made % AT_ONCE:
            await asyncio.sleep(0)  # so that other tasks run, and a time limit can end the function
        branch = self._turn.branch()
        self._begin(branch)
        try:
            try:
                with on_behalf_of(branch), uncounted():
                    await branch.wait()
                    result = await calling()
            finally:
                self._end(branch)
            await self._turn.wait()
            return result
        except BaseException:
            self._turn.resume()  # it was cancelled: the function resumes at once
            raise

    def _begin(self, branch: Turn) -> None:
        branch.enqueue()
        self._activity.begin()
        self._calls += 1
        self._own_code.count_current()

    def _end(self, branch: Turn) -> None:
        self._calls -= 1
        self._own_code.count_current()
        self._turn.enqueue()
        branch.end()
        self._activity.end()

    def _wake(self) -> None:
        if self._rests:
            self._rests = False
            self._activity.begin()

    def _rest(self) -> None:
        if self._calls and not self._over:
            self._rests = True
            self._turn.release()
            self._activity.end()
