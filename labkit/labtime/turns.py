"""Scheduler that runs event handlers one at a time while a virtual clock is driven, in an order that the seed fixes.

Handlers of several events, and those of several solutions for one event, run concurrently, and their order
depends on real time. While a virtual clock is driven (`Clock.drive`) they take turns: each runs until it ends,
is delayed for lab time, or waits for others. The next one is the handler of the event that was raised first.
Concurrent work that it begins (notified subscribers, calls of an async function: branches.py) forms
branches of its turn, before any later turn.

A delayed handler resumes without waiting for a turn: a virtual clock fires one timer at a time, when all other
work has settled. A handler that waits for another one by means outside of the platform would wait for ever.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from labkit.labtime import time_limits
from labkit.labtime.activity import Activity
from labkit.labtime.clock import Clock

T = TypeVar("T")


class Turn:
    """The turn of one handler, or of one branch of its work. Code that runs on its behalf gets it from `current`.

    number: position in the order of turns; the number of a branch begins with its parent's number; of_story: whether it
    is of a request or call of a story, which has no run of its own.
    """

    __slots__ = ("_admission", "_is_running", "_over", "_turns", "number", "of_story")

    def __init__(self, turns: Turns, number: tuple[int, ...]) -> None:
        self.number = number
        self.of_story = False
        self._turns = turns
        self._is_running = self._over = False
        self._admission: asyncio.Future[None] | None = None

    def branch(self) -> Turn:
        """Return a new branch: after this turn and its existing branches, before all later turns."""
        return self._turns.next(self.number)

    @property
    def activity(self) -> Activity:
        """The count of pending work of the lab that the turn belongs to."""
        return self._turns.activity

    @property
    def is_waiting(self) -> bool:
        """Whether the turn is in the queue."""
        return self._admission is not None and not self._admission.done()

    def enqueue(self) -> None:
        """Enter the queue; `wait` has to follow, or `end`."""
        if self._is_running or self._turns.is_free:
            self.resume()
        elif not self.is_waiting:
            self._admission = asyncio.get_running_loop().create_future()
            self._turns.add_to_queue(self)
            self._turns.start_next()  # all turns before it may have been cancelled

    async def wait(self) -> None:
        """Return when it is this turn, after `enqueue`."""
        if (admission := self._admission) is not None:
            with time_limits.paused():
                await admission
            if self._admission is admission:
                self._admission = None

    def resume(self) -> None:
        """Run from now on, concurrently with other running turns."""
        if not (self._is_running or self._over):
            self._is_running = True
            self._turns.working += 1
        if self._admission is not None and not self._admission.done():
            self._admission.set_result(None)

    def release(self) -> None:
        """Let other turns run. No effect if this turn is not running."""
        if self._is_running:
            self._is_running = False
            self._turns.working -= 1
            self._turns.start_next()

    def end(self) -> None:
        """Leave the queue and let others run; work left behind runs concurrently with them."""
        self._over = True
        self.resume()  # resumes a coroutine that waits in `wait`
        self.release()


class Turns:
    """Scheduler of a lab's turns.

    working: number of running turns; on a driven clock at most one, plus turns resumed after a delay; activity: the
    count of pending work that the turns belong to.
    """

    def __init__(self, clock: Clock, activity: Activity) -> None:
        self.working = 0
        self.activity = activity
        self._clock = clock
        self._queue: list[tuple[tuple[int, ...], int, Turn]] = []
        self._numbers = itertools.count()

    @property
    def is_free(self) -> bool:
        """Whether a new turn may run at once."""
        return not (self.working or self._queue) or not self._clock.driven

    def next(self, of: tuple[int, ...] = ()) -> Turn:
        """Return a new turn after all others, or after all branches of turn number `of`. Call its `enqueue` next."""
        return Turn(self, (*of, next(self._numbers)))

    def separate(self) -> Turns:
        """Return a separate scheduler for work that belongs to no handler; its turns wait only for each other."""
        return Turns(self._clock, self.activity)

    def add_to_queue(self, turn: Turn) -> None:
        """Add a turn to the queue."""
        heapq.heappush(self._queue, (turn.number, next(self._numbers), turn))

    def start_next(self) -> None:
        """Start the first waiting turn if none is running; on a clock that is no longer driven, start all."""
        while self._queue and not (self.working and self._clock.driven):
            *_, turn = heapq.heappop(self._queue)
            if turn.is_waiting:
                turn.resume()

    @asynccontextmanager
    async def for_story(self, of: Turn | None = None) -> AsyncIterator[None]:
        """Run the block, a route or call of a story, in a turn of its own, or in that of the handler that asked for it.

        of: the turn of that handler, if any. The handlers of events that the block raises come after it, or when it is
        delayed.
        """
        if of is not None:
            with on_behalf_of(of):
                yield
            return
        if not self._clock.driven:
            yield
            return
        turn = self.next()
        turn.of_story = True
        turn.enqueue()
        with on_behalf_of(turn):
            try:
                await turn.wait()
                yield
            finally:
                turn.end()

    @asynccontextmanager
    async def released(self) -> AsyncIterator[None]:
        """Release the caller's turn within the block, in which it waits for other runs; it is no activity meanwhile."""
        turn = current()
        self.activity.end()
        if turn is not None:
            turn.release()
        try:
            yield
        finally:
            self.activity.begin()
            if turn is not None:
                turn.enqueue()
                await turn.wait()

    async def gather(self, works: Sequence[Callable[[], Coroutine[Any, Any, T]]]) -> list[T]:
        """Run functions as branches and return their results in order.

        They run concurrently, or one at a time if the caller has a turn. Each counts as pending work until it
        ends. Raises the first exception.
        """
        turn = current()
        if turn is None:
            return await self.activity.gather([work() for work in works])
        branches = [turn.branch() for _ in works]
        for branch in branches:
            branch.enqueue()
        turn.release()
        try:
            return await self.activity.gather(list(map(_branch, branches, works)))
        finally:
            for branch in branches:
                branch.end()
            turn.enqueue()
            await turn.wait()


async def _branch(turn: Turn, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    begin(turn)  # in the context of a task of its own
    try:
        await turn.wait()
        return await work()
    finally:
        turn.end()


_CURRENT: ContextVar[Turn | None] = ContextVar("turn", default=None)


@contextmanager
def on_behalf_of(turn: Turn) -> Iterator[None]:
    """Run the block on behalf of a turn."""
    before = _CURRENT.set(turn)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def begin(turn: Turn) -> None:
    """Run the rest of this context on behalf of a turn."""
    _CURRENT.set(turn)


def leave() -> None:
    """Run the rest of this context on nobody's behalf: a thread that a handler has begun beside itself."""
    _CURRENT.set(None)


def current() -> Turn | None:
    """Return the turn on whose behalf this code runs, on the loop or in a thread; None for a request, a cell."""
    return _CURRENT.get()
