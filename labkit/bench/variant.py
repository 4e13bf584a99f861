"""Variants that a measure compares."""

from __future__ import annotations

import resource
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

AT_ONCE = 0.02  # seconds that a batch should take, so that reading the clock does not matter
LARGEST = 2000  # calls in a batch


def cpu() -> float:
    """Return the CPU seconds, of user and system, of this process and of its children that have ended."""
    both = [resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in both)


@dataclass(frozen=True, slots=True)
class Variant:
    """Calls of one kind that a measure compares with others.

    supply: makes parameters for a number of calls, outside of the measured time; call: the measured function,
    which raises where its result is wrong; each: number of counted units in one call, such as deliveries.
    """

    supply: Callable[[int], Awaitable[Sequence[Any]]]
    call: Callable[[Any], Awaitable[object]]
    each: int = 1

    async def micros(self, seconds: float) -> tuple[float, int]:
        """Return CPU microseconds a counted unit, over `seconds` seconds of CPU time, and the number of calls."""
        batch, calls, spent = 1, 0, 0.0
        while spent < seconds:
            given = await self.supply(batch)
            began = cpu()
            for each in given:
                await self.call(each)
            took = cpu() - began
            spent, calls = spent + took, calls + batch
            if took < AT_ONCE:
                batch = min(batch * 2, LARGEST)
        return spent / (calls * self.each) * 1e6, calls


def in_turn(given: Sequence[Any], call: Callable[[Any], Awaitable[object]], each: int = 1) -> Variant:
    """Return a variant whose calls get the given parameters in turn, repeatedly."""
    numbers = count()

    async def supply(number: int) -> list[Any]:
        return [given[turn % len(given)] for turn in islice(numbers, number)]

    return Variant(supply, call, each)
