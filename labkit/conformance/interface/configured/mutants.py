"""Faults in what settings and folders name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.core.errors import SettingsError
from labkit.services.interface.publishers import Publishers
from labkit.services.interface.subscribing import Subscribing
from labkit.services.interface.subscription import Subscription
from labkit.services.interface.wanted import WantedSubscriptions

WANTED = "labkit.services.interface.wanted:WantedSubscriptions."
ADD = "labkit.services.interface.subscribing:Subscribing.add"
MADE = "labkit.services.interface.subscribing:Subscribing.made"
CHANGE = "labkit.services.interface.subscribing:Subscribing.change"
REMOVE = "labkit.services.interface.subscribing:Subscribing.remove"
OF_KEY = "labkit.services.interface.publishers:Publishers.of_key"
OPERATIONS = "labkit.services.interface.publishers:Publishers.operations"


@mutant("IFC-SET-1", ADD)
def first_alone(original: Any) -> Any:
    """of those that wait for a publisher the first is subscribed alone"""

    async def broken(self: Subscribing, made: Subscription, *cause: Any) -> Subscription:
        if made.given is not None and self._subscriptions.of_publisher(made.publisher):
            return made
        added: Subscription = await original(self, made, *cause)
        return added

    return broken


@mutant("IFC-SET-1", WANTED + "of_publisher")
def wrong_one_ends_it(original: Any) -> Any:
    """a subscription that cannot be keeps those away that wait beside it"""

    async def broken(self: WantedSubscriptions, publisher: str) -> None:
        try:
            for each in self._context.solutions:
                self.check(each, self._context.configuration.get(each.id, {}))
        except SettingsError:
            return
        await original(self, publisher)

    return broken


def _made(original: Any, change: Any) -> Any:
    """Change the parameters that a subscription begins with: change(parameters, of settings, of files)."""

    def broken(self: Subscribing, subscriber: str, publisher: str, **named: Any) -> Any:
        solution = self._context.solutions.find(subscriber)
        named_there = solution.subscriptions if solution is not None else ()
        if mine := [each.parameters for each in named_there if each.publisher == publisher]:
            files = self._context.configuration.get(subscriber, {}).values()
            beside = {name: value for each in files for name, value in each.items()}
            named["parameters"] = change(named["parameters"], mine[0], beside)
        return original(self, subscriber, publisher, **named)

    return broken


@mutant("IFC-SET-2", MADE)
def settings_alone(original: Any) -> Any:
    """a file beside settings is not read"""
    return _made(original, lambda both, mine, beside: mine)


@mutant("IFC-SET-2", MADE)
def file_first(original: Any) -> Any:
    """a file's parameters count before those of settings"""
    return _made(original, lambda both, mine, beside: {**both, **beside})


def _change(original: Any, **other: Any) -> Any:
    """Have some arguments of a change be others: change(value)."""

    async def broken(self: Subscribing, subscription: Any, **named: Any) -> Any:
        changed = {name: change(named[name]) for name, change in other.items() if named.get(name)}
        return await original(self, subscription, **{**named, **changed})

    return broken


@mutant("IFC-SET-3", CHANGE)
def nothing_dropped(original: Any) -> Any:
    """parameters that settings do not name any more stay"""
    return _change(original, dropped=lambda names: frozenset())


@mutant("IFC-SET-3", CHANGE)
def quota_stays(original: Any) -> Any:
    """a quota that settings do not name any more stays"""
    return _change(original, quota=lambda quota: {n: each for n, each in quota.items() if each is not None})


@mutant("IFC-SET-3", CHANGE)
def old_key(original: Any) -> Any:
    """the key of a subscription never changes"""
    return _change(original, script_key=lambda key: None)


def _before(original: Any, change: Any) -> Any:
    """Do something to each subscription of a solution that is set up: change(self, subscription)."""

    async def broken(self: WantedSubscriptions, id: str) -> None:
        for each in self._subscriptions.of_subscriber(id):
            await change(self, each)
        await original(self, id)

    return broken


@mutant("IFC-SET-3", WANTED + "of_subscriber")
def settings_over_all(original: Any) -> Any:
    """what others set of a subscription is set back whenever the solution is set up"""

    async def change(self: WantedSubscriptions, each: Subscription) -> None:
        if each.given is not None:
            await self._subscriptions.change(each.id, lambda found: replace(found, given={}))

    return _before(original, change)


@mutant("IFC-SET-4", WANTED + "of_subscriber")
def all_end(original: Any) -> Any:
    """what a cell subscribed to ends when settings do not name it"""

    async def change(self: WantedSubscriptions, each: Subscription) -> None:
        if each.given is None:
            await self._subscriptions.change(each.id, lambda found: replace(found, given={}))

    return _before(original, change)


@mutant("IFC-SET-4", WANTED + "of_subscriber")
def ends_meanwhile(original: Any) -> Any:
    """a subscription ends when its solution is set up while the publisher publishes nothing"""

    async def change(self: WantedSubscriptions, each: Subscription) -> None:
        if each.given is not None and self._publishers.find(each.publisher) is None:
            await self._subscribing.remove(each)

    return _before(original, change)


@mutant("IFC-SET-4", REMOVE)
def none_ends(original: Any) -> Any:
    """a subscription stays when nothing names it any more"""

    async def broken(self: Subscribing, subscription: Subscription, *cause: Any) -> bool:
        return False if subscription.given is not None else await original(self, subscription, *cause)

    return broken


@mutant("IFC-SET-5", OF_KEY)
def exact_key(original: Any) -> Any:
    """a file finds its publisher in the right letter case alone"""

    def broken(self: Publishers, key: str) -> str | None:
        found: str | None = original(self, key)
        definition = self.find(found) if found is not None else None
        return found if definition is not None and key in (definition.default_script_key, found) else None

    return broken


@mutant("IFC-SET-5", OF_KEY)
def by_key_alone(original: Any) -> Any:
    """a file does not find its publisher by its id"""
    return lambda self, key: None if key in self else original(self, key)


@mutant("IFC-SET-6", OPERATIONS)
def old_operations(original: Any) -> Any:
    """subscribers have the operations that a publisher had first"""
    first: dict[Any, Any] = {}

    def broken(self: Publishers, solution: str, service: str) -> Any:
        return first.setdefault((solution, service), original(self, solution, service))

    return broken
