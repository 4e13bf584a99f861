"""Operations on the lab's clock: read it, advance it, stop it and run it."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from typing import Annotated

from pydantic import Field

from labkit.control.bounds import Seconds
from labkit.control.data import Data
from labkit.core.errors import LabError, in_seconds
from labkit.labtime.story_work import CURRENT
from labkit.platform import Platform

Moment = Seconds | Annotated[str, Field(max_length=64)] | datetime
Rate = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
SECONDS = ("seconds", "down", "within", "after", "timeout", "every")  # arguments that are seconds


class ClockState(Data):
    """State of the clock.

    time: lab time in seconds since 1970; rate: seconds of lab time per second of real time, 0 on a virtual clock;
    moves: whether it runs, or the run of a fleet moves it.
    """

    time: float
    rate: float
    moves: bool


class ClockControl:
    """Operations on the clock of a lab."""

    def __init__(self, platform: Platform) -> None:
        self._clock = platform.context.clock
        self._firmware = platform.firmware

    async def state(self) -> ClockState:
        """Return the current lab time and the rate."""
        rate = self._clock.rate
        return ClockState(time=self._clock.now(), rate=rate, moves=bool(rate) or self._clock.driven)

    async def advance(
        self, seconds: Seconds = 0, minutes: Seconds = 0, hours: Seconds = 0, days: Seconds = 0
    ) -> ClockState:
        """Advance a virtual clock by the sum of the arguments; every timer on the way fires at its own time.

        Raises LabError on a running clock, for a value that is not a finite number, and for a negative sum.
        """
        given = {"seconds": seconds, "minutes": minutes, "hours": hours, "days": days}
        for name, value in given.items():
            number_of(value, name)
        when = self._clock.after(seconds + 60 * minutes + 3600 * hours + 86400 * days)
        return await self._advance_to(when)

    async def advance_to(self, when: Moment) -> ClockState:
        """Advance a virtual clock to a moment: see `advance` and `seconds_of`."""
        return await self._advance_to(seconds_of(when, "when"))

    async def _advance_to(self, when: float) -> ClockState:
        self._firmware.expect_all()
        if (work := CURRENT.get()) is not None:
            await work.wait_until(when)
        else:
            await self._clock.advance_to(when)
        return await self.state()

    async def freeze(self) -> ClockState:
        """Stop a running clock at the current time. It is virtual from then on."""
        self._clock.freeze()
        return await self.state()

    async def run(self, rate: Rate = 1.0) -> ClockState:
        """Run a stopped clock from its current time.

        Raises LabError for a rate that is not above 0, and while a program of `lab.firmware` runs.
        """
        self._firmware.expect_none("run")
        self._clock.run(number_of(rate, "rate"))
        return await self.state()


def seconds_of(when: object, name: str) -> float:
    """Return a moment in seconds since 1970. `when`: Unix seconds, a datetime, or an ISO 8601 text; UTC by default.

    Raises LabError with the name of the argument, `name`, and the expected forms.
    """
    expected = "expected Unix seconds, a datetime or an ISO 8601 text such as '2026-03-01T08:00'"
    if isinstance(when, str):
        try:
            when = datetime.fromisoformat(when)
        except ValueError:
            raise LabError(f"{name}: {expected}, not {when!r}") from None
    elif isinstance(when, date) and not isinstance(when, datetime):
        when = datetime(when.year, when.month, when.day)  # noqa: DTZ001  the zone follows
    if isinstance(when, datetime):
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    return number_of(when, name, expected)


def number_of(value: object, name: str, expected: str = "expected a number") -> float:
    """Return `value` as a finite float. Raises LabError with `name` and `expected` otherwise."""
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
    except OverflowError:
        number = math.nan
    if not math.isfinite(number):
        shown = (
            "a larger one than fits"
            if isinstance(value, int) and not isinstance(value, bool)
            else repr(value)
        )
        raise LabError(f"{name}: {expected}, not {shown}{in_seconds(value) if name in SECONDS else ''}")
    return number
