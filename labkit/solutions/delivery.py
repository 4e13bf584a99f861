"""Lookup of the solutions' handlers that receive an event."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from labkit.core.directory import Directory
from labkit.labtime.events import Event, Handler, HandlerOutcome
from labkit.solutions.solution import PlatformSolution

Watcher = Callable[[Event, Any, HandlerOutcome], object]


class Delivery:
    """Lookup of the handlers of an event, in its addressed solution or in all solutions linked to its product."""

    def __init__(self, solutions: Directory[PlatformSolution]) -> None:
        self.solutions = solutions
        self._linked: dict[
            str | None, list[PlatformSolution]
        ] = {}  # by product, of this revision of the solutions
        self._revision = -1
        self._watchers: dict[str, Watcher] = {}

    def watch(self, solution: str, watcher: Watcher) -> None:
        """Call `watcher` with the event, its payload and the outcome after every handler run of a solution.

        A solution has one watcher: a new one replaces it.
        """
        self._watchers[solution] = watcher

    def receivers(self, event: Event) -> list[tuple[str, Handler]]:
        """Return the handlers that receive an event, as pairs of the solution's id and a function of the payload.

        The solution that the event is addressed to may have one, or each solution linked to the event's product: two
        for an event of a device with a handler of its type beside the generic one.
        """
        raised = event.kind.service, event.kind.event
        addressed = event.solution
        if self._revision != self.solutions.revision:
            self._link()
        found: list[tuple[str, Handler]] = []
        linked = (
            self._linked.get(event.product, ()) if addressed is None else (self.solutions.get(addressed),)
        )
        for solution in linked:
            for registration in solution.registered(event.kind, event.product):
                handle: Any = partial(solution.handle, registration, raised, cause=event.cause)
                if event.names is not None:
                    handle = partial(handle, names=event.names, caller=event.caller)
                watcher = self._watchers.get(solution.id)
                if watcher is not None:
                    handle = partial(_watched, watcher, event, handle)
                found.append((solution.id, handle))
        return found

    def _link(self) -> None:
        """List the solutions by their products, so that an event does not ask all."""
        self._linked, self._revision = {}, self.solutions.revision
        for solution in self.solutions:
            for product in dict.fromkeys(solution.products):
                self._linked.setdefault(product, []).append(solution)


async def _watched(watcher: Watcher, event: Event, handle: Handler, payload: Any) -> object:
    outcome = await handle(payload)
    assert isinstance(outcome, HandlerOutcome)
    watcher(event, payload, outcome)
    return outcome
