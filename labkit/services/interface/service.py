"""Interface service: a solution offers operations and events to other solutions (document 3)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from labkit.context import Context, NamedSolution
from labkit.core.errors import ServiceError, SettingsError
from labkit.labtime.events import EventKind
from labkit.services.interface.arguments import (
    EventName,
    Limit,
    Mode,
    Offset,
    Parameters,
    Payload,
    Quota,
    SubscriberId,
    Target,
    json_equal,
    quota_changes,
)
from labkit.services.interface.configuration import Definition
from labkit.services.interface.configuration import EventDefinition as PublishedEvent
from labkit.services.interface.dispatch import (
    ADDED,
    OPERATION,
    REMOVED,
    UPDATED,
    Dispatch,
    argument_names,
    effective_parameters,
    invalid_arguments,
)
from labkit.services.interface.plain import Invalid
from labkit.services.interface.published import SubscribedService
from labkit.services.interface.publishers import Publishers
from labkit.services.interface.reconciler import SubscriptionReconciler
from labkit.services.interface.store import Subscriptions
from labkit.services.interface.subscription import InterfaceSubscription, date_time, service_name
from labkit.services.interface.subscription_writer import SubscriptionWriter
from labkit.services.operation import Caller, Service, operation


class Interface(Service):
    """Service through which solutions publish operations and events, and use what others publish.

    Its operations are for publishers. A subscriber calls the SubscribedService of each publisher instead.
    """

    name: ClassVar[str] = "Interface"
    gives_defaults: ClassVar[bool] = False
    events: ClassVar[tuple[EventKind, ...]] = (ADDED, UPDATED, REMOVED, OPERATION)

    def __init__(self, context: Context) -> None:
        self._context = context
        self.subscriptions = Subscriptions(context.database)
        self.publishers = Publishers(context, self.name)
        self.dispatch = Dispatch(context, self.subscriptions)
        self.writer = SubscriptionWriter(
            context, self.subscriptions, self.publishers, self.dispatch, self.renew
        )
        self._reconciler = SubscriptionReconciler(context, self.subscriptions, self.publishers, self.writer)
        self._services: dict[str, dict[str, Service]] = {}  # by subscriber, then by name and key

    # ---- operations

    @operation
    async def getSubscriber(self, caller: Caller, subscriber_id: SubscriberId) -> dict[str, object]:
        """Return a subscriber as {id, quota, triggers, parameters, created_at, updated_at, solution_id}.

        subscriber_id: the id of the subscribing solution. 404 for a solution that is not a subscriber.
        """
        definition = self._published(caller)
        return self.described(definition, self._subscriber(caller, subscriber_id))

    @operation
    async def listSubscribers(
        self,
        caller: Caller,
        parameters: Parameters | None = None,
        offset: Offset = 0,
        limit: Limit = 20,
    ) -> dict[str, object]:
        """List subscribers, the oldest first, as {items, total}.

        parameters: values that a subscriber's parameters must equal; offset, limit: the page of items; total counts all
        matches.
        """
        definition = self._published(caller)
        expected = parameters.get_secret_value() if parameters is not None else {}
        found = [
            each
            for each in self.active(caller.solution)
            if not expected or _matches(effective_parameters(definition, each), expected)
        ]
        items = [self.described(definition, each) for each in found[offset : offset + limit]]
        return {"items": items, "total": len(found)}

    @operation
    async def setSubscriber(
        self,
        caller: Caller,
        subscriber_id: SubscriberId,
        quota: Quota | None = None,
        parameters: Parameters | None = None,
    ) -> None:
        """Set quotas (calls_daily, calls_monthly) and parameters of a subscriber; those not named stay unchanged.

        A quota of null removes the limit; an empty quota removes both, since tables of scripts cannot hold null.
        404 for a solution that is not a subscriber.
        """
        self._published(caller)
        subscription = self._subscriber(caller, subscriber_id)
        given = parameters.get_secret_value() if parameters is not None else {}
        try:
            await self.writer.change(
                subscription, parameters=given, quota=quota_changes(quota), cause=caller.cause
            )
        except SettingsError as error:
            raise ServiceError(400, f"Parameter {error}.") from None

    @operation
    async def trigger(
        self, caller: Caller, /, event: EventName, mode: Mode = None, data: Payload = None, **others: object
    ) -> list[dict[str, object]]:
        """Send an event with `data` to every subscriber; returns a list of {result, status, instance_id, solution_id}.

        mode: sync waits for the handlers and returns their results; async (the default, unless the publisher's
        configuration says sync) only queues the event. 400 for an event that is not published.
        """
        definition = self._published(caller)
        published, payload = _payload(definition, event, data)
        subscriptions = self.active(caller.solution)
        if (mode or definition.mode or "async") == "sync":
            return await self.dispatch.trigger_all(caller.cause, subscriptions, published, payload)
        self._check_capacity(caller)
        return [self.dispatch.post(caller.cause, each, published, payload) for each in subscriptions]

    @operation
    async def triggerOne(
        self,
        caller: Caller,
        /,
        target: Target,
        event: EventName,
        mode: Mode = None,
        data: Payload = None,
        **others: object,
    ) -> object:
        """Send an event with `data` to one subscriber; returns the result of its handler, or nil if mode is async.

        target: the subscriber's solution id, or the id of the subscription. mode: sync (the default, unless the
        publisher's configuration says async) waits for the handler; async only queues the event. 404 for a target that
        is not a subscriber.
        """
        definition = self._published(caller)
        subscription = self.subscriptions.find(caller.solution, target) or self.subscriptions.get(target)
        if subscription is None or not self._is_active(subscription, caller.solution):
            raise ServiceError(404, "target subscriber not found")
        published, payload = _payload(definition, event, data)
        if (mode or definition.mode or "sync") == "sync":
            return await self.dispatch.trigger_one(caller.cause, subscription, published, payload)
        self._check_capacity(caller)
        self.dispatch.post(caller.cause, subscription, published, payload)
        return None

    # ---- lifecycle

    async def start(self) -> None:
        await self.subscriptions.load()

    async def restore(self, state: None) -> None:
        await self.subscriptions.load()

    async def recover(self) -> None:
        if self._context.database.durable:
            await self.subscriptions.load()

    async def clear(self) -> None:
        self.subscriptions.clear()
        self.publishers.clear()
        self._services.clear()
        self._context.services.changed()

    def services(self, solution: str) -> Mapping[str, Service]:
        """Return the services of the publishers that a solution subscribes to."""
        return self._services.get(solution, {})

    def check(self, solution: NamedSolution, configuration: Mapping[str, Mapping[str, Any]]) -> None:
        """Raise SettingsError for an invalid definition, and for an invalid subscription in settings."""
        if self.name in configuration:
            self.publishers.check(solution, configuration[self.name])
        self._reconciler.check(solution, configuration)

    def configured(self, solution: str) -> None:
        """Load the definition of a solution, and renew the services of its subscribers."""
        self.publishers.read(solution)
        self._reconciler.configured(solution)
        for each in self.subscriptions.of_publisher(solution):
            self.renew(each.subscriber)

    async def set_up(self, solution: str) -> None:
        """Create the subscriptions that settings and files declare for a solution and to it.

        Raises SettingsError for an invalid subscription in its settings.
        """
        try:
            await self._reconciler.reconcile_subscriber(solution)
            if self.publishers.find(solution) is not None:
                await self._reconciler.reconcile_publisher(solution)
        finally:
            self.renew(solution)
            for each in self.subscriptions.of_publisher(solution):
                self.renew(each.subscriber)

    async def forget(self, solution: str) -> None:
        """Remove the subscriptions of a solution, and those of other solutions to it."""
        for each in self.subscriptions.of_subscriber(solution):
            await self.writer.remove(each)
        for each in self.subscriptions.of_publisher(solution):
            await self.subscriptions.remove(each.id)
            self.renew(each.subscriber)

    # ---- subscriptions

    def active(self, publisher: str) -> list[InterfaceSubscription]:
        """Return the subscriptions to a publisher whose subscribers are in the lab and may use the service."""
        return [
            each for each in self.subscriptions.of_publisher(publisher) if self._is_active(each, publisher)
        ]

    def is_suspended(self, subscription: InterfaceSubscription) -> bool:
        """Return whether the publisher's current whitelist excludes the subscriber's business.

        A suspended subscription stays stored, and works again once the whitelist includes the business.
        """
        definition = self.publishers.find(subscription.publisher)
        subscriber = self._context.solutions.find(subscription.subscriber)
        return (
            definition is not None and subscriber is not None and not definition.allows(subscriber.business)
        )

    def described(self, definition: Definition, subscription: InterfaceSubscription) -> dict[str, object]:
        """Return a subscription in the format of document 3."""
        return {
            "id": subscription.id,
            "quota": dict(subscription.quota),
            "triggers": dict(subscription.triggers),
            "parameters": effective_parameters(definition, subscription),
            "created_at": date_time(subscription.created_at),
            "updated_at": date_time(subscription.updated_at),
            "solution_id": subscription.subscriber,
        }

    async def subscribe(self, subscriber: str, publisher: str, **given: Any) -> InterfaceSubscription:
        """Subscribe one solution to another. given: as for SubscriptionWriter.prepare. Raises SettingsError."""
        return await self.writer.add(self.writer.prepare(subscriber, publisher, **given))

    async def update(self, subscription: InterfaceSubscription, **changes: Any) -> InterfaceSubscription:
        """Change a subscription. changes: as for SubscriptionWriter.change. Raises SettingsError."""
        return await self.writer.change(subscription, **changes)

    async def unsubscribe(self, subscription: InterfaceSubscription) -> bool:
        """Delete a subscription. Returns False if it is already deleted."""
        return await self.writer.remove(subscription)

    def renew(self, subscriber: str) -> None:
        """Install the services of a subscriber's current subscriptions, and their default scripts."""
        before = self._services.pop(subscriber, {})
        self._context.services.changed()
        solution = self._context.solutions.find(subscriber)
        if solution is None:
            return
        by_name: dict[str, Service] = {}
        aliases: dict[str, Service] = {}  # other spellings of the names
        keys: set[str] = set()
        for each in self.subscriptions.of_subscriber(subscriber):
            definition = self.publishers.find(each.publisher)
            if definition is None or self.is_suspended(each):
                continue
            service = SubscribedService(
                each.script_key,
                self.publishers.operations(each.publisher, each.service),
                partial(self._call, each.id),
                partial(self._parameters, each.id),
                partial(self._set_parameters, each.id),
            )
            by_name[each.service] = service
            for name in (each.script_key, each.publisher, service_name(each.publisher)):
                aliases.setdefault(name, service)
            scripts = {event.name: event.default_script for event in definition.events.values()}
            names = {
                event.name: argument_names(event.parameters, "event") for event in definition.events.values()
            }
            keys.add(each.script_key.lower())
            try:
                solution.install(
                    each.script_key, {name: text for name, text in scripts.items() if text}, names
                )
            except SettingsError as error:
                solution.warn(str(error))
        self._services[subscriber] = {**aliases, **by_name}
        for removed in {each.name.lower() for each in before.values()} - keys:
            solution.install(removed, {}, {})

    async def _call(
        self, subscription_id: str, caller: Caller, name: str, arguments: Mapping[str, object]
    ) -> object:
        subscription, definition = self._current(subscription_id)
        published = definition.operations.get(name)
        if published is None:
            raise ServiceError(404, f"Operation {name} of service {subscription.service} Not Found")
        return await self.dispatch.operation(caller, subscription, definition, published, arguments)

    def _parameters(self, subscription_id: str) -> dict[str, Any]:
        subscription, definition = self._current(subscription_id)
        return effective_parameters(definition, subscription)

    async def _set_parameters(
        self, subscription_id: str, caller: Caller, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        subscription, definition = self._current(subscription_id)
        for name in parameters:
            known = definition.parameters.get(name)
            if known is not None and known.is_restricted:
                raise ServiceError(403, f"Parameter {name} of {subscription.service} is restricted.")
        try:
            after = await self.writer.change(subscription, parameters=parameters, cause=caller.cause)
        except SettingsError as error:
            raise ServiceError(400, f"Parameter {error}.") from None
        return effective_parameters(definition, after)

    def _current(self, subscription_id: str) -> tuple[InterfaceSubscription, Definition]:
        """Return a subscription and its publisher's definition. Raises ServiceError 404 or 403 if it is not usable."""
        subscription = self.subscriptions.get(subscription_id)
        definition = None if subscription is None else self.publishers.find(subscription.publisher)
        if subscription is None or definition is None:
            raise ServiceError(404, "the subscription has ended")
        if self.is_suspended(subscription):
            raise ServiceError(403, "the whitelist of the publisher does not allow this business any more")
        return subscription, definition

    def _published(self, caller: Caller) -> Definition:
        definition = self.publishers.find(caller.solution)
        if definition is None:
            raise ServiceError(404, "service not found")
        return definition

    def _subscriber(self, caller: Caller, subscriber: str) -> InterfaceSubscription:
        subscription = self.subscriptions.find(caller.solution, subscriber)
        if subscription is None or not self._is_active(subscription, caller.solution):
            raise ServiceError(404, f"subscriber {subscriber} not found")
        return subscription

    def _is_active(self, subscription: InterfaceSubscription, publisher: str) -> bool:
        return (
            subscription.publisher == publisher
            and subscription.subscriber in self._context.solutions
            and not self.is_suspended(subscription)
        )

    def _check_capacity(self, caller: Caller) -> None:
        """Raise ServiceError 503 if too many events of the caller wait for handlers.

        Waiting for room could block for ever, since a handler in the queue may itself wait for the caller.
        """
        if self._context.events.is_full(caller.solution):
            raise ServiceError(503, "too many events of this solution are waiting for their handlers")


def _payload(definition: Definition, event: str, data: object) -> tuple[PublishedEvent, object]:
    """Return the definition and the validated payload of an event. Raises ServiceError 400 if either is invalid."""
    published = definition.events.get(event)
    if published is None:
        known = ", ".join(definition.events) or "none"
        raise ServiceError(400, f"Parameter event validation failed: expected one of: {known}.")
    types = published.parameters.keywords.type
    given = {} if data is None and types == ("object",) else data
    try:
        return published, published.parameters.filled(given)
    except Invalid as error:
        raise invalid_arguments(error, "data") from None


def _matches(parameters: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    """Return whether each expected parameter is present and equal; a missing parameter does not equal null."""
    return all(name in parameters and json_equal(value, parameters[name]) for name, value in expected.items())
