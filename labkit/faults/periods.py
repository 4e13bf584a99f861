"""Periods of faults: a fault with `after` or `seconds` begins and ends at its own lab times."""

from __future__ import annotations

from collections.abc import Callable

from labkit.faults.fault import ActiveFault
from labkit.labtime.clock import Clock, Timer, TimerState


class Periods:
    """Timers that begin and end faults.

    began, ended: called with a fault at that time. The platform's restarts do not stop the timers: faults are
    outside of the platform.
    """

    def __init__(
        self, clock: Clock, began: Callable[[ActiveFault], object], ended: Callable[[ActiveFault], object]
    ) -> None:
        self._clock = clock
        self._began = began
        self._ended = ended
        self._timers: dict[ActiveFault, Timer] = {}  # the next one of each fault

    def start(self, fault: ActiveFault) -> None:
        """Count the period of a fault from now on; without `after` it has begun already."""
        if fault.settings.after is not None:
            self._at(fault, self._clock.now() + fault.settings.after, self._begin)
        else:
            self._limit(fault)

    def timer(self, fault: ActiveFault) -> TimerState | None:
        """Return the next timer of a fault, if it has one."""
        timer = self._timers.get(fault)
        return None if timer is None else TimerState(timer.when, timer.order)

    def restore(self, fault: ActiveFault, at: TimerState) -> None:
        """Begin or end a fault, as its state asks for, when its timer in another lab was to."""
        self._wait(fault, at, self._begin if fault.state == "waiting" else self._end)

    def stop(self, fault: ActiveFault) -> None:
        """Cancel the timer of a fault, if it has one."""
        timer = self._timers.pop(fault, None)
        if timer is not None:
            timer.cancel()

    def clear(self) -> None:
        """Cancel the timers of all faults."""
        for fault in tuple(self._timers):
            self.stop(fault)

    def _begin(self, fault: ActiveFault) -> None:
        fault.state = "active"
        self._limit(fault)
        self._began(fault)

    def _limit(self, fault: ActiveFault) -> None:
        if fault.settings.seconds is not None:
            self._at(fault, self._clock.now() + fault.settings.seconds, self._end)

    def _end(self, fault: ActiveFault) -> None:
        fault.state = "ended"
        self._ended(fault)

    def _at(self, fault: ActiveFault, when: float, then: Callable[[ActiveFault], object]) -> None:
        self._wait(fault, self._clock.next_timer_at(when), then)

    def _wait(self, fault: ActiveFault, at: TimerState, then: Callable[[ActiveFault], object]) -> None:
        def fire() -> None:
            del self._timers[fault]
            then(fault)

        self._timers[fault] = self._clock.call_at(at.when, fire, at.order)
