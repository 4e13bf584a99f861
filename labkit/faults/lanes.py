"""Events that wait for lab time before they are queued: late ones alone, delayed ones with all behind them.

What waits here is in no queue yet, so it is no activity: the lab settles, and its clock can be advanced.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from labkit.core.clock import Clock, Timer
from labkit.core.events import Events, Handler

MOST_WAITING = 10_000  # events that wait at one time; more of them come when they should


@dataclass(slots=True)
class Arrival:
    """An event for one that handles it. delay: seconds for which it holds its lane, once it is its turn."""

    source: str
    receiver: str
    handler: Handler
    payload: Any
    delay: float = 0.0


class Lanes:
    """Queues events, each when its time has come, and behind those of its source and receiver that hold their lane.

    changed: called once a lane is held, and once none is any more.
    """

    def __init__(self, clock: Clock, events: Events, changed: Callable[[], object]) -> None:
        self._clock = clock
        self._events = events
        self._changed = changed
        self._timers: set[Timer] = set()
        self._closed: dict[tuple[str, str], deque[Arrival]] = {}
        self._count = 0

    @property
    def full(self) -> bool:
        """Do as many wait as may?"""
        return self._count >= MOST_WAITING

    @property
    def held(self) -> bool:
        """Is any lane held, so that all events have to pass here?"""
        return bool(self._closed)

    def add(self, arrival: Arrival, seconds: float = 0.0) -> None:
        """Queue an event in so many seconds of lab time, and no earlier than those before it in a lane that is held."""
        if seconds:
            self._count += 1
            self._after(seconds, lambda: self._come(arrival))
            return
        lane = self._closed.get((arrival.source, arrival.receiver))
        if lane is not None and not self.full:
            self._count += 1
            lane.append(arrival)
            return
        if lane is not None:  # too many: all go on, in their order
            self._count -= len(lane)
            for each in lane:
                self._queue(each)
            self._free((arrival.source, arrival.receiver))
        self._begin(arrival)

    def clear(self) -> None:
        """Those that wait never come."""
        while self._timers:
            self._timers.pop().cancel()
        self._closed.clear()
        self._count = 0

    def _come(self, arrival: Arrival) -> None:
        self._count -= 1
        self.add(arrival)

    def _begin(self, arrival: Arrival) -> None:
        """It is the turn of an event."""
        if not arrival.delay:
            self._queue(arrival)
            return
        key = (arrival.source, arrival.receiver)
        first = not self._closed
        lane = self._closed.setdefault(key, deque())
        if first:
            self._changed()
        self._count += 1
        self._after(arrival.delay, lambda: self._open(key, lane, arrival))

    def _open(self, key: tuple[str, str], lane: deque[Arrival], arrival: Arrival) -> None:
        """An event has held its lane for long enough: it is queued, and those behind it up to the next that holds."""
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

    def _after(self, seconds: float, then: Callable[[], object]) -> None:
        def due() -> None:
            self._timers.discard(timer)
            then()

        timer = self._clock.call_at(self._clock.now() + seconds, due)
        self._timers.add(timer)

    def _queue(self, arrival: Arrival) -> None:
        self._events.queue(arrival.source, arrival.receiver, arrival.handler, arrival.payload)
