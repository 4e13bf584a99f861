"""The subscriptions that settings and folders name: made once there is a publisher, changed and removed with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from labkit.context import Context
from labkit.core.errors import SettingsError
from labkit.services.interface.publishers import Publishers
from labkit.services.interface.store import Subscriptions
from labkit.services.interface.subscribing import Subscribing
from labkit.services.interface.subscription import Subscription


@dataclass(frozen=True, slots=True)
class Wanted:
    """A subscription that is named. publisher: None where none is there yet; where: what names it."""

    subscriber: str
    publisher: str | None
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

    async def of_subscriber(self, solution: str) -> None:
        """Make and change those that a solution names; remove those that it named before and does not any more.

        Raises SettingsError, and changes nothing, where its settings name one that cannot be.
        """
        wanted = list(self._named(solution))
        planned = [(each, self._planned(each)) for each in wanted if each.publisher is not None]
        for each in wanted:
            if each.publisher is None and each.by_settings:
                self._context.solutions.get(solution).warn(f"{each.where} waits: nobody publishes it yet")
        named = {each.publisher for each in wanted}
        for subscription in self._subscriptions.of_subscriber(solution):
            if subscription.given is not None and subscription.publisher not in named:
                await self._subscribing.remove(subscription)
        for each, made in planned:
            if made is not None:
                await self._bring(each, made)

    async def of_publisher(self, publisher: str) -> None:
        """Make those that others named before there was this publisher; one that cannot be is a warning of theirs."""
        for solution in self._context.solutions:
            if solution.id == publisher or self._subscriptions.find(publisher, solution.id):
                continue
            for each in self._named(solution.id):
                if each.publisher != publisher:
                    continue
                try:
                    made = self._planned(each)
                except SettingsError as error:
                    solution.warn(str(error))
                    continue
                if made is not None:
                    await self._bring(each, made)

    def _named(self, solution: str) -> Iterator[Wanted]:
        """What the settings of a solution name, then what its folders do beside."""
        configured = self._context.configuration.get(solution, {})
        services = {name.lower() for name in self._context.services.names()}
        files = {key: each for key, each in configured.items() if key.lower() not in services}
        taken: set[str | None] = set()
        for number, each in enumerate(self._context.solutions.get(solution).subscriptions):
            known = self._publishers.find(each.publisher)
            publisher = each.publisher if known is not None else None
            keys = {each.publisher, each.script_key or (known.default_script_key if known else "")}
            beside = [files.pop(key) for key in list(files) if key.lower() in {key.lower() for key in keys}]
            given = each.model_dump(exclude_none=True, exclude={"publisher"})
            given["parameters"] = {
                **{name: value for parameters in beside for name, value in parameters.items()},
                **given["parameters"],
            }
            taken.add(publisher)
            yield Wanted(solution, publisher, given, f"subscriptions[{number}] to {each.publisher!r}", True)
        for key, parameters in files.items():
            publisher = self._publishers.of_key(key)
            if publisher is not None and publisher != solution and publisher not in taken:
                taken.add(publisher)
                given = {"parameters": dict(parameters), "quota": {}, "triggers": {}}
                yield Wanted(solution, publisher, given, f"services/{key}.yaml", False)

    def _planned(self, wanted: Wanted) -> Subscription | None:
        """One that can be, and None for a file's that cannot, which is a warning. Raises SettingsError for others."""
        assert wanted.publisher is not None
        there = self._subscriptions.find(wanted.publisher, wanted.subscriber)
        try:
            return self._subscribing.made(
                wanted.subscriber,
                wanted.publisher,
                **wanted.given,
                given=wanted.given,
                id=there.id if there else "",
            )
        except SettingsError as error:
            text = f"{wanted.where}: {error}"
            if wanted.by_settings:
                raise SettingsError(text) from None
            self._context.solutions.get(wanted.subscriber).warn(text)
            return None

    async def _bring(self, wanted: Wanted, made: Subscription) -> None:
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
