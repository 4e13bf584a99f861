"""The time of a game: exact on a virtual clock, and elsewhere what lies between sending and receiving."""

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

TICK = Fraction(1, 1024)  # what a float of Unix seconds holds exactly
MOST_SECONDS = (
    600  # of an answer that took long; a clock that leaps leaves a game with too many states anyway
)
PAUSE = 0.05  # seconds of real time that pass for any advance, where no clock can be moved


class Moments:
    """What time it is at the target, as far as can be told.

    On a virtual clock that is exact, and starts on a whole second. Elsewhere the server's /timestamp tells whole
    seconds: `during` gives all of them that an answer may have been made in. second: asks for it, where a game has
    a device of its own.
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
        """Find out, and go on to the next whole second, where the clock can be moved."""
        if not self.exact:
            self.now = Fraction(await self._second())
            return
        now = Fraction(self._target.lab_time())
        self.now = Fraction(math.floor(now) + 1)
        await self._target.advance(float(self.now - now))

    async def advance(self, ticks: int) -> None:
        """Let so many ticks pass; on a wall clock, a moment."""
        if self.exact:
            self.now += ticks * TICK
            await self._target.advance(float(ticks * TICK))
        else:
            await asyncio.sleep(min(PAUSE, float(ticks * TICK)))

    async def during(self, work: Awaitable[T]) -> tuple[T, list[Fraction]]:
        """The result of some work, and the seconds that it may have been done in."""
        if self.exact:
            return await work, [self.now]
        before = self.now
        result = await work
        self.now = Fraction(await self._second())
        if self.now < before:
            mismatch = Mismatch("the server's time, GET /timestamp", f"{before} or later", self.now)
            raise NotReached("DEV-TIME-2", mismatch)
        last = min(int(self.now - before), MOST_SECONDS)
        return result, [before + each for each in range(last + 1)]
