"""Lab time: the one clock behind every timestamp and lifetime of a lab.

A clock runs at a rate: 1 is the wall clock, 60 makes a minute of each second, 0 stands still until it is
advanced (the virtual clock). Guard times, which protect the process itself, never come from here.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import NamedTuple

from labkit.core.errors import LabError, TakenError
from labkit.core.host_time import HostTime, RealTime

# Returned by the callback of a timer after which nothing has to settle, since it has changed nothing else.
QUIET = object()


class TimerState(NamedTuple):
    """When a timer fires, in Unix seconds, and its place among timers of the same time."""

    when: float
    order: int


class ClockSnapshot(NamedTuple):
    """State of a clock: its rate, lab time and start in Unix seconds, and the number of timers so far."""

    rate: float
    now: float
    start: float
    timers: int


class Reading(NamedTuple):
    """The state of a clock at an instant. lab, real: lab time and the system's time, in Unix seconds."""

    rate: float
    lab: float
    real: float


VIRTUAL_START = 1_767_225_600.0  # 2026-01-01T00:00:00Z: the start of a seeded lab, so that a replay is exact

LATEST = 253_370_764_800.0  # 9999-01-01T00:00:00Z: dates of a year later can still be written
END = "9999-01-01T00:00:00Z"

LONGEST = 86_400.0  # seconds of one wait of the loop: not every loop accepts infinity

OBSERVATION_INTERVAL = 1.0  # seconds of real time between two observations of the host's clock


class Timer:
    """A callback scheduled for a lab time; `cancel()` drops it."""

    __slots__ = ("_clock", "callback", "order", "when")

    def __init__(self, clock: Clock, when: float, order: int, callback: Callable[[], object]) -> None:
        self._clock = clock
        self.when = when
        self.order = order
        self.callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        """Drop the callback; no effect once it has run."""
        if self.callback is not None:
            self.callback = None
            self._clock.sweep()


