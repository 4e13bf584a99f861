"""Events: declaration of their kinds, and delivery to handlers through bounded queues.

The events of one source reach a receiver in order; those of other sources and receivers are handled
concurrently, or one at a time while a fleet is simulated. The emitter of an event never waits for a handler.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Sized
from contextvars import Context
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from labkit.core.component import Component
from labkit.core.coroutines import cancel
from labkit.core.journal import Journal
from labkit.core.records import Entry
from labkit.labtime.activity import Activity
from labkit.labtime.holding import Holding
from labkit.labtime.turns import Turn, Turns, begin

Payload = Mapping[str, object]
Handler = Callable[[Any], Awaitable[object]]
# The number: maximum number of characters in the payload; None where the journal has to measure it.
Raised = tuple["EventKind", Callable[[], Payload], int | None]
Receivers = Callable[["Event"], Sequence[tuple[str, Handler]]]
Interfere = Callable[["Event", str, Handler], object]
Arrange = Callable[[list[tuple[str, Handler]], str], list[tuple[str, Handler]]]

LANE_CAPACITY = 1000


@dataclass(frozen=True, slots=True)
class EventKind:
    """Kind of event that solutions may handle, declared by the component that emits it.

    service, event: names under which handlers are registered; arguments: names of a handler's argument, the
    documents' own first; type: name in the journal, where one handler receives several kinds (`data_in`);
    any_name: the argument has further names, which each emitted event defines; key: service and event in lower case.
    """

    service: str
    event: str
    arguments: tuple[str, ...] = ("event",)
    type: str = ""
    any_name: bool = False
    key: tuple[str, str] = field(init=False, repr=False, compare=False)  # made once, and read by each lab

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", (self.service.lower(), self.event.lower()))


@dataclass(slots=True)  # not frozen: each write makes several, at four times the cost then
class Event:
    """Emitted event.

    source: actor of its journal record; payload: makes the argument of a handler, a new one in each call; cause:
    sequence of its journal record; product: id of the product whose device caused it; solution: its only
    recipient, None for all solutions that are linked to the product. names: names of the handler's argument,
    where they belong to this event and not to its kind; caller: the solution that made the call, if a call
    caused it.
    """

    kind: EventKind
    source: str
    payload: Callable[[], Any]
    cause: int
    product: str | None = None
    solution: str | None = None
    names: tuple[str, ...] | None = None
    caller: str | None = None


@dataclass(slots=True)  # nor is this: each run of a handler makes one
class HandlerOutcome:
    """Result of a handler: 200 with a result, 204 without one, 500 or 504 with an error's text."""

    status: int
    result: object = None
    error: str | None = None


