"""Overlap of handlers on a virtual clock: drawn lab time for their service calls, and the order of their turns.

Handlers take turns, and a turn ends where lab time passes. So a call that takes lab time lets other handlers run
between two calls of one handler, as on a platform with many machines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from labkit.faults.tools import FaultTools
from labkit.labtime.clock import Clock
from labkit.settings.overlap import OverlapSettings

T = TypeVar("T")
NAME = "overlap"  # of the delays

Draw = Callable[[str, str], float]  # purpose and actor → a number from 0 to 1, the actor's next draw


class Overlap:
    """Overlap of work in a lab. settings: replaced as a whole; draw: of the lab's seed."""

    def __init__(self, clock: Clock, tools: FaultTools, draw: Draw) -> None:
        self.settings = OverlapSettings()
        self._clock = clock
        self._tools = tools
        self._draw = draw

    @property
    def delays_calls(self) -> bool:
        """Whether service calls of handlers take lab time."""
        return self.settings.calls is not None

    async def pass_time(self, solution: str, run: int | None) -> None:
        """Wait for the lab time that a call takes. run: the record of the handler's run; other calls take none."""
        calls = self.settings.calls
        if calls is None or run is None:
            return
        low, high = calls if isinstance(calls, tuple) else (calls, calls)
        seconds = low + (high - low) * self._draw("overlap", solution)
        await self._tools.delay_until(NAME, solution, self._clock.now() + seconds, run)

    def in_order(self, receivers: list[T], source: str) -> list[T]:
        """Return the receivers of an event in the order of their turns. source: of the event."""
        if self.settings.order == "raised" or len(receivers) < 2:
            return receivers
        drawn = [self._draw("order of handlers", source) for _ in receivers]
        return [
            receiver for _, _, receiver in sorted(zip(drawn, range(len(receivers)), receivers, strict=True))
        ]
