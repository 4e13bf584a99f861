"""The current time of a target during a model game: exact on a virtual clock, else an interval of seconds."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from fractions import Fraction
from functools import partial
from typing import TypeVar

from labkit.conformance import device_client
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch, NotReached

T = TypeVar("T")

TICK = Fraction(1, 1024)  # seconds; a float of Unix seconds represents it exactly
LONGEST_ANSWER = 600  # seconds; a clock that leaps leaves a game with too many states anyway
PAUSE = 0.05  # most seconds of real time for an advance, where the clock cannot be moved


class GameClock:
    """The time at the target.

    On a virtual clock it is exact, and starts on a whole second. Elsewhere the server's /timestamp gives whole seconds,
    and `timed` returns all seconds in which an answer may have been made. second: reads the timestamp, by default with
    a shared device; a game with its own device passes its own function.
    """

    def __init__(self, target: Target, second: Callable[[], Awaitable[int]] | None = None) -> None:
        self._target = target
        if second is None:
            device = target.device("token-open", client=target.shared_client("token-open"))
            second = partial(device_client.now, device)
        self._second = second
        self.exact = "clock" in target.offers
        self.now = Fraction(0)

    async def begin(self) -> None:
        """Read the time, and move a virtual clock to the next whole second."""
        if not self.exact:
            self.now = Fraction(await self._second())
            return
        now = Fraction(self._target.lab_time())
        self.now = Fraction(math.floor(now) + 1)
        await self._target.advance(float(self.now - now))

    async def advance(self, ticks: int) -> None:
        """Advance the clock by a number of ticks; on a wall clock, wait at most 50 ms instead."""
        if self.exact:
            self.now += ticks * TICK
            await self._target.advance(float(ticks * TICK))
        else:
            await asyncio.sleep(min(PAUSE, float(ticks * TICK)))

    async def timed(self, work: Awaitable[T]) -> tuple[T, list[Fraction]]:
        """Return a request's result and every second in which the target may have handled it.

        Raises NotReached if the server's time runs backwards.
        """
        if self.exact:
            return await work, [self.now]
        before = self.now
        result = await work
        self.now = Fraction(await self._second())
        if self.now < before:
            mismatch = Mismatch("the server's time, GET /timestamp", f"{before} or later", self.now)
            raise NotReached("DEV-TIME-2", mismatch)
        last = min(int(self.now - before), LONGEST_ANSWER)
        return result, [before + each for each in range(last + 1)]
