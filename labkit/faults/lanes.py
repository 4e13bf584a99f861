"""Delivery lanes of delayed events: a late event waits separately, a delayed event blocks later events of its lane.

Events that wait here are not queued yet, so they do not count as activity: the lab settles, and its clock can
be advanced.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from labkit.core.clock import Clock, Timer
from labkit.core.events import Events, Handler
from labkit.faults.delays import Held

MAX_WAITING = 10_000  # events waiting at one time; further events are delivered without delay


@dataclass(slots=True)
class Arrival:
    """An event on its way to a handler. delay: seconds for which it blocks its lane, once it is first in it."""

    source: str
    receiver: str
    handler: Handler
    payload: Any
    delay: float = 0.0


class Lanes:
    """Scheduler of delayed events: queues each when it is due and when no earlier event blocks its lane.

    A lane is a pair of source and receiver. changed: called when the first lane is blocked, and when the last one is
    free.
    """

    def __init__(self, clock: Clock, events: Events, changed: Callable[[], object]) -> None:
        self._clock = clock
        self._events = events
        self._changed = changed
        self._timers: dict[Timer, Held] = {}
        self._closed: dict[tuple[str, str], deque[Arrival]] = {}
        self._count = 0

    @property
    def is_full(self) -> bool:
        """Whether the maximum number of events is waiting."""
        return self._count >= MAX_WAITING

    @property
    def is_blocked(self) -> bool:
        """Whether any lane is blocked, so that all events have to pass through here."""
        return bool(self._closed)

    def add(self, arrival: Arrival, seconds: float = 0.0) -> None:
        """Queue an event after `seconds` of lab time, and after earlier events of a blocked lane."""
        if seconds:
            self._count += 1
            self._after(seconds, arrival, lambda: self._arrive(arrival))
            return
        lane = self._closed.get((arrival.source, arrival.receiver))
        if lane is not None and not self.is_full:
            self._count += 1
            lane.append(arrival)
            return
        if lane is not None:  # too many: all are queued, in their order
            self._count -= len(lane)
            for each in lane:
                self._queue(each)
            self._free((arrival.source, arrival.receiver))
        self._begin(arrival)

    def held(self) -> list[Held]:
        """Return the late events, and the first event of each blocked lane, which those behind it wait for."""
        return list(self._timers.values())

    def clear(self) -> None:
        """Drop the waiting events."""
        while self._timers:
            self._timers.popitem()[0].cancel()
        self._closed.clear()
        self._count = 0

    def _arrive(self, arrival: Arrival) -> None:
        self._count -= 1
        self.add(arrival)

    def _begin(self, arrival: Arrival) -> None:
        """Process an event that is first in its lane."""
        if not arrival.delay:
            self._queue(arrival)
            return
        key = (arrival.source, arrival.receiver)
        first = not self._closed
        lane = self._closed.setdefault(key, deque())
        if first:
            self._changed()
        self._count += 1
        self._after(arrival.delay, arrival, lambda: self._open(key, lane, arrival))

    def _open(self, key: tuple[str, str], lane: deque[Arrival], arrival: Arrival) -> None:
        """End the delay of an event: queue it, and the events behind it up to the next delayed event."""
        self._count -= 1
        self._queue(arrival)
        if self._closed.get(key) is not lane:  # it was opened before
            return
        while lane:
            following = lane.popleft()
            self._count -= 1
            if following.delay:
                self._begin(following)
                return
            self._queue(following)
        self._free(key)

    def _free(self, key: tuple[str, str]) -> None:
        del self._closed[key]
        if not self._closed:
            self._changed()

    def _after(self, seconds: float, arrival: Arrival, then: Callable[[], object]) -> None:
        def fire() -> None:
            del self._timers[timer]
            then()

        timer = self._clock.call_at(self._clock.now() + seconds, fire)
        self._timers[timer] = Held(f"event of {arrival.source} for {arrival.receiver}", timer.when)

    def _queue(self, arrival: Arrival) -> None:
        self._events.queue(arrival.source, arrival.receiver, arrival.handler, arrival.payload)
