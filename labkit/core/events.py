"""Events: what may be raised, and delivery in order within a lane, lanes side by side (in turn, while a fleet is
simulated), bounded, never in the way of who raises them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Sized
from contextvars import Context
from dataclasses import dataclass
from typing import Any

from labkit.core.activity import Activity
from labkit.core.component import Component
from labkit.core.holding import Holding
from labkit.core.journal import Journal
from labkit.core.turns import Turn, Turns, begin

Payload = Mapping[str, object]
Handler = Callable[[Any], Awaitable[object]]
# The number: characters that the payload holds at most; None where the journal has to look.
Raised = tuple["EventKind", Callable[[], Payload], int | None]
Receivers = Callable[["Event"], Iterable[tuple[str, Handler]]]
Interfere = Callable[["Event", str, Handler], object]

LANE_CAPACITY = 1000


@dataclass(frozen=True, slots=True)
class EventKind:
    """An event that solutions may handle, declared by whoever raises it.

    service, event: under which handlers are registered; arguments: the names that a handler's argument has, the
    documents' own first; type: what the journal calls it, where one kind of handler gets several (`data_in`);
    any_name: the argument has further names, which whoever raises it decides.
    """

    service: str
    event: str
    arguments: tuple[str, ...] = ("event",)
    type: str = ""
    any_name: bool = False


@dataclass(slots=True)  # not frozen: each write makes several, at four times the cost then
class Event:
    """Something happened. source: the journal's actor; payload: makes what a handler gets, anew for each;
    cause: sequence of the event's journal record; product: whose device caused it; solution: the only one that
    it concerns, None for all that are linked to the product.

    names: those that the handler's argument has, where they are not of the kind but of this event; caller: the
    solution whose call it is, if it is one.
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
class Outcome:
    """How a handler ended: 200 with a result, 204 without one, 500 or 504 with an error's text."""

    status: int
    result: object = None
    error: str | None = None


class Events(Component):
    """Raises events and delivers them.

    A lane is an ordered queue, one for each source and receiver. `emit` never waits. `capacity` does: whoever is
    about to raise more events for a full source waits there first, so that queues stay bounded.
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
        self.interfere: Interfere | None = None  # queues an event, or not, where faults may hit it
        self._kinds: dict[tuple[str, str], EventKind] = {}
        self._declared: dict[tuple[str, str, str], EventKind] = {}
        self._lanes: dict[tuple[str, str], deque[tuple[Turn, Handler, Any]]] = {}
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}  # one for each lane
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._load: dict[str, int] = {}

    def declare(self, kinds: Iterable[EventKind]) -> None:
        """Make kinds known; a later declaration of the same service and event replaces the earlier one."""
        for kind in kinds:
            service, event = kind.service.lower(), kind.event.lower()
            self._kinds[service, event] = self._declared[service, event, kind.type] = kind

    def kinds(self) -> list[EventKind]:
        """All kinds that were declared; of those that one handler gets, each."""
        return list(self._declared.values())

    def kind(self, service: str, event: str) -> EventKind | None:
        """The kind that was declared, in any letter case; `*` stands for every event of a service."""
        service = service.lower()
        return self._kinds.get((service, event.lower())) or self._kinds.get((service, "*"))

    def deliver_to(self, receivers: Receivers, audience: Sized) -> None:
        """receivers: names those that handle an event, each with its handler; audience: empty where there are none of
        any event, so that nobody need be asked.
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
        detail: Mapping[str, object] | None = None,
    ) -> None:
        """Raise events of one source in order: record each in the journal, and queue it for those that handle it.

        cause: sequence of the record that led to them; product, solution, names: as in `Event`; detail: what the
        journal shows in place of the payload. Most payloads are read by nobody, so they are made when somebody does.
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
            for receiver, handler in self.receivers(event):
                if self.interfere is None:
                    self.queue(source, receiver, handler, payload())
                else:
                    self.interfere(event, receiver, handler)

    def handled(self, event: Event) -> bool:
        """Does anybody handle an event?"""
        return any(True for _ in self.receivers(event))

    async def ask(self, event: Event) -> Outcome | None:
        """How the handler of an event that the journal has ended: it runs at once, in no lane, so it waits for no
        other. None where nobody handles the event.
        """
        for _, handler in self.receivers(event):
            outcome = await handler(event.payload())
            assert isinstance(outcome, Outcome)
            return outcome
        return None

    def queue(self, source: str, receiver: str, handler: Handler, payload: Any) -> None:
        """Queue something of `source` for `receiver`; `handler` gets it after all that came before it there."""
        self._load[source] = self._load.get(source, 0) + 1
        key = (source, receiver)
        lane = self._lanes.get(key)
        turn = self._turns.next()
        if lane is not None:
            lane.append((turn, handler, payload))
            return
        self._activity.begin()  # of the whole lane: what waits behind a handler that is held is no activity
        self._lanes[key] = deque([(turn, handler, payload)])
        turn.ask()
        # In a context of its own: whoever raises an event does not wait for what handles it.
        self._tasks[key] = asyncio.get_running_loop().create_task(self._drain(key), context=Context())

    def full(self, source: str) -> bool:
        """Has `source` as many events queued as the capacity? For those who must not wait for it."""
        return self._load.get(source, 0) >= self._capacity

    async def capacity(self, source: str) -> None:
        """Return once `source` has fewer events queued than the capacity; the journal says if that takes time.

        Those that wait for a source go on in the order in which they came, and nobody overtakes them.
        """
        if source not in self._waiting and self._load.get(source, 0) < self._capacity:
            return
        self.journal.record(
            "backpressure", source, "waits: too many of its events are queued", size=self._load.get(source, 0)
        )
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(source, deque())
        waiting.append(future)
        self._holding.begin(source)  # what it waits for may itself be held for lab time
        try:
            await future
        finally:
            if not future.done() or future.cancelled():  # given up
                self._holding.end(source)
            waiting.remove(future)
            if not waiting:
                del self._waiting[source]
            self._let_go_on(source)

    def _let_go_on(self, source: str) -> None:
        """Let the first that waits for a source go on, if there is capacity; it lets the next one."""
        waiting = self._waiting.get(source)
        if waiting and not waiting[0].done() and self._load.get(source, 0) < self._capacity:
            self._holding.end(source)  # from here on there is work to do, though the task has yet to run
            waiting[0].set_result(None)

    async def stop(self) -> None:
        """Drop what is queued and end the handlers that run."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for key in list(self._lanes):  # of tasks that were cancelled before they began
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
                    await turn.come()
                    await handler(payload)
                except Exception as error:  # noqa: BLE001 - a handler may raise anything; the lane goes on
                    self.journal.record_error(error)
                finally:
                    if lane:
                        lane[0][0].ask()
                    turn.end()
                    self._done(key[0])
        finally:
            self._drop(key)

    def _drop(self, key: tuple[str, str]) -> None:
        self._tasks.pop(key, None)
        for turn, _, _ in self._lanes.pop(key):
            turn.end()
            self._done(key[0])
        self._activity.end()

    def _done(self, source: str) -> None:
        left = self._load[source] - 1
        if left:
            self._load[source] = left
        else:
            del self._load[source]
        self._let_go_on(source)