class Clock:
    """Lab time in seconds since 1970-01-01T00:00:00Z.

    rate: seconds of lab time for each real second; 0 is the virtual clock. start: initial lab time; None is now
    for a wall clock, VIRTUAL_START for a virtual one. real: the host's clocks. At rate 1 and without a start,
    lab time follows the host's (`HostTime`); at other rates and starts it does not depend on how that is set. A
    running clock never goes back.

    Lab time lies between 1970 and LATEST, where a running clock stops. Raises LabError for another start.
    """

    def __init__(self, rate: float = 1.0, start: float | None = None, real: RealTime | None = None) -> None:
        if not 0 <= rate < math.inf:
            raise LabError(f"a clock cannot run at a rate of {rate}, expected 0 or more")
        if start is not None and not 0 <= start <= LATEST:
            raise LabError(f"a clock cannot start at {_shown(start)}, expected a time between 1970 and {END}")
        self._rate = rate
        self._wall, self._steady = real = real if real is not None else RealTime()
        self._since = self._steady()
        self._lab = start if start is not None else (self._wall() if rate else VIRTUAL_START)
        self._host = HostTime(real, LATEST) if rate == 1 and start is None else None
        self._report: Callable[[float], object] | None = None
        self._observer: asyncio.TimerHandle | None = None
        self._start = self._lab
        self._timers: list[tuple[float, int, Timer]] = []
        self._count = itertools.count()
        self._cancelled = 0  # timers that were cancelled and are still in the heap
        self._wakeup: asyncio.TimerHandle | None = None
        self._settle: Callable[[], Awaitable[object]] | None = None
        self._driver: str | None = None
        self.quiet = False  # whether the last timer that `step` fired was QUIET

    @property
    def rate(self) -> float:
        """Seconds of lab time for each real second; 0 while the clock stands still."""
        return self._rate

    def now(self) -> float:
        """Return the lab time in seconds."""
        if not self._rate:
            return self._lab
        if self._host is not None:
            return self._host.now()
        return min(LATEST, self._lab + self._rate * (self._steady() - self._since))

    @property
    def ahead(self) -> float:
        """Seconds by which lab time is ahead of the host's clock; 0 for a clock that does not follow it."""
        return 0.0 if self._host is None else self._host.ahead

    def continue_from(self, when: float) -> None:
        """Set lab time to `when`, unless it is later already."""
        missing = min(when, LATEST) - self.now()
        if missing <= 0:
            return
        if self._host is not None:
            self._host.continue_from(min(when, LATEST))
        else:
            self._lab += missing

    def watch_host(self, report: Callable[[float], object]) -> None:
        """Observe the host's clock every second while this clock follows it.

        report: called with the seconds by which it was set, or the machine slept, once timers are right again.
        """
        self._report = report
        self._schedule_observation()

    def _schedule_observation(self) -> None:
        if self._report is not None and self._host is not None:
            self._observer = asyncio.get_running_loop().call_later(OBSERVATION_INTERVAL, self._observe_host)

    def _observe_host(self) -> None:
        if self._host is None or self._report is None:
            return
        step = self._host.observe()
        self._schedule_observation()
        if step:
            self._arm()  # the loop waits by the steady clock
            self._report(step)

    def reading(self) -> Reading:
        """Return the state from which another process computes the same lab time, while this clock keeps its rate."""
        return Reading(self._rate, self.now(), self._wall())

    @classmethod
    def from_reading(cls, reading: Reading) -> Clock:
        """Return a clock that shows the same as another one, on a machine whose system's clock is right.

        reading: that of the other clock.
        """
        now = reading.lab + reading.rate * (RealTime().wall() - reading.real)
        return cls(reading.rate, min(LATEST, max(0.0, now)))

    def seconds(self) -> int:
        """Return lab time in whole seconds: a `timestamp` of the documents."""
        return int(self.now())

    def micros(self) -> int:
        """Return lab time in whole microseconds."""
        host = self._host  # with few calls: every record of a journal asks
        now = host.now() if host is not None else self.now() if self._rate else self._lab
        return int(now * 1_000_000)

    def settle_with(self, settle: Callable[[], Awaitable[object]]) -> None:
        """Wait for `settle()` after each timer that `advance` fires, so that the work it started has ended."""
        self._settle = settle

    def call_at(self, when: float, callback: Callable[[], object], order: int | None = None) -> Timer:
        """Call `callback` on the running loop once lab time has reached `when`. Raises LabError for NaN.

        order: place among the timers of that time, as in an earlier clock; by default after the existing ones.
        """
        if when != when:  # NaN has no order, and would break the heap
            raise LabError("a timer needs a time in Unix seconds, not nan")
        if order is None:
            order = next(self._count)
        timer = Timer(self, when, order, callback)
        heapq.heappush(self._timers, (when, order, timer))
        # While the clock stands still no wake-up is due, unless this timer is.
        if self._timers[0][2] is timer and (self._rate or when <= self._lab):
            self._arm()
        return timer

    def next_timer_at(self, when: float) -> TimerState:
        """Return the state of a new timer that fires at `when`, after the existing ones of that time."""
        return TimerState(when, next(self._count))

    def sweep(self) -> None:
        """Count a cancelled timer, and remove all cancelled timers once there are many."""
        self._cancelled += 1
        if self._cancelled > 100 + len(self._timers) // 2:
            self._timers = [entry for entry in self._timers if entry[2].callback is not None]
            heapq.heapify(self._timers)
            self._cancelled = 0

    async def sleep_until(self, when: float) -> None:
        """Return once lab time has reached `when`. Raises LabError for NaN."""
        if when <= self.now():
            return
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def reach() -> None:
            if not reached.done():
                reached.set_result(None)

        timer = self.call_at(when, reach)
        try:
            await reached
        finally:
            timer.cancel()

    @property
    def driven(self) -> bool:
        """Whether this virtual clock is under the control of a driver (see `drive`)."""
        return self._driver is not None

    @contextmanager
    def drive(self, driver: str) -> Iterator[None]:
        """Take exclusive control of this virtual clock within the block, to advance it by `step`.

        driver: name of the driver for the errors of other callers. Raises LabError on a running clock, or a
        driven one.
        """
        if self._rate:
            raise LabError("this clock runs by itself; call freeze() first, or make the lab with a seed")
        self.expect_undriven()
        self._driver = driver
        try:
            yield
        finally:
            self._driver = None

    def expect_undriven(self) -> None:
        """Raise LabError if this clock is driven."""
        if self._driver is not None:
            raise TakenError(f"{self._driver} moves this clock; wait for its end, or stop it first")

    def step(self, before: float) -> bool:
        """Advance a driven clock to the next timer before `before`, and fire it.

        Return False if there is none: then the clock is advanced to `before`. Does not wait for the lab to settle.
        """
        when = self.next_timer()
        if when >= before:
            self._lab = max(self._lab, before)
            return False
        self._lab = max(self._lab, when)
        self.quiet = self._fire_first() is QUIET
        return True

    def after(self, seconds: float) -> float:
        """Return the lab time in `seconds`. Raises LabError as `check` does."""
        when = self.now() + seconds
        self.check(when)
        return when

    def check(self, when: float) -> None:
        """Raise LabError if the clock cannot reach the time `when`: in the past, after LATEST, or NaN."""
        now = self.now()
        if when < now:
            raise LabError(f"a clock cannot go back: it is {_shown(now)}, asked for {_shown(when)}")
        if not when <= LATEST:
            raise LabError(f"lab time ends at {END}: it is {_shown(now)}, asked for {_shown(when)}")

    @property
    def due(self) -> bool:
        """Whether a timer is due at this instant, on a driven clock."""
        return bool(self._timers) and self._timers[0][0] <= self._lab and self.next_timer() <= self._lab

    async def advance(
        self, seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0
    ) -> float:
        """Advance a virtual clock; every timer on the way fires at its own time. Returns the new lab time.

        seconds, minutes, hours, days: lab time to advance by; they add up. Raises LabError, and does not move, on a
        running clock, for a time in the past, and for one after LATEST.
        """
        return await self.advance_to(self.after(seconds + 60 * minutes + 3600 * hours + 86400 * days))

    async def advance_to(self, when: float) -> float:
        """Advance as `advance` does, to the time `when` in seconds since 1970."""
        if self._rate:
            raise LabError("this clock runs by itself; call freeze() first, or make the lab with a seed")
        self.check(when)
        self.expect_undriven()
        await self._wait_until_settled()
        while (instant := self.next_timer()) <= when:
            self._lab = max(self._lab, instant)
            if self._fire_first() is not QUIET:
                await self._wait_until_settled()
            # Nothing settles after a quiet timer. Others of the loop, which wait for real time alone, have a turn each
            # 64 s of lab time: one after each timer would cost more than the timer. Where none falls on such an
            # instant, they wait for one that is not quiet, or for the end.
            elif not instant % 64:
                await asyncio.sleep(0)
        self._lab = max(self._lab, when)
        return self._lab

    def freeze(self) -> float:
        """Stop the clock: from now on it is virtual. Returns the lab time."""
        self._lab, self._host = self.now(), None
        self._rate = 0.0
        self._arm()
        return self._lab

    def run(self, rate: float = 1.0) -> None:
        """Run a stopped clock from its present time, at `rate`."""
        if not 0 < rate < math.inf:
            raise LabError(f"a running clock needs a rate above 0, not {rate}")
        self.expect_undriven()
        self._lab, self._since, self._rate = self.now(), self._steady(), rate
        self._host = None
        self._arm()

    def reset(self) -> None:
        """Set a virtual clock back to its start; a running clock continues. Timers stay."""
        if not self._rate:
            self._lab = self._start
            self._arm()

    def snapshot(self) -> ClockSnapshot:
        """Return the state, without timers, which their owners keep."""
        # a count tells its next number only by taking it, so a new one goes on from there
        self._count = itertools.count(timers := next(self._count))
        return ClockSnapshot(self._rate, self.now(), self._start, timers)

    def restore(self, state: ClockSnapshot) -> None:
        """Continue from a state, without timers. A clock that runs keeps its own rate."""
        self._timers.clear()
        self._cancelled = 0
        self._lab, self._since, self._start = state.now, self._steady(), state.start
        self._host = None
        self._count = itertools.count(state.timers)
        self._arm()

    def suspend(self) -> None:
        """Detach from the event loop. Timers stay, and lab time continues."""
        self._disarm()
        self._stop_observing()

    def resume(self) -> None:
        """Attach to the running event loop after `suspend`; timers that became due meanwhile fire."""
        self._arm()
        self._schedule_observation()

    def close(self) -> None:
        """Drop every timer."""
        self._timers.clear()
        self._cancelled = 0
        self._disarm()
        self._report = None
        self._stop_observing()

    def _stop_observing(self) -> None:
        if self._observer is not None:
            self._observer.cancel()
            self._observer = None

    async def _wait_until_settled(self) -> None:
        if self._settle is not None:
            await self._settle()
        else:
            await asyncio.sleep(0)

    def next_timer(self) -> float:
        """Return the time of the next timer; infinity if there is none."""
        while self._timers and self._timers[0][2].callback is None:
            heapq.heappop(self._timers)
            self._cancelled -= 1
        return self._timers[0][0] if self._timers else math.inf

    def _fire_first(self) -> object:
        timer = heapq.heappop(self._timers)[2]
        callback, timer.callback = timer.callback, None
        assert callback is not None  # `next_timer` has removed cancelled timers
        return callback()

    def _fire(self, now: float) -> None:
        while self.next_timer() <= now:
            self._fire_first()

    def _arm(self) -> None:
        """Schedule a wake-up of the loop for the next timer; on a frozen clock, only if it is due already."""
        self._disarm()
        if not self._timers:
            return
        when = self._timers[0][0]
        if when > LATEST:
            return
        wait = when - self.now()
        if wait <= 0:
            self._wakeup = asyncio.get_running_loop().call_later(0, self._ring)
        elif self._rate:
            pace = self._rate if self._host is None else self._host.pace
            wait = min(wait / pace, LONGEST)
            self._wakeup = asyncio.get_running_loop().call_later(wait, self._ring)

    def _ring(self) -> None:
        self._wakeup = None
        try:
            self._fire(self.now())
        finally:  # also if a callback raised, since other timers still wait
            self._arm()

    def _disarm(self) -> None:
        if self._wakeup is not None:
            self._wakeup.cancel()
            self._wakeup = None


def _shown(when: float) -> str:
    """Return a time for an error message: as a date, if it can be one."""
    if 0 <= when <= LATEST:
        return f"{datetime.fromtimestamp(when, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return f"{when:g} s after 1970"
