"""Which handler works while a fleet is simulated: one at a time, so that a seed gives the same again.

Handlers of several events, and those of several solutions for one, work side by side, and which of them is first is a
matter of real time. Where somebody drives a virtual clock (`Clock.drive`) they take turns: each works until it ends,
lab time holds it, or it waits for others. The next one is that whose event was raised first.

What was held goes on without waiting: a virtual clock fires one timer at a time, when all others have settled. A
handler that waits for another one by other means than the platform's waits for ever.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from labkit.core.activity import Activity
from labkit.core.clock import Clock

T = TypeVar("T")


class Turn:
    """That of one handler, or of one branch of what it does; what works on its behalf finds it by `current`.

    number: lower ones come first.
    """

    __slots__ = ("_coming", "_mine", "_over", "_turns", "number")

    def __init__(self, turns: Turns, number: int) -> None:
        self.number = number
        self._turns = turns
        self._mine = self._over = False
        self._coming: asyncio.Future[None] | None = None

    def ask(self) -> None:
        """Stand in line; `come` has to follow, or `end`."""
        if self._turns.free:
            self.go_on()
        else:
            self._coming = asyncio.get_running_loop().create_future()
            self._turns.line_up(self)
            self._turns.call_next()  # of those before it all may have given up

    async def come(self) -> None:
        """Return when it is the turn of who asked."""
        if self._coming is not None:
            await self._coming
            self._coming = None

    def go_on(self) -> None:
        """Work from now on, beside whoever does."""
        if not (self._mine or self._over):
            self._mine = True
            self._turns.working += 1

    def call(self) -> bool:
        """It is the turn of who asked. False where it was given up."""
        if self._over or self._coming is None or self._coming.done():
            return False
        self.go_on()
        self._coming.set_result(None)
        return True

    def give(self) -> None:
        """Others may work. Nothing happens where they may already."""
        if self._mine:
            self._mine = False
            self._turns.working -= 1
            self._turns.call_next()

    def end(self) -> None:
        """It asks no more: what it may have left behind works beside the others."""
        self._over = True
        self.give()


class Turns:
    """All of a lab. working: how many have their turn; where a clock is driven one, or what was held beside it."""

    def __init__(self, clock: Clock, activity: Activity) -> None:
        self.working = 0
        self._clock = clock
        self._activity = activity
        self._line: list[tuple[int, Turn]] = []
        self._numbers = itertools.count()

    @property
    def free(self) -> bool:
        """Need nobody wait?"""
        return not (self.working or self._line) or not self._clock.driven

    def next(self) -> Turn:
        """A turn for later than all others, who has yet to ask."""
        return Turn(self, next(self._numbers))

    def line_up(self, turn: Turn) -> None:
        heapq.heappush(self._line, (turn.number, turn))

    def call_next(self) -> None:
        """Let those work who asked: the first, where nobody works; all, where the clock is driven no more."""
        while self._line and not (self.working and self._clock.driven):
            heapq.heappop(self._line)[1].call()

    @asynccontextmanager
    async def aside(self) -> AsyncIterator[None]:
        """Within, a piece of work waits for others to end: it is no activity, and another has its turn."""
        turn = current()
        self._activity.end()
        if turn is not None:
            turn.give()
        try:
            yield
        finally:
            self._activity.begin()
            if turn is not None:
                turn.ask()
                await turn.come()

    async def gather(self, works: Sequence[Callable[[], Coroutine[Any, Any, T]]]) -> list[T]:
        """The results of several works, each a piece of work of its own; the one that waits for them stands for the
        last of them. Side by side, or in turn where who waits has a turn.

        Raises what the first raises that does.
        """
        turn = current()
        if turn is None:
            return await self._activity.gather([work() for work in works])
        branches = [self.next() for _ in works]
        for branch in branches:
            branch.ask()
        turn.give()
        try:
            return await self._activity.gather(list(map(_branch, branches, works)))
        finally:
            for branch in branches:
                branch.end()
            turn.ask()
            await turn.come()


async def _branch(turn: Turn, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    begin(turn)  # in the context of a task of its own
    try:
        await turn.come()
        return await work()
    finally:
        turn.end()


_CURRENT: ContextVar[Turn | None] = ContextVar("turn", default=None)


def begin(turn: Turn) -> None:
    """What runs in this context from now on works on behalf of this turn."""
    _CURRENT.set(turn)


def current() -> Turn | None:
    """The turn on whose behalf this runs, on the loop or in a thread; None for a request, a cell."""
    return _CURRENT.get()
