"""Lookup of the solutions' handlers that receive an event."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from labkit.core.directory import Directory
from labkit.core.events import Event, Handler, HandlerOutcome
from labkit.solutions.solution import PlatformSolution

Watcher = Callable[[Event, Any, HandlerOutcome], object]


class Delivery:
    """Lookup of the handlers of an event, in its addressed solution or in all solutions linked to its product."""

    def __init__(self, solutions: Directory[PlatformSolution]) -> None:
        self.solutions = solutions
        self._watchers: dict[str, Watcher] = {}

    def watch(self, solution: str, watcher: Watcher) -> None:
        """Call `watcher` with the event, its payload and the outcome after every handler run of a solution.

        A solution has one watcher: a new one replaces it.
        """
        self._watchers[solution] = watcher

    def receivers(self, event: Event) -> list[tuple[str, Handler]]:
        """Return the handlers that receive an event, as pairs of the solution's id and a function of the payload."""
        service, name = raised = event.kind.service, event.kind.event
        found: list[tuple[str, Handler]] = []
        for solution in self.concerned(event):
            registration = solution.find(service, name, event.product)
            if registration is not None:
                handle: Any = partial(solution.handle, registration, raised, cause=event.cause)
                if event.names is not None:
                    handle = partial(handle, names=event.names, caller=event.caller)
                watcher = self._watchers.get(solution.id)
                if watcher is not None:
                    handle = partial(_watched, watcher, event, handle)
                found.append((solution.id, handle))
        return found

    def concerned(self, event: Event) -> Iterable[PlatformSolution]:
        """Return the solution that an event is addressed to, or all solutions linked to its product."""
        if event.solution is not None:
            return (self.solutions.get(event.solution),)
        return [each for each in self.solutions.values() if event.product in each.products]


async def _watched(watcher: Watcher, event: Event, handle: Handler, payload: Any) -> object:
    outcome = await handle(payload)
    assert isinstance(outcome, HandlerOutcome)
    watcher(event, payload, outcome)
    return outcome
