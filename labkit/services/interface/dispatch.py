"""Calls between solutions: operations run handlers of the publisher, events run handlers of subscribers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from labkit.context import Context
from labkit.core.errors import ServiceError, sentence
from labkit.core.nesting import DEPTH
from labkit.labtime.events import Event, EventKind, HandlerOutcome
from labkit.services.interface.configuration import Definition
from labkit.services.interface.configuration import EventDefinition as PublishedEvent
from labkit.services.interface.configuration import OperationDefinition as PublishedOperation
from labkit.services.interface.plain import Invalid
from labkit.services.interface.published import payload
from labkit.services.interface.schemas import Schema
from labkit.services.interface.store import Subscriptions
from labkit.services.interface.subscription import QUOTAS, InterfaceSubscription
from labkit.services.operation import Caller
from labkit.services.redaction import redacted

DEEPEST = 10  # nested calls between solutions
SERVICE = "interface"  # service name under which a publisher registers its handlers

ADDED, UPDATED, REMOVED = (
    EventKind(SERVICE, name, ("subscription",))
    for name in ("subscriberAdded", "subscriberUpdated", "subscriberRemoved")
)
OPERATION = EventKind(SERVICE, "*", ("event", "operation"), any_name=True)
PERIODS = dict(zip(QUOTAS, ("daily", "monthly"), strict=True))
RESERVED_NAMES = frozenset({"context", "services", "log", "now"})  # other names that a handler can use


class SubscriberError(ServiceError):
    """Error object that a handler returned in place of a result."""

    def __init__(self, status: int, error: object, type: object) -> None:
        super().__init__(status, str(error))
        self._error = error
        self._type = type

    @property
    def type(self) -> str:
        return self._type if isinstance(self._type, str) and self._type else super().type

    def as_object(self) -> dict[str, object]:
        return {**super().as_object(), "error": self._error}


class Dispatch:
    """Runner of one solution's handlers on behalf of another solution."""

    def __init__(self, context: Context, subscriptions: Subscriptions) -> None:
        self._context = context
        self._subscriptions = subscriptions

    async def operation(
        self,
        caller: Caller,
        subscription: InterfaceSubscription,
        definition: Definition,
        published: PublishedOperation,
        arguments: Mapping[str, object],
    ) -> object:
        """Call an operation for a subscriber and return the response of the publisher's handler.

        Raises ServiceError: 400 for arguments that violate the schema, 403 if a quota is used up, 404 without a
        handler, 500 or 504 if the handler fails or its result violates the schema, or the error that it returned.
        """
        where = f"{subscription.service}.{published.name}"
        configured = effective_parameters(definition, subscription)
        restricted = definition.restricted | published.restricted
        given = payload(published, arguments, configured, restricted)
        try:
            data = published.parameters.filled(given)
        except Invalid as error:
            raise invalid_arguments(error) from None
        event = self._event(
            EventKind(SERVICE, published.name),
            subscription.publisher,
            data,
            names=argument_names(published.parameters, *OPERATION.arguments),
            caller=subscription.subscriber,
        )
        if not self._context.events.is_handled(event):
            raise ServiceError(404, f"{where} has no handler at its publisher {subscription.publisher}")
        with deeper():
            await self._count_call(subscription)
            outcome = await self._run_handler(event, caller.cause, {"caller": subscription.subscriber})
        return _response(outcome, published.response, where)

    async def trigger(
        self, cause: int | None, subscription: InterfaceSubscription, event: PublishedEvent, data: object
    ) -> dict[str, object]:
        """Run a subscriber's handler of an event, and return its entry in the result of the operation `trigger`."""
        result: object = None
        try:
            result = await self.trigger_one(cause, subscription, event, data)
            status = 204 if result is None else 200
        except ServiceError as error:
            status = error.status
            result = None if isinstance(error, NoHandler) else error.as_object()
        return {"result": result, "status": status, **_ids(subscription)}

    async def trigger_one(
        self, cause: int | None, subscription: InterfaceSubscription, event: PublishedEvent, data: object
    ) -> object:
        """Run a subscriber's handler of an event and return its result. Raises ServiceError as `operation` does."""
        where = f"{subscription.subscriber}: {event.name}"
        raised = self._event_of(subscription, event, data)
        if not self._context.events.is_handled(raised):
            raise NoHandler(404, f"{where} has no handler")
        with deeper():
            outcome = await self._run_handler(raised, cause, {"data": redacted(data)})
        return _response(outcome, event.response, where)

    async def trigger_all(
        self,
        cause: int | None,
        subscriptions: list[InterfaceSubscription],
        event: PublishedEvent,
        data: object,
    ) -> list[dict[str, object]]:
        """Trigger an event at several subscribers concurrently (one at a time while a fleet is simulated)."""
        with deeper():
            pass  # too much nesting is an error of the whole call, not of each entry
        entries = [partial(self.trigger, cause, each, event, data) for each in subscriptions]
        return await self._context.turns.gather(entries)

    def post(
        self, cause: int | None, subscription: InterfaceSubscription, event: PublishedEvent, data: object
    ) -> dict[str, object]:
        """Queue an event for a subscriber, after the events queued before, and return the acknowledgement."""
        raised = self._event_of(subscription, event, data)
        self._context.events.emit(
            raised.source,
            [(raised.kind, raised.payload, None)],
            cause=cause,
            solution=raised.solution,
            names=raised.names,
            detail={"to": raised.solution, "data": redacted(data)},
        )
        return {"result": None, **_ids(subscription)}

    async def notify_publisher(
        self, kind: EventKind, subscription: InterfaceSubscription, definition: Definition, cause: int | None
    ) -> dict[str, Any] | None:
        """Run the publisher's handler of a subscriber event (subscriberAdded, Updated or Removed).

        Returns the parameters that the handler returned, to be stored in the subscription; None without any.
        """
        argument = {
            "id": subscription.id,
            "parameters": effective_parameters(definition, subscription),
            "solution_id": subscription.subscriber,
        }
        event = self._event(kind, subscription.publisher, argument, source=subscription.subscriber)
        with deeper():
            outcome = await self._run_handler(event, cause, {"subscription": redacted(argument)})
        result = None if outcome is None else outcome.result
        returned = result.get("parameters") if isinstance(result, Mapping) else None
        return dict(returned) if isinstance(returned, Mapping) else None

    async def _count_call(self, subscription: InterfaceSubscription) -> None:
        """Count a call. Raises ServiceError 403 if a quota is used up."""
        quota = await self._subscriptions.count_call(subscription.id, self._context.clock.now())
        if quota is not None:
            most = subscription.quota.get(quota)
            raise ServiceError(
                403, f"The {PERIODS[quota]} quota of {subscription.service} is used up: {quota} is {most}."
            )

    def _event_of(self, subscription: InterfaceSubscription, event: PublishedEvent, data: object) -> Event:
        """Return a publisher's event as an event for the subscriber's handler."""
        service, name = subscription.handler_of(event.name)
        return self._event(
            EventKind(service, name),
            subscription.subscriber,
            data,
            source=subscription.publisher,
            names=argument_names(event.parameters, "event"),
        )

    def _event(
        self,
        kind: EventKind,
        solution: str,
        data: object,
        *,
        source: str = "",
        names: tuple[str, ...] | None = None,
        caller: str | None = None,
    ) -> Event:
        return Event(
            kind, source or caller or solution, lambda: data, 0, solution=solution, names=names, caller=caller
        )

    async def _run_handler(
        self, event: Event, cause: int | None, detail: Mapping[str, object]
    ) -> HandlerOutcome | None:
        """Record an event in the journal, run its handler, and return the outcome; None without a handler."""
        to = {"to": event.solution, **detail}
        event.cause = self._context.journal.record(
            "event", event.source, event.kind.event, cause=cause, detail=to
        )
        return await self._context.events.run_handler(event)


