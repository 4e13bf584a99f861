"""The Scripts service (platform types; document 1, Endpoints): handlers of a solution that its scripts run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, SecretStr

from labkit.context import Context
from labkit.core.errors import ServiceError
from labkit.labtime.events import Event, EventKind
from labkit.services.arguments import VALID, Whole, expect_plain
from labkit.services.bounds import shown_name
from labkit.services.interface.dispatch import deeper
from labkit.services.operation import Caller, Service, operation
from labkit.services.redaction import InJournal, redacted

LARGEST_DATA = 65_536  # characters and items
LONGEST_NAME = 200  # characters
LONGEST_CHAIN = 1000  # async triggers, each by the handler of the one before
CHAIN = "chain"
ANY = EventKind("scripts", "*", ("data",))


Script = Annotated[SecretStr, Field(max_length=LARGEST_DATA)]
Timeout = Annotated[Whole, Field(ge=1, le=10)]
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), VALID]
Data = Annotated[Any, AfterValidator(lambda value: expect_plain(value, LARGEST_DATA)), InJournal(redacted)]


class ScriptsService(Service):
    """Service that runs a handler of the calling solution (of the event `scripts NAME`), or a script in a sandbox."""

    name: ClassVar[str] = "Scripts"
    events: ClassVar[tuple[EventKind, ...]] = (ANY,)

    def __init__(self, context: Context) -> None:
        self._context = context

    @operation
    async def trigger(
        self,
        caller: Caller,
        event: Name,
        data: Data = None,
        mode: Literal["sync", "async"] = "sync",
        service: Name = "scripts",
    ) -> object:
        """Run the handler of an event, and return its result; with mode async, queue the event and return {}.

        data: any value of at most 65536 characters and items; service: of the event, scripts by default. 404 without a
        handler; 500 or 504 if a sync handler fails; 500 for more than 10 sync ones within each other, and for more than
        1000 async ones in a row, each triggered by the handler of the one before; 503 while 1000 of them wait.
        """
        kind, source = EventKind(service, event), f"{caller.solution}/scripts"
        raised = Event(kind, source, lambda: data, 0, solution=caller.solution)
        if not self._context.events.is_handled(raised):
            raise ServiceError(404, f"Event {shown_name(f'{service} {event}')} has no handler")
        if mode == "async":
            return self._queue(caller, raised)
        with deeper():
            raised.cause = self._context.journal.record(
                "event", source, event, cause=caller.cause, detail={"data": redacted(data)}
            )
            outcome = await self._context.events.run_handler(raised)
        if outcome is not None and outcome.error is not None:
            raise ServiceError(outcome.status, f"{service} {event} failed: {outcome.error}")
        return None if outcome is None else outcome.result

    @operation
    async def sandbox(
        self, caller: Caller, script: Script, parameters: Data = None, timeout: Timeout = 1
    ) -> dict[str, object]:
        """Run a script without services, print and log, in a state of its own. Returns {value}, its result.

        parameters: any value, under this name for the script; the keys of a table become globals. timeout: seconds
        of CPU, 1 to 10. 400 for a script that fails, 504 for one that takes longer.
        """
        solution = self._context.solutions.get(caller.solution)
        value = await solution.sandbox(script.get_secret_value(), parameters, timeout)
        return {} if value is None else {"value": value}

    def _queue(self, caller: Caller, raised: Event) -> dict[str, object]:
        events = self._context.events
        chain = self._chain(caller) + 1
        if chain > LONGEST_CHAIN:
            raise ServiceError(
                500, f"more than {LONGEST_CHAIN} events in a row, each triggered by the one before"
            )
        if events.is_full(raised.source):
            raise ServiceError(503, "too many events of the solution wait for their handlers")
        events.emit(
            raised.source,
            [(raised.kind, raised.payload, None)],
            cause=caller.cause,
            solution=caller.solution,
            detail={"data": redacted(raised.payload()), CHAIN: chain},
        )
        return {}

    def _chain(self, caller: Caller) -> int:
        """Return how many async events led to the caller's run, each triggered by the handler of the one before."""
        journal = self._context.journal
        run = None if caller.cause is None else journal.find(caller.cause)
        event = None if run is None or run.cause is None else journal.find(run.cause)
        detail = None if event is None else event.detail
        found = detail.get(CHAIN) if isinstance(detail, Mapping) else None
        return found if isinstance(found, int) else 0
