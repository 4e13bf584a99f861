"""The handle of a lab's clock."""

from __future__ import annotations

from datetime import UTC, datetime

from labkit.core import clock as core
from labkit.lab.portal import Portal


class LabClock:
    """Lab time; on a virtual clock it moves only when told."""

    def __init__(self, portal: Portal, clock: core.Clock) -> None:
        self._portal = portal
        self._clock = clock

    @property
    def time(self) -> float:
        """Lab time in seconds since 1970."""
        return self._portal.call(self._clock.now)

    @property
    def now(self) -> datetime:
        """Lab time as a datetime in UTC."""
        return datetime.fromtimestamp(self.time, UTC)

    @property
    def rate(self) -> float:
        """Seconds of lab time for each real second; 0 on a virtual clock."""
        return self._clock.rate

    def advance(
        self, seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0
    ) -> datetime:
        """Move a virtual clock on; all that is due on the way happens at its own time."""
        self._portal.run(self._clock.advance, seconds, minutes=minutes, hours=hours, days=days)
        return self.now

    def advance_to(self, when: datetime | float | str) -> datetime:
        """Move a virtual clock on to a datetime, Unix seconds, or an ISO 8601 text (UTC unless it says else)."""
        if isinstance(when, str):
            when = datetime.fromisoformat(when)
        if isinstance(when, datetime):
            when = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
        self._portal.run(self._clock.advance_to, when)
        return self.now

    def freeze(self) -> datetime:
        """Stop a running clock where it is; from now on it is virtual."""
        self._portal.call(self._clock.freeze)
        return self.now

    def run(self, rate: float = 1.0) -> None:
        """Let a stopped clock run on from where it is."""
        self._portal.call(self._clock.run, rate)

    def __repr__(self) -> str:
        rate = self.rate
        pace = "virtual" if not rate else "wall clock" if rate == 1 else f"{rate:g} times as fast"
        return f"<clock {self.now:%Y-%m-%d %H:%M:%S} UTC, {pace}>"
