"""The handle of a lab's clock."""

from __future__ import annotations

from datetime import UTC, datetime

from labkit.control.clock import ClockState, Moment
from labkit.core.handle import Handle
from labkit.lab.runtime import Runtime


class LabClock(Handle):
    """The lab's clock. A virtual clock moves only by `advance` and by runs of fleets."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._control = runtime.control.clock

    @property
    def time(self) -> float:
        """Lab time in Unix seconds."""
        return self._state().time

    @property
    def now(self) -> datetime:
        """Lab time as a datetime in UTC."""
        return _datetime(self._state())

    @property
    def rate(self) -> float:
        """Seconds of lab time per real second; 0 on a virtual clock."""
        return self._state().rate

    def advance(
        self, seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0
    ) -> datetime:
        """Move a virtual clock forward, and return the new time. Everything due on the way happens at its time.

        seconds, minutes, hours, days: lab time to move by; they add up. Raises LabError on a running clock.
        """
        return _datetime(self._runtime.run(self._control.advance, seconds, minutes, hours, days))

    def advance_to(self, when: Moment) -> datetime:
        """Move a virtual clock forward to `when`: a datetime, Unix seconds, or ISO 8601 (UTC without an offset)."""
        return _datetime(self._runtime.run(self._control.advance_to, when))

    def freeze(self) -> datetime:
        """Stop a running clock, and return its time; from now on it is virtual."""
        return _datetime(self._runtime.run(self._control.freeze))

    def run(self, rate: float = 1.0) -> None:
        """Start a virtual clock from its present time. rate: seconds of lab time per real second."""
        self._runtime.run(self._control.run, rate)

    def _state(self) -> ClockState:
        return self._runtime.run(self._control.state)

    def __repr__(self) -> str:
        state = self._state()
        rate = state.rate
        pace = "virtual" if not rate else "wall clock" if rate == 1 else f"{rate:g} times as fast"
        return f"<clock {_datetime(state):%Y-%m-%d %H:%M:%S} UTC, {pace}>"


def _datetime(state: ClockState) -> datetime:
    return datetime.fromtimestamp(state.time, UTC)
