"""Creation, change and removal of subscriptions, with the notification of their publishers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from labkit.context import Context
from labkit.core.errors import SettingsError
from labkit.labtime.events import EventKind
from labkit.services.interface.configuration import KEY, Definition
from labkit.services.interface.dispatch import ADDED, REMOVED, UPDATED, Dispatch, deeper
from labkit.services.interface.plain import Copier, Invalid
from labkit.services.interface.publishers import Publishers, check_id
from labkit.services.interface.store import Subscriptions
from labkit.services.interface.subscription import (
    QUOTAS,
    InterfaceSubscription,
    check_triggers,
    service_name,
)

MOST_CALLS = 2**53 - 1


class SubscriptionWriter:
    """Validator and writer of subscriptions. Invalid subscriptions and changes raise SettingsError.

    renew: installs the services of a subscriber after its subscriptions changed (Interface.renew); it runs before the
    publisher is notified.
    """

    def __init__(
        self,
        context: Context,
        subscriptions: Subscriptions,
        publishers: Publishers,
        dispatch: Dispatch,
        renew: Callable[[str], None],
    ) -> None:
        self._renew = renew
        self._context = context
        self._subscriptions = subscriptions
        self._publishers = publishers
        self._dispatch = dispatch

    def prepare(
        self,
        subscriber: str,
        publisher: str,
        *,
        script_key: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        quota: Mapping[str, int | None] | None = None,
        triggers: Mapping[str, Any] | None = None,
        given: dict[str, Any] | None = None,
        business: str | None = None,
    ) -> InterfaceSubscription:
        """Return a valid new subscription without storing it. Raises SettingsError if it is not allowed.

        given: its declaration in settings or a file, None without one; business: the business of a subscriber that
        does not exist yet, by default that of the existing solution.
        """
        definition = self.definition(publisher)
        if business is None:
            business = self._context.solutions.get(subscriber).business
        self._check_solutions(subscriber, business, publisher, definition)
        key = script_key if script_key is not None else definition.default_script_key
        self._check_key(subscriber, publisher, key)
        check_triggers(triggers or {}, definition.events)
        now = self._context.clock.micros()
        return InterfaceSubscription(
            "",  # `add` gives it an id
            publisher,
            subscriber,
            key,
            checked_parameters(definition, parameters or {}),
            checked_quota(quota or {}),
            _plain(triggers or {}, "triggers"),
            now,
            now,
            given,
        )

    def definition(self, publisher: str) -> Definition:
        """Return the definition of a solution. Raises SettingsError if it is missing or publishes nothing."""
        if publisher not in self._context.solutions:
            known = ", ".join(self._context.solutions.names()) or "none"
            raise SettingsError(f"no solution {publisher!r}, there are: {known}")
        definition = self._publishers.find(publisher)
        if definition is None:
            raise SettingsError(
                f"solution {publisher!r} publishes nothing: its configuration has no services.Interface"
            )
        return definition

    async def add(self, prepared: InterfaceSubscription, cause: int | None = None) -> InterfaceSubscription:
        """Store a prepared subscription; its publisher receives the event subscriberAdded.

        cause: sequence number of the journal record that caused it. Raises SettingsError if these two solutions
        already have a subscription.
        """
        added = replace(prepared, id=self._uuid(prepared.subscriber))
        if not await self._subscriptions.add(added):
            raise SettingsError(f"{added.subscriber} is subscribed to {added.publisher} already")
        self._renew(added.subscriber)
        return await self._notify_publisher(ADDED, added, cause)

    async def change(
        self,
        subscription: InterfaceSubscription,
        *,
        parameters: Mapping[str, Any] | None = None,
        dropped: frozenset[str] = frozenset(),
        quota: Mapping[str, int | None] | None = None,
        triggers: Mapping[str, Any] | None = None,
        script_key: str | None = None,
        given: dict[str, Any] | None = None,
        cause: int | None = None,
    ) -> InterfaceSubscription:
        """Merge the arguments into a subscription; its publisher receives subscriberUpdated if anything changed.

        parameters, quota, triggers: new entries; the others stay, and a quota or trigger of None is removed;
        dropped: names of parameters to remove; given: the declaration that the change comes from; cause: as in `add`.
        Raises SettingsError, and changes nothing, for an invalid change.
        """
        definition = self.definition(subscription.publisher)
        if script_key is not None and script_key != subscription.script_key:
            self._check_key(subscription.subscriber, subscription.publisher, script_key)
        triggers = _plain(triggers or {}, "triggers")
        check_triggers({name: each for name, each in triggers.items() if each is not None}, definition.events)
        new_quota = checked_quota(quota or {}, keep_none=True)
        before: list[InterfaceSubscription] = []

        def change(found: InterfaceSubscription) -> InterfaceSubscription:
            before.append(found)
            kept = {name: each for name, each in found.parameters.items() if name not in dropped}
            after = replace(
                found,
                parameters=checked_parameters(definition, {**kept, **(parameters or {})}),
                quota=_without_none({**found.quota, **new_quota}),
                triggers=_without_none({**found.triggers, **triggers}),
                script_key=script_key if script_key is not None else found.script_key,
            )
            return replace(self._updated(found, after), given=given if given is not None else found.given)

        with deeper():  # raises before the change if the nested call that notifies the publisher would
            pass
        after = await self._subscriptions.change(subscription.id, change)
        if after is None:
            raise SettingsError(f"the subscription {subscription.id} is removed")
        if replace(after, given=None) == replace(before[0], given=None):
            return after
        self._renew(after.subscriber)
        return await self._notify_publisher(UPDATED, after, cause)

    async def remove(self, subscription: InterfaceSubscription, cause: int | None = None) -> bool:
        """Delete a subscription; its publisher receives subscriberRemoved. Returns False if it is already deleted."""
        removed = await self._subscriptions.remove(subscription.id)
        self._renew(subscription.subscriber)
        definition = self._publishers.find(subscription.publisher)
        if removed and definition is not None:
            await self._dispatch.notify_publisher(REMOVED, subscription, definition, cause)
        return removed

    async def _notify_publisher(
        self, kind: EventKind, subscription: InterfaceSubscription, cause: int | None
    ) -> InterfaceSubscription:
        """Notify the publisher, and store the parameters that its handler returns."""
        definition = self.definition(subscription.publisher)
        returned = await self._dispatch.notify_publisher(kind, subscription, definition, cause)
        if not returned:
            return subscription

        def write(found: InterfaceSubscription) -> InterfaceSubscription:
            parameters = checked_parameters(definition, {**found.parameters, **returned})
            return self._updated(found, replace(found, parameters=parameters))

        try:
            return await self._subscriptions.change(subscription.id, write) or subscription
        except SettingsError as error:
            publisher = self._context.solutions.get(subscription.publisher)
            publisher.warn(
                f"interface {kind.event}: what its handler returned cannot be written back: {error}"
            )
            return subscription

    def _updated(self, before: InterfaceSubscription, after: InterfaceSubscription) -> InterfaceSubscription:
        """Return `after`, with the current time as its update time if it differs from `before`."""
        return after if after == before else replace(after, updated_at=self._context.clock.micros())

    def _check_solutions(
        self, subscriber: str, business: str, publisher: str, definition: Definition
    ) -> None:
        check_id(subscriber, "the id of a subscriber")
        if subscriber == publisher:
            raise SettingsError(f"{publisher} cannot subscribe to itself")
        if not definition.allows(business):
            raise SettingsError(
                f"the business {business!r} of {subscriber} is not on the whitelist of {publisher}"
            )

    def _check_key(self, subscriber: str, publisher: str, key: str) -> None:
        if not re.fullmatch(KEY, key):
            raise SettingsError(
                f"script_key: expected 2 to 63 letters and digits, a letter first, not {key!r}"
            )
        taken = {name.lower() for name in self._context.services.names()}
        taken |= {kind.service.lower() for kind in self._context.events.kinds()}
        for other in self._subscriptions.of_subscriber(subscriber):
            if other.publisher != publisher:
                taken.add(other.script_key.lower())
        if key.lower() in taken:
            raise SettingsError(
                f"script_key: {subscriber} has a service {service_name(key)!r} already; name another key"
            )

    def _uuid(self, subscriber: str) -> str:
        """Return a UUID of version 4 (RFC 9562) from the lab's seeded identifiers."""
        text = self._context.identifiers.hex(f"{subscriber} subscription", 32)
        variant = "89ab"[int(text[16], 16) % 4]
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"