class NoHandler(ServiceError):
    """Error of a subscriber without a handler for an event."""


def effective_parameters(definition: Definition, subscription: InterfaceSubscription) -> dict[str, Any]:
    """Return the parameters of a subscription, completed with the publisher's defaults."""
    defaults = {each.name: each.default for each in definition.parameters.values() if each.has_default}
    return {**defaults, **subscription.parameters}


def invalid_arguments(error: Invalid, where: str = "") -> ServiceError:
    """Return the error of status 400 for invalid arguments. where: the argument that contains the invalid value."""
    parts = [part for part in (where, error.path) if part]
    named = f"Parameter {'.'.join(parts)}" if parts else "Parameters"
    return ServiceError(400, sentence(f"{named} validation failed: {error.message}"))


@contextmanager
def deeper() -> Iterator[None]:
    """Increase the nesting depth of calls within the context. Raises ServiceError 500 beyond the limit."""
    depth = DEPTH.get()
    if depth >= DEEPEST:
        raise ServiceError(500, f"calls of solutions may nest at most {DEEPEST} deep")
    token = DEPTH.set(depth + 1)
    try:
        yield
    finally:
        DEPTH.reset(token)


def _response(outcome: HandlerOutcome | None, schema: Schema, where: str) -> object:
    """Return the result of a handler. Raises ServiceError if the handler raised or returned an error."""
    if outcome is None:
        raise NoHandler(404, f"{where} has no handler")
    if outcome.error is not None:
        raise ServiceError(outcome.status, f"{where} failed: {outcome.error}")
    if (error := _returned(outcome.result)) is not None:
        raise error
    try:
        return schema.filled(outcome.result)
    except Invalid as error:
        raise ServiceError(500, f"{where} failed: its response is not as its schema says: {error}") from None


def _returned(result: object) -> SubscriberError | None:
    """Return the error that a handler returned as {error, status, type}; None for a result."""
    if not isinstance(result, Mapping) or "error" not in result:
        return None
    status = result.get("status")
    if isinstance(status, bool) or not isinstance(status, int | float) or not 400 <= status < 600:
        return None
    return SubscriberError(int(status), result["error"], result.get("type"))


def argument_names(schema: Schema, *others: str) -> tuple[str, ...]:
    """Return the names of a handler's argument: the title of the schema, and the usual names."""
    title = () if schema.title in RESERVED_NAMES else (schema.title,)
    return tuple(dict.fromkeys((*title, *others)))


def _ids(subscription: InterfaceSubscription) -> dict[str, object]:
    return {"instance_id": subscription.id, "solution_id": subscription.subscriber}
