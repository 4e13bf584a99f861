"""Operations on interfaces: the services that solutions publish, and subscriptions to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, cast

from labkit.control.bounds import Id, Number, Values, alone
from labkit.control.data import Data, copied
from labkit.control.json_values import JsonValue
from labkit.core.errors import LabError, SettingsError, UnknownError
from labkit.platform import Platform
from labkit.services.interface.arguments import json_equal
from labkit.services.interface.dispatch import effective_parameters
from labkit.services.interface.service import Interface
from labkit.services.interface.subscription import InterfaceSubscription, date_time


class PublishedInfo(Data):
    """The interface that a solution publishes.

    service: default name of the service at a subscriber; operations, events, parameters: descriptions by name;
    whitelist: businesses that may subscribe, any if empty; mode: `mode` of the published definition.
    """

    solution: str
    service: str
    name: str
    description: str
    operations: dict[str, str]
    events: dict[str, str]
    parameters: dict[str, str]
    whitelist: tuple[str, ...]
    mode: str | None


class SubscriptionInfo(Data):
    """A subscription of one solution to the interface of another.

    service: name of the service at the subscriber; parameters: including the publisher's defaults; triggers: handler of
    each event, by the event's name; created_at, updated_at: lab time, RFC 3339; calls_today, calls_this_month: number
    of operation calls in the current UTC day and month.
    """

    id: str
    publisher: str
    subscriber: str
    service: str
    script_key: str
    parameters: dict[str, Annotated[Any, JsonValue]]
    quota: dict[str, int]
    triggers: dict[str, Annotated[Any, JsonValue]]
    created_at: str
    updated_at: str
    calls_today: int
    calls_this_month: int


class InterfaceControl:
    """Operations on the interfaces of a lab's solutions. Each raises LabError for an unknown solution."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    @property
    def _service(self) -> Interface:
        return cast("Interface", self._platform.context.services.get(Interface.name))

    @alone
    async def publish(self, solution: Id, definition: Values) -> PublishedInfo:
        """Publish an interface (document 3, Interface service configuration), replacing one published before.

        Raises SettingsError with the name of an invalid key.
        """
        with self._platform.context.activity:
            await self._platform.solutions.configure(solution, Interface.name, copied(definition))
        return await self.published(solution)

    async def published(self, solution: Id) -> PublishedInfo:
        """Return the interface that a solution publishes. Raises LabError if it publishes none."""
        self._platform.solutions.get(solution)
        found = self._service.publishers.find(solution)
        if found is None:
            raise LabError(f"solution {solution!r} publishes nothing yet")
        key = found.default_script_key
        return PublishedInfo(
            solution=solution,
            service=key[:1].upper() + key[1:],
            name=found.name,
            description=found.description,
            operations={name: each.description for name, each in found.operations.items()},
            events={name: each.description for name, each in found.events.items()},
            parameters={name: each.description or "" for name, each in found.parameters.items()},
            whitelist=found.whitelist,
            mode=found.mode,
        )

    async def subscribe(
        self,
        subscriber: Id,
        publisher: Id,
        script_key: Id | None = None,
        parameters: Values | None = None,
        quota: Mapping[Id, Number | None] | None = None,
        triggers: Values | None = None,
    ) -> SubscriptionInfo:
        """Subscribe a solution to another, or return the existing subscription if it has the same values.

        Raises SettingsError for invalid values, for a business that is not on the whitelist, and for an existing
        subscription with other values.
        """
        self._platform.solutions.get(subscriber)
        given = {"script_key": script_key, "parameters": parameters, "quota": quota, "triggers": triggers}
        named: dict[str, Any] = {name: copied(each) for name, each in given.items() if each is not None}
        there = self._service.subscriptions.find(publisher, subscriber)
        with self._platform.context.activity:
            if there is None:
                return await self._info(await self._service.subscribe(subscriber, publisher, **named))
        info = await self._info(there)
        for name, each in named.items():
            if not _agrees(each, getattr(info, name)):
                raise SettingsError(
                    f"{subscriber} is subscribed to {publisher} already, with other {name}: update it, or remove it"
                )
        return info

    async def update(
        self,
        subscriber: Id,
        publisher: Id,
        parameters: Values | None = None,
        quota: Mapping[Id, Number | None] | None = None,
        triggers: Values | None = None,
        script_key: Id | None = None,
    ) -> SubscriptionInfo:
        """Change the given entries of a subscription. A quota or trigger of None is removed.

        Raises SettingsError for invalid values, LabError if there is no such subscription.
        """
        subscription = self._of(subscriber, publisher)
        with self._platform.context.activity:
            changed = await self._service.update(
                subscription,
                parameters=copied(parameters),
                quota=copied(quota),
                triggers=copied(triggers),
                script_key=script_key,
            )
        return await self._info(changed)

    async def remove(self, subscriber: Id, publisher: Id) -> None:
        """Remove a subscription. Raises UnknownError if there is none."""
        subscription = self._of(subscriber, publisher)
        with self._platform.context.activity:
            await self._service.unsubscribe(subscription)

    async def get(self, subscriber: Id, publisher: Id) -> SubscriptionInfo:
        """Return the subscription of one solution to another. Raises UnknownError if there is none."""
        return await self._info(self._of(subscriber, publisher))

    async def subscriptions(self, subscriber: Id) -> list[SubscriptionInfo]:
        """Return the subscriptions of a solution to others, oldest first."""
        self._platform.solutions.get(subscriber)
        found = self._service.subscriptions.of_subscriber(subscriber)
        return [await self._info(each) for each in found]

    async def subscribers(self, publisher: Id) -> list[SubscriptionInfo]:
        """Return the subscriptions of other solutions to this one, oldest first."""
        self._platform.solutions.get(publisher)
        return [await self._info(each) for each in self._service.active(publisher)]

    def _of(self, subscriber: Id, publisher: Id) -> InterfaceSubscription:
        self._platform.solutions.get(subscriber)
        found = self._service.subscriptions.find(publisher, subscriber)
        if found is None:
            raise UnknownError(f"solution {subscriber!r} is not subscribed to {publisher!r}")
        return found

    async def _info(self, subscription: InterfaceSubscription) -> SubscriptionInfo:
        definition = self._service.publishers.find(subscription.publisher)
        parameters = (
            subscription.parameters if definition is None else effective_parameters(definition, subscription)
        )
        now = self._platform.context.clock.now()
        today, month = await self._service.subscriptions.calls(subscription.id, now)
        return SubscriptionInfo(
            id=subscription.id,
            publisher=subscription.publisher,
            subscriber=subscription.subscriber,
            service=subscription.service,
            script_key=subscription.script_key,
            parameters=copied(parameters),
            quota=dict(subscription.quota),
            triggers=copied(subscription.triggers),
            created_at=date_time(subscription.created_at),
            updated_at=date_time(subscription.updated_at),
            calls_today=today,
            calls_this_month=month,
        )


def _agrees(given: object, there: object) -> bool:
    """Return whether all given entries have the same values in the existing subscription."""
    if not isinstance(given, Mapping) or not isinstance(there, Mapping):
        return given == there
    kept = {name: each for name, each in given.items() if each is not None}
    return all(name in there and json_equal(each, there[name]) for name, each in kept.items())