class Events(Component):
    """Emits events and delivers them.

    A lane is an ordered queue, one for each source and receiver. `emit` never waits; a component that emits
    further events for a full source waits in `wait_for_capacity` before, so that queues stay bounded.
    """

    def __init__(
        self,
        journal: Journal,
        activity: Activity,
        turns: Turns,
        capacity: int = LANE_CAPACITY,
        holding: Holding | None = None,
    ) -> None:
        self.journal = journal
        self._activity = activity
        self._turns = turns
        self._holding = Holding(activity) if holding is None else holding
        self._capacity = capacity
        self.receivers: Receivers = lambda event: ()
        self._audience: Sized = ()
        self.interfere: Interfere | None = None  # delivers in place of `queue`, where faults may hit
        self.arrange: Arrange | None = None  # changes the order of the receivers of an event of a source
        self._kinds: dict[tuple[str, str], EventKind] = {}
        self._declared: dict[tuple[str, str, str], EventKind] = {}
        self._lanes: dict[tuple[str, str], deque[tuple[Turn, Handler, Any]]] = {}
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}  # one for each lane
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._load: dict[str, int] = {}

    def declare(self, kinds: Iterable[EventKind]) -> None:
        """Declare kinds; a later declaration of the same service and event replaces the earlier one."""
        for kind in kinds:
            self._kinds[kind.key] = self._declared[(*kind.key, kind.type)] = kind

    def kinds(self) -> list[EventKind]:
        """Return all declared kinds, including several of one handler."""
        return list(self._declared.values())

    def kind(self, service: str, event: str) -> EventKind | None:
        """Return the declared kind, or None; letter case is ignored, and `*` covers all events of a service."""
        service = service.lower()
        return self._kinds.get((service, event.lower())) or self._kinds.get((service, "*"))

    def set_receivers(self, receivers: Receivers, audience: Sized) -> None:
        """Set the recipients of events.

        receivers: returns the recipients of an event, each with its handler; audience: empty while no event can
        have a recipient, so that `receivers` need not be called.
        """
        self.receivers, self._audience = receivers, audience

    def emit(
        self,
        source: str,
        events: Sequence[Raised],
        *,
        cause: int | None = None,
        product: str | None = None,
        solution: str | None = None,
        names: tuple[str, ...] | None = None,
        detail: Mapping[str, object] | Callable[[], Mapping[str, object]] | None = None,
    ) -> None:
        """Emit events of one source in order: record each in the journal, and queue it for its handlers.

        cause: sequence of the record that led to them; product, solution, names: as in `Event`; detail: in place of
        the payload in the journal, or a function that returns it. Most payloads are never read, so they are made on
        demand.
        """
        if self.interfere is not None and len(events) > 1:
            for raised in events:  # one by one: faults of one add records before that of the next
                self.emit(
                    source,
                    [raised],
                    cause=cause,
                    product=product,
                    solution=solution,
                    names=names,
                    detail=detail,
                )
            return
        entries = [(kind.type or kind.event, detail or payload, holds) for kind, payload, holds in events]
        sequences = self.journal.record_all("event", source, entries, cause)
        if not self._audience:
            return
        for (kind, payload, _), sequence in zip(events, sequences, strict=True):
            event = Event(kind, source, payload, sequence, product, solution, names)
            receivers = self.receivers(event)
            if self.arrange is not None:
                receivers = self.arrange(list(receivers), source)
            for receiver, handler in receivers:
                if self.interfere is None:
                    self.queue(source, receiver, handler, payload())
                else:
                    self.interfere(event, receiver, handler)

    def emit_unheard(
        self, source: str, count: int, describe: Callable[[], Sequence[Raised]], holds: int, cause: int
    ) -> bool:
        """Record events of one source in the journal, and return True, if no solution can receive any.

        Otherwise return False and do nothing; call `emit` instead. count: of the events; describe: returns them,
        and is called when somebody reads them; holds: maximum number of characters that it keeps in memory; cause:
        as in `emit`.
        """
        if self._audience:
            return False
        self.journal.record_batch("event", source, count, partial(_entries, describe), holds, cause)
        return True

    def is_handled(self, event: Event) -> bool:
        """Return whether an event has a handler."""
        return bool(self.receivers(event))

    async def run_handler(self, event: Event) -> HandlerOutcome | None:
        """Run the handler of a recorded event at once, outside of any lane; return its outcome, None without one."""
        for _, handler in self.receivers(event):
            outcome = await handler(event.payload())
            assert isinstance(outcome, HandlerOutcome)
            return outcome
        return None

    def queue(self, source: str, receiver: str, handler: Handler, payload: Any) -> None:
        """Queue a payload of `source` for `receiver`; `handler` gets it after all earlier ones in that lane."""
        self._load[source] = self._load.get(source, 0) + 1
        key = (source, receiver)
        lane = self._lanes.get(key)
        turn = self._turns.next()
        if lane is not None:
            lane.append((turn, handler, payload))
            return
        self._activity.begin()  # of the whole lane: events behind a suspended handler are no activity
        self._lanes[key] = deque([(turn, handler, payload)])
        turn.enqueue()
        # In a context of its own, since the emitter of an event does not wait for its handlers.
        self._tasks[key] = asyncio.get_running_loop().create_task(self._drain(key), context=Context())

    def is_full(self, source: str) -> bool:
        """Return whether the queue of `source` has reached the capacity, for callers that must not wait."""
        return self._load.get(source, 0) >= self._capacity

    async def wait_for_capacity(self, source: str) -> None:
        """Return once `source` has fewer events queued than the capacity; a wait is recorded in the journal.

        Waiting callers of a source resume in the order of their calls.
        """
        if source not in self._waiting and self._load.get(source, 0) < self._capacity:
            return
        self.journal.record(
            "backpressure", source, "waits: too many of its events are queued", size=self._load.get(source, 0)
        )
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(source, deque())
        waiting.append(future)
        self._holding.begin(source)  # the awaited events may themselves be delayed for lab time
        try:
            await future
        finally:
            if not future.done() or future.cancelled():  # cancelled
                self._holding.end(source)
            waiting.remove(future)
            if not waiting:
                del self._waiting[source]
            self._resume_next(source)

    def _resume_next(self, source: str) -> None:
        """Resume the first caller that waits for a source, if there is capacity; it then resumes the next one."""
        waiting = self._waiting.get(source)
        if waiting and not waiting[0].done() and self._load.get(source, 0) < self._capacity:
            self._holding.end(source)  # the work counts as pending from here on, before its task runs
            waiting[0].set_result(None)

    def cancel_handlers(self) -> None:
        """Cancel the running handlers, and those that have not begun: `stop` has to follow."""
        for task in self._tasks.values():
            if not task.cancelling():
                task.cancel()

    async def stop(self) -> None:
        """Drop the queued events and cancel the running handlers."""
        await cancel(self._tasks.values())
        for key in list(self._lanes):  # of tasks that were cancelled before they began, or do not end
            self._drop(key)

    async def crash(self) -> None:
        await self.stop()

    async def _drain(self, key: tuple[str, str]) -> None:
        lane = self._lanes[key]
        try:
            while lane:
                turn, handler, payload = lane.popleft()
                begin(turn)
                try:
                    await turn.wait()
                    await handler(payload)
                except Exception as error:  # noqa: BLE001 - a handler may raise anything; the lane goes on
                    self.journal.record_error(error)
                finally:
                    if lane:
                        lane[0][0].enqueue()
                    turn.end()
                    self._done(key[0])
        finally:
            if self._lanes.get(key) is lane:
                self._drop(key)

    def _drop(self, key: tuple[str, str]) -> None:
        self._tasks.pop(key, None)
        lane = self._lanes.pop(key)
        while lane:
            turn, _, _ = lane.popleft()
            turn.end()
            self._done(key[0])
        self._activity.end()

    def _done(self, source: str) -> None:
        left = self._load[source] - 1
        if left:
            self._load[source] = left
        else:
            del self._load[source]
        self._resume_next(source)


def _entries(describe: Callable[[], Sequence[Raised]]) -> list[Entry]:
    """Return the journal's entries of events."""
    return [(kind.type or kind.event, payload, holds) for kind, payload, holds in describe()]
