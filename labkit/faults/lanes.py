"""Delivery lanes of delayed events: a late event waits separately, a delayed event blocks later events of its lane.

Events that wait here are not queued yet, so they do not count as activity: the lab settles, and its clock can
be advanced.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from labkit.faults.delays import Held
from labkit.labtime.clock import Clock, Timer, TimerState
from labkit.labtime.events import Event, EventKind, Events, Handler

Lane = deque["Arrival"]
MAX_WAITING = 10_000  # events waiting at one time; further events are delivered without delay


@dataclass(slots=True)
class Arrival:
    """An event on its way to a handler. delay: seconds for which it blocks its lane, once it is first in it."""

    event: Event
    source: str
    receiver: str
    handler: Handler
    payload: Any
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class EventState:
    """An event as plain data: see `Event`."""

    kind: EventKind
    source: str
    cause: int | None
    product: str | None
    solution: str | None
    names: tuple[str, ...] | None
    caller: str | None


@dataclass(frozen=True, slots=True)
class ArrivalState:
    """A waiting event as plain data: see `Arrival`."""

    event: EventState
    receiver: str
    payload: Any
    delay: float


@dataclass(frozen=True, slots=True)
class LateState:
    """An event that waits for lab time. blocked: the events behind it; None for one that blocks none."""

    at: TimerState
    arrival: ArrivalState
    blocked: list[ArrivalState] | None


class Lanes:
    """Scheduler of delayed events: queues each when it is due and when no earlier event blocks its lane.

    A lane is a pair of source and receiver. changed: called when the first lane is blocked, and when the last one is
    free.
    """

    def __init__(self, clock: Clock, events: Events, changed: Callable[[], object]) -> None:
        self._clock = clock
        self._events = events
        self._changed = changed
        self._timers: dict[Timer, tuple[Held, Arrival, Lane | None]] = {}
        self._closed: dict[tuple[str, str], Lane] = {}
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
            self._after(self._clock.next_timer_at(self._clock.now() + seconds), arrival)
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
        return [held for held, _, _ in self._timers.values()]

    def snapshot(self) -> list[LateState]:
        """Return the waiting events."""
        return [
            LateState(
                TimerState(timer.when, timer.order),
                _plain(arrival),
                list(map(_plain, lane)) if lane is not None and self._is_closed(arrival, lane) else None,
            )
            for timer, (_, arrival, lane) in self._timers.items()
        ]

    def restore(self, waiting: Iterable[LateState]) -> None:
        """Let events of another lab wait. Those whose solution handles them no more are dropped."""
        for each in waiting:
            arrivals = [self._found(state) for state in (each.arrival, *(each.blocked or ()))]
            first, *behind = arrivals
            if first is None:
                continue
            lane: Lane | None = None
            if each.blocked is not None:
                lane = self._closed[first.source, first.receiver] = deque(a for a in behind if a is not None)
            self._count += 1 + len(lane or ())
            self._after(each.at, first, lane)

    def _is_closed(self, arrival: Arrival, lane: Lane) -> bool:
        return self._closed.get((arrival.source, arrival.receiver)) is lane

    def _found(self, state: ArrivalState) -> Arrival | None:
        """Return an event for its handler, which is looked up anew; None without one."""
        given = state.event
        event = Event(given.kind, given.source, lambda: state.payload, *_rest(given))
        for receiver, handler in self._events.receivers(event):
            if receiver == state.receiver:
                return Arrival(event, given.source, receiver, handler, state.payload, state.delay)
        return None

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
        self._after(self._clock.next_timer_at(self._clock.now() + arrival.delay), arrival, lane)

    def _open(self, lane: Lane, arrival: Arrival) -> None:
        """End the delay of an event: queue it, and the events behind it up to the next delayed event."""
        key = (arrival.source, arrival.receiver)
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

    def _after(self, at: TimerState, arrival: Arrival, lane: Lane | None = None) -> None:
        """Wait with an event for its time. lane: the one that it blocks."""

        def fire() -> None:
            del self._timers[timer]
            if lane is None:
                self._arrive(arrival)
            else:
                self._open(lane, arrival)

        timer = self._clock.call_at(at.when, fire, at.order)
        held = Held(f"event of {arrival.source} for {arrival.receiver}", timer.when)
        self._timers[timer] = held, arrival, lane

    def _queue(self, arrival: Arrival) -> None:
        self._events.queue(arrival.source, arrival.receiver, arrival.handler, arrival.payload)


def _plain(arrival: Arrival) -> ArrivalState:
    event = arrival.event
    state = EventState(event.kind, event.source, *_rest(event))
    return ArrivalState(state, arrival.receiver, arrival.payload, arrival.delay)


def _rest(event: Event | EventState) -> tuple[Any, ...]:
    return event.cause, event.product, event.solution, event.names, event.caller
