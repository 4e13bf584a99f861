"""The subscriptions that settings and folders name: made once there is a publisher, changed and removed with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.context import Context, NamedSolution
from labkit.core.errors import SettingsError
from labkit.services.interface.publishers import Publishers
from labkit.services.interface.store import Subscriptions
from labkit.services.interface.subscribing import Subscribing
from labkit.services.interface.subscription import InterfaceSubscription

Configuration = Mapping[str, Mapping[str, Any]]  # service → parameters


@dataclass(frozen=True, slots=True)
class Wanted:
    """A subscription that is named. where: what names it."""

    subscriber: str
    publisher: str
    given: dict[str, Any]  # script_key, parameters, quota, triggers
    where: str
    by_settings: bool


class WantedSubscriptions:
    """Brings what is subscribed in line with what is named."""

    def __init__(
        self,
        context: Context,
        subscriptions: Subscriptions,
        publishers: Publishers,
        subscribing: Subscribing,
    ) -> None:
        self._context = context
        self._subscriptions = subscriptions
        self._publishers = publishers
        self._subscribing = subscribing

    def check(self, solution: NamedSolution, configuration: Configuration) -> None:
        """Raises SettingsError where the settings of a solution name one that cannot be, as far as is known yet."""
        keys: set[str] = set()
        for each in self._named(solution, configuration):
            if each.by_settings and self._publishers.find(each.publisher) is not None:
                self._made(each, solution.business, keys)

    async def of_subscriber(self, id: str) -> None:
        """Make and change those that a solution names; remove those that it named before and does not any more.

        Raises SettingsError, and changes nothing, where its settings name one that cannot be.
        """
        solution = self._context.solutions.get(id)
        planned: list[tuple[Wanted, InterfaceSubscription]] = []
        keys: set[str] = set()
        named = list(self._named(solution, self._context.configuration.get(id, {})))
        for each in named:
            if self._publishers.find(each.publisher) is None:
                solution.warn(f"{each.where} waits: nobody publishes it yet")
            elif (made := self._planned(each, solution, keys)) is not None:
                planned.append((each, made))
        for subscription in self._subscriptions.of_subscriber(id):
            await self._remove_unnamed(subscription, named)
        for each, made in planned:
            await self._bring(each, made)

    async def of_publisher(self, publisher: str) -> None:
        """Make those that others named before there was this publisher; one that cannot be is a warning of theirs."""
        for solution in self._context.solutions:
            if solution.id == publisher:
                continue
            named = list(self._named(solution, self._context.configuration.get(solution.id, {})))
            there = self._subscriptions.find(publisher, solution.id)
            if there is not None:
                await self._remove_unnamed(there, named)
                continue
            for each in named:
                if each.publisher == publisher:
                    try:
                        made = self._planned(each, solution, set())
                    except SettingsError as error:
                        solution.warn(str(error))
                        continue
                    if made is not None:
                        await self._bring(each, made)

    async def _remove_unnamed(self, subscription: InterfaceSubscription, named: Sequence[Wanted]) -> None:
        """Remove one that was named before, and is not any more as far as can be told."""
        is_named = any(each.publisher == subscription.publisher for each in named)
        known = self._publishers.find(subscription.publisher) is not None
        if subscription.given is not None and known and not is_named:
            await self._subscribing.remove(subscription)

    def _named(self, solution: NamedSolution, configuration: Configuration) -> Iterator[Wanted]:
        """What the settings of a solution name, then what its folders do beside."""
        services = {name.lower() for name in self._context.services.names()}
        files = {key: each for key, each in configuration.items() if key.lower() not in services}
        taken: set[str] = set()
        for number, each in enumerate(solution.subscriptions):
            known = self._publishers.find(each.publisher)
            keys = {each.publisher, each.script_key or (known.default_script_key if known else "")}
            beside = [files.pop(key) for key in list(files) if key.lower() in {key.lower() for key in keys}]
            given = each.model_dump(exclude_none=True, exclude={"publisher"})
            given["parameters"] = {
                **{name: value for parameters in beside for name, value in parameters.items()},
                **given["parameters"],
            }
            taken.add(each.publisher)
            where = f"subscriptions[{number}] to {each.publisher!r}"
            yield Wanted(solution.id, each.publisher, given, where, True)
        for key, parameters in files.items():
            publisher = self._publishers.of_key(key)
            if publisher is not None and publisher != solution.id and publisher not in taken:
                taken.add(publisher)
                given = {"parameters": dict(parameters), "quota": {}, "triggers": {}}
                yield Wanted(solution.id, publisher, given, f"services/{key}.yaml", False)

    def _planned(
        self, wanted: Wanted, solution: NamedSolution, keys: set[str]
    ) -> InterfaceSubscription | None:
        """One that can be, and None for a file's that cannot, which is a warning. Raises SettingsError for others.

        keys: of those that are planned beside it, to which its own is added.
        """
        try:
            return self._made(wanted, solution.business, keys)
        except SettingsError as error:
            if wanted.by_settings:
                raise
            solution.warn(str(error))
            return None

    def _made(self, wanted: Wanted, business: str, keys: set[str]) -> InterfaceSubscription:
        try:
            made = self._subscribing.made(
                wanted.subscriber, wanted.publisher, **wanted.given, given=wanted.given, business=business
            )
        except SettingsError as error:
            raise SettingsError(f"{wanted.where}: {error}") from None
        if made.script_key.lower() in keys:
            raise SettingsError(f"{wanted.where}: script_key: another one is {made.script_key!r}")
        keys.add(made.script_key.lower())
        return made

    async def _bring(self, wanted: Wanted, made: InterfaceSubscription) -> None:
        """Make one, or change the one that is there in what is named of it anew."""
        there = self._subscriptions.find(made.publisher, made.subscriber)
        if there is None:
            await self._subscribing.add(made)
            return
        before, now = there.given or {}, wanted.given
        if before == now:
            return
        dropped = frozenset(before.get("parameters", {})) - frozenset(now["parameters"])
        await self._subscribing.change(
            there,
            parameters=now["parameters"],
            dropped=dropped,
            quota=dict.fromkeys(before.get("quota", {})) | now["quota"],
            triggers=dict.fromkeys(before.get("triggers", {})) | now["triggers"],
            script_key=made.script_key,
            given=now,
        )
