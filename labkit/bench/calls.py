"""The process that measures calls within itself: `python -m labkit.bench.calls CORE MEASURE SIZE`."""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from labkit.bench.control import Answer, obey, prepare, run

AT_ONCE = 0.02  # seconds that a batch should take, so that the clock is no part of what it measures
LARGEST = 2000  # calls in a batch


@dataclass(frozen=True, slots=True)
class Variant:
    """One of the things that a measure compares: calls of one kind.

    supply: makes what a number of calls is given, outside of the measured time; call: what is measured. It raises
    where it does not give what it should.
    """

    supply: Callable[[int], Awaitable[Sequence[Any]]]
    call: Callable[[Any], Awaitable[object]]

    async def micros(self, seconds: float) -> tuple[float, int]:
        """CPU microseconds a call over `seconds` seconds of CPU time, and how many calls that were."""
        batch, calls, spent = 1, 0, 0.0
        while spent < seconds:
            given = await self.supply(batch)
            began = time.process_time()
            for each in given:
                await self.call(each)
            took = time.process_time() - began
            spent, calls = spent + took, calls + batch
            if took < AT_ONCE:
                batch = min(batch * 2, LARGEST)
        return spent / calls * 1e6, calls


async def serve(measure: str, size: int) -> None:
    from labkit.bench.users import VARIANTS

    async with AsyncExitStack() as stack:
        variants = await VARIANTS[measure](stack, size)

        async def play(variant: str, seconds: float) -> Answer:
            micros, calls = await variants[variant].micros(seconds)
            return {"micros": micros, "calls": calls}

        await obey({"variants": list(variants)}, {"play": play})


def main() -> None:
    core, measure, size = sys.argv[1:]
    prepare(int(core))
    run(serve(measure, int(size)))


if __name__ == "__main__":
    main()