def checked_parameters(definition: Definition, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters in their stored form. Raises SettingsError if one violates the publisher's schema."""
    try:
        filled = definition.parameter_schema.filled(dict(parameters))
    except Invalid as error:
        raise SettingsError(f"parameters: {error}") from None
    assert isinstance(filled, dict)
    return {name: each for name, each in filled.items() if name in parameters}


def checked_quota(quota: Mapping[str, Any], *, keep_none: bool = False) -> dict[str, Any]:
    """Return a quota in its stored form. Raises SettingsError, naming the invalid value."""
    for name, value in quota.items():
        if name not in QUOTAS:
            raise SettingsError(f"quota.{name}: unknown key, there are: {', '.join(QUOTAS)}")
        whole = isinstance(value, int) and not isinstance(value, bool)
        if value is not None and not (whole and 0 <= value <= MOST_CALLS):
            raise SettingsError(f"quota.{name}: expected a whole number of calls, 0 or more, not {value!r}")
    return dict(quota) if keep_none else _without_none(quota)


def _without_none(entries: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in entries.items() if each is not None}


def _plain(entries: Mapping[str, Any], what: str) -> dict[str, Any]:
    try:
        copied = Copier().copy(dict(entries))
    except Invalid as error:
        raise SettingsError(f"{what}: {error}") from None
    assert isinstance(copied, dict)
    return copied
