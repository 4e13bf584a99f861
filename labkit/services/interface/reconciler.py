"""Reconciliation of subscriptions with what settings and solution folders declare.

A declared subscription is created once its publisher exists, changed when its declaration changes, and removed when
nothing declares it any more. Subscriptions created by a handle or a cell are left alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.context import Context, NamedSolution
from labkit.core.errors import SettingsError
from labkit.services.interface.publishers import Publishers
from labkit.services.interface.store import Subscriptions
from labkit.services.interface.subscription import InterfaceSubscription
from labkit.services.interface.subscription_writer import SubscriptionWriter

Configuration = Mapping[str, Mapping[str, Any]]  # service → parameters


@dataclass(frozen=True, slots=True)
class DeclaredSubscription:
    """Subscription that settings or a file of a solution's folder declare.

    given: script_key, parameters, quota, triggers as declared; where: the declaring key or file, for errors;
    by_settings: whether settings declare it, rather than a file.
    """

    subscriber: str
    publisher: str
    given: dict[str, Any]
    where: str
    by_settings: bool


class SubscriptionReconciler:
    """Creates, changes and removes stored subscriptions so that they agree with the declared ones."""

    def __init__(
        self,
        context: Context,
        subscriptions: Subscriptions,
        publishers: Publishers,
        writer: SubscriptionWriter,
    ) -> None:
        self._context = context
        self._subscriptions = subscriptions
        self._publishers = publishers
        self._writer = writer
        self._named: dict[str, set[str]] = {}  # by solution, what may name publishers: files, and settings
        self._naming: defaultdict[str, set[str]] = defaultdict(set)  # the solutions by these names

    def configured(self, id: str) -> None:
        """Note what a solution names, or that it is gone: so a publisher need not ask all solutions."""
        for name in self._named.pop(id, ()):
            self._naming[name].discard(id)
        solution = self._context.solutions.find(id)
        if solution is not None:
            files = map(str.lower, self._context.configuration.get(id, ()))
            self._named[id] = {*files, *(each.publisher for each in solution.subscriptions)}
            for name in self._named[id]:
                self._naming[name].add(id)

    def check(self, solution: NamedSolution, configuration: Configuration) -> None:
        """Raise SettingsError if the settings of a solution declare an invalid subscription.

        A subscription to a solution that publishes nothing yet is checked once its publisher exists.
        """
        keys: set[str] = set()
        for each in self._declared(solution, configuration):
            if each.by_settings and self._publishers.find(each.publisher) is not None:
                self._prepared(each, solution.business, keys)

    async def reconcile_subscriber(self, id: str) -> None:
        """Create, change and remove the subscriptions of a solution as it declares them.

        A declared subscription without a publisher is a warning. Raises SettingsError, and changes nothing, if the
        settings declare an invalid subscription.
        """
        solution = self._context.solutions.get(id)
        planned: list[tuple[DeclaredSubscription, InterfaceSubscription]] = []
        keys: set[str] = set()
        declared = list(self._declared(solution, self._context.configuration.get(id, {})))
        for each in declared:
            if self._publishers.find(each.publisher) is None:
                solution.warn(f"{each.where} waits: nobody publishes it yet")
            elif (prepared := self._planned(each, solution, keys)) is not None:
                planned.append((each, prepared))
        for subscription in self._subscriptions.of_subscriber(id):
            await self._remove_undeclared(subscription, declared)
        for each, prepared in planned:
            await self._apply(each, prepared)

    async def reconcile_publisher(self, publisher: str) -> None:
        """Create the subscriptions that solutions declare to a publisher, and remove those no longer declared.

        An invalid declaration is a warning of the declaring solution.
        """
        definition = self._publishers.find(publisher)
        keys = {publisher, definition.default_script_key.lower() if definition else publisher}
        concerned = {each.subscriber for each in self._subscriptions.of_publisher(publisher)}
        concerned.update(*(self._naming.get(key, ()) for key in keys))
        concerned.discard(publisher)
        for solution in self._context.solutions if concerned else ():
            if solution.id not in concerned:
                continue
            declared = list(self._declared(solution, self._context.configuration.get(solution.id, {})))
            existing = self._subscriptions.find(publisher, solution.id)
            if existing is not None:
                await self._remove_undeclared(existing, declared)
                continue
            for each in declared:
                if each.publisher == publisher:
                    try:
                        prepared = self._planned(each, solution, set())
                    except SettingsError as error:
                        solution.warn(str(error))
                        continue
                    if prepared is not None:
                        await self._apply(each, prepared)

    async def _remove_undeclared(
        self, subscription: InterfaceSubscription, declared: Sequence[DeclaredSubscription]
    ) -> None:
        """Remove a subscription that was declared before and is not declared now.

        It stays while its publisher is missing, since a file declares a subscription by its publisher's key.
        """
        is_declared = any(each.publisher == subscription.publisher for each in declared)
        is_published = self._publishers.find(subscription.publisher) is not None
        if subscription.given is not None and is_published and not is_declared:
            await self._writer.remove(subscription)

    def _declared(
        self, solution: NamedSolution, configuration: Configuration
    ) -> Iterator[DeclaredSubscription]:
        """Yield the subscriptions of a solution's settings, then those of its files to other publishers.

        Parameters in a file of the same publisher are defaults of those in the settings.
        """
        services = {name.lower() for name in self._context.services.names()} if configuration else set()
        files = {key: each for key, each in configuration.items() if key.lower() not in services}
        declared: set[str] = set()
        for number, each in enumerate(solution.subscriptions):
            definition = self._publishers.find(each.publisher)
            keys = {each.publisher, each.script_key or (definition.default_script_key if definition else "")}
            matching = [files.pop(key) for key in list(files) if key.lower() in {key.lower() for key in keys}]
            given = each.model_dump(exclude_none=True, exclude={"publisher"})
            given["parameters"] = {
                **{name: value for parameters in matching for name, value in parameters.items()},
                **given["parameters"],
            }
            declared.add(each.publisher)
            where = f"subscriptions[{number}] to {each.publisher!r}"
            yield DeclaredSubscription(solution.id, each.publisher, given, where, True)
        for key, parameters in files.items():
            publisher = self._publishers.of_key(key)
            if publisher is not None and publisher != solution.id and publisher not in declared:
                declared.add(publisher)
                given = {"parameters": dict(parameters), "quota": {}, "triggers": {}}
                yield DeclaredSubscription(solution.id, publisher, given, f"services/{key}.yaml", False)

    def _planned(
        self, declared: DeclaredSubscription, solution: NamedSolution, keys: set[str]
    ) -> InterfaceSubscription | None:
        """Return a valid subscription from its declaration; None, with a warning, if that is an invalid file.

        Raises SettingsError for an invalid declaration in settings. keys: script keys of the subscriptions planned
        so far, in lower case; the key of this one is added.
        """
        try:
            return self._prepared(declared, solution.business, keys)
        except SettingsError as error:
            if declared.by_settings:
                raise
            solution.warn(str(error))
            return None

    def _prepared(
        self, declared: DeclaredSubscription, business: str, keys: set[str]
    ) -> InterfaceSubscription:
        """Return a valid subscription from its declaration, and add its key to `keys`. Raises SettingsError."""
        try:
            prepared = self._writer.prepare(
                declared.subscriber,
                declared.publisher,
                **declared.given,
                given=declared.given,
                business=business,
            )
        except SettingsError as error:
            raise SettingsError(f"{declared.where}: {error}") from None
        if prepared.script_key.lower() in keys:
            raise SettingsError(f"{declared.where}: script_key: another one is {prepared.script_key!r}")
        keys.add(prepared.script_key.lower())
        return prepared

    async def _apply(self, declared: DeclaredSubscription, prepared: InterfaceSubscription) -> None:
        """Create the subscription or, if it exists, change what differs from its last applied declaration.

        Values that a handle or the publisher set meanwhile stay.
        """
        existing = self._subscriptions.find(prepared.publisher, prepared.subscriber)
        if existing is None:
            await self._writer.add(prepared)
            return
        before, now = existing.given or {}, declared.given
        if before == now:
            return
        dropped = frozenset(before.get("parameters", {})) - frozenset(now["parameters"])
        await self._writer.change(
            existing,
            parameters=now["parameters"],
            dropped=dropped,
            quota=dict.fromkeys(before.get("quota", {})) | now["quota"],
            triggers=dict.fromkeys(before.get("triggers", {})) | now["triggers"],
            script_key=prepared.script_key,
            given=now,
        )
