"""Which handler works while a fleet is simulated: one at a time, so that a seed gives the same again.

Handlers of several events, and those of several solutions for one, work side by side, and which of them is first is a
matter of real time. Where somebody drives a virtual clock (`Clock.drive`) they take turns: each works until it ends,
lab time holds it, or it waits for others. The next one is that whose event was raised first. What it begins side by
side (subscribers that it has told, calls of an async function: core/branches.py) are branches of its turn, before
whatever comes after it.

What was held goes on without waiting: a virtual clock fires one timer at a time, when all others have settled. A
handler that waits for another one by other means than the platform's waits for ever.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from labkit.core import time_limits
from labkit.core.activity import Activity
from labkit.core.clock import Clock

T = TypeVar("T")


class Turn:
    """That of one handler, or of one branch of what it does; what works on its behalf finds it by `current`.

    number: lower ones come first; that of a branch begins with that of what it is a branch of.
    """

    __slots__ = ("_coming", "_mine", "_over", "_turns", "number")

    def __init__(self, turns: Turns, number: tuple[int, ...]) -> None:
        self.number = number
        self._turns = turns
        self._mine = self._over = False
        self._coming: asyncio.Future[None] | None = None

    def branch(self) -> Turn:
        """A turn for later than this and the branches that it has, and for sooner than what comes after it."""
        return self._turns.next(self.number)

    @property
    def asks(self) -> bool:
        """Does it stand in line?"""
        return self._coming is not None and not self._coming.done()

    def ask(self) -> None:
        """Stand in line; `come` has to follow, or `end`."""
        if self._mine or self._turns.free:
            self.go_on()
        elif not self.asks:
            self._coming = asyncio.get_running_loop().create_future()
            self._turns.line_up(self)
            self._turns.call_next()  # of those before it all may have given up

    async def come(self) -> None:
        """Return when it is the turn of who asked."""
        if (coming := self._coming) is not None:
            with time_limits.held():
                await coming
            if self._coming is coming:
                self._coming = None

    def go_on(self) -> None:
        """Work from now on, beside whoever does."""
        if not (self._mine or self._over):
            self._mine = True
            self._turns.working += 1
        if self._coming is not None and not self._coming.done():
            self._coming.set_result(None)

    def give(self) -> None:
        """Others may work. Nothing happens where they may already."""
        if self._mine:
            self._mine = False
            self._turns.working -= 1
            self._turns.call_next()

    def end(self) -> None:
        """It asks no more: what it may have left behind works beside the others."""
        self._over = True
        self.go_on()  # who waits for it
        self.give()


class Turns:
    """All of a lab. working: how many have their turn; where a clock is driven one, or what was held beside it;
    activity: what they are pieces of.
    """

    def __init__(self, clock: Clock, activity: Activity) -> None:
        self.working = 0
        self.activity = activity
        self._clock = clock
        self._line: list[tuple[tuple[int, ...], int, Turn]] = []
        self._numbers = itertools.count()

    @property
    def free(self) -> bool:
        """Need nobody wait?"""
        return not (self.working or self._line) or not self._clock.driven

    def next(self, of: tuple[int, ...] = ()) -> Turn:
        """A turn for later than all others, or than all branches of a number, who has yet to ask."""
        return Turn(self, (*of, next(self._numbers)))

    def apart(self) -> Turns:
        """Turns for what is no handler's: those who take them wait for each other, and for nobody else."""
        return Turns(self._clock, self.activity)

    def line_up(self, turn: Turn) -> None:
        heapq.heappush(self._line, (turn.number, next(self._numbers), turn))

    def call_next(self) -> None:
        """Let those work who asked: the first, where nobody works; all, where the clock is driven no more."""
        while self._line and not (self.working and self._clock.driven):
            *_, turn = heapq.heappop(self._line)
            if turn.asks:
                turn.go_on()

    @asynccontextmanager
    async def aside(self) -> AsyncIterator[None]:
        """Within, a piece of work waits for others to end: it is no activity, and another has its turn."""
        turn = current()
        self.activity.end()
        if turn is not None:
            turn.give()
        try:
            yield
        finally:
            self.activity.begin()
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
            return await self.activity.gather([work() for work in works])
        branches = [turn.branch() for _ in works]
        for branch in branches:
            branch.ask()
        turn.give()
        try:
            return await self.activity.gather(list(map(_branch, branches, works)))
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


@contextmanager
def on_behalf_of(turn: Turn) -> Iterator[None]:
    """What runs within works on behalf of this turn."""
    before = _CURRENT.set(turn)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def begin(turn: Turn) -> None:
    """What runs in this context from now on works on behalf of this turn."""
    _CURRENT.set(turn)


def current() -> Turn | None:
    """The turn on whose behalf this runs, on the loop or in a thread; None for a request, a cell."""
    return _CURRENT.get()
