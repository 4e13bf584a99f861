"""Faults in what settings and folders name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.mutant import mutant, patch
from labkit.core.errors import SettingsError

WANTED = "labkit.services.interface.wanted:WantedSubscriptions"
SUBSCRIBING = "labkit.services.interface.subscribing:Subscribing"
CHANGE = f"{SUBSCRIBING}.change"
SET_UP = f"{WANTED}.of_subscriber"
OF_KEY = "labkit.services.interface.publishers:Publishers.of_key"


@mutant("IFC-SET-1", f"{SUBSCRIBING}.add")
def first_alone(original: Any) -> Any:
    """of those that wait for a publisher the first is subscribed alone"""

    async def broken(self: Any, made: Any, *cause: Any) -> Any:
        late = made.given is not None and self._subscriptions.of_publisher(made.publisher)
        return made if late else await original(self, made, *cause)

    return broken


@mutant("IFC-SET-1", f"{WANTED}.of_publisher")
def wrong_one_ends_it(original: Any) -> Any:
    """a subscription that cannot be keeps those away that wait beside it"""

    async def broken(self: Any, publisher: str) -> None:
        try:
            for each in self._context.solutions:
                self.check(each, self._context.configuration.get(each.id, {}))
        except SettingsError:
            return
        await original(self, publisher)

    return broken


def _made(change: Any) -> Any:
    """Change the parameters that a subscription begins with: change(parameters, of settings, of files)."""

    def replaced(original: Any) -> Any:
        def broken(self: Any, subscriber: str, publisher: str, **named: Any) -> Any:
            solution = self._context.solutions.find(subscriber)
            named_there = solution.subscriptions if solution is not None else ()
            if mine := [each.parameters for each in named_there if each.publisher == publisher]:
                files = self._context.configuration.get(subscriber, {}).values()
                beside = {name: value for each in files for name, value in each.items()}
                named["parameters"] = change(named["parameters"], mine[0], beside)
            return original(self, subscriber, publisher, **named)

        return broken

    return replaced


MADE = f"{SUBSCRIBING}.made"
settings_alone = patch(
    "IFC-SET-2", MADE, "a file beside settings is not read", _made(lambda both, mine, beside: mine)
)
file_first = patch(
    "IFC-SET-2", MADE, "a file counts before settings", _made(lambda both, mine, beside: {**both, **beside})
)


def _change(name: str, value: Any) -> Any:
    """Have an argument of a change be another, where it is given: value(argument)."""
    return lambda original: (
        lambda self, subscription, **named: original(
            self, subscription, **(named | {name: value(named[name])} if named.get(name) else named)
        )
    )


nothing_dropped = patch(
    "IFC-SET-3", CHANGE, "parameters that settings drop stay", _change("dropped", lambda _: frozenset())
)
quota_stays = patch(
    "IFC-SET-3",
    CHANGE,
    "a quota that settings do not name any more stays",
    _change("quota", lambda quota: {name: each for name, each in quota.items() if each is not None}),
)
old_key = patch(
    "IFC-SET-3", CHANGE, "the key of a subscription never changes", _change("script_key", lambda key: None)
)


def _before(change: Any) -> Any:
    """Do something to each subscription of a solution that is set up: change(self, subscription)."""

    def replaced(original: Any) -> Any:
        async def broken(self: Any, id: str) -> None:
            for each in self._subscriptions.of_subscriber(id):
                await change(self, each)
            await original(self, id)

        return broken

    return replaced


def _given(by_settings: bool) -> Any:
    """Have subscriptions be as if settings had set all of them."""

    async def change(self: Any, each: Any) -> None:
        if (each.given is not None) is by_settings:
            await self._subscriptions.change(each.id, lambda found: replace(found, given={}))

    return change


async def _ended(self: Any, each: Any) -> None:
    if each.given is not None and self._publishers.find(each.publisher) is None:
        await self._subscribing.remove(each)


settings_over_all = patch(
    "IFC-SET-3", SET_UP, "each set-up sets back what others set of a subscription", _before(_given(True))
)
all_end = patch(
    "IFC-SET-4", SET_UP, "what a cell subscribed to ends when settings do not name it", _before(_given(False))
)
ends_meanwhile = patch(
    "IFC-SET-4",
    SET_UP,
    "a subscription ends when its solution is set up while the publisher publishes nothing",
    _before(_ended),
)


@mutant("IFC-SET-4", f"{SUBSCRIBING}.remove")
def none_ends(original: Any) -> Any:
    """a subscription stays when nothing names it any more"""

    async def broken(self: Any, subscription: Any, *cause: Any) -> bool:
        return subscription.given is None and await original(self, subscription, *cause)

    return broken


@mutant("IFC-SET-5", OF_KEY)
def exact_key(original: Any) -> Any:
    """a file finds its publisher in the right letter case alone"""

    def broken(self: Any, key: str) -> Any:
        definition = self.find(found) if (found := original(self, key)) is not None else None
        return found if definition is not None and key in (definition.default_script_key, found) else None

    return broken


@mutant("IFC-SET-5", OF_KEY)
def by_key_alone(original: Any) -> Any:
    """a file does not find its publisher by its id"""
    return lambda self, key: None if key in self else original(self, key)


@mutant("IFC-SET-6", "labkit.services.interface.publishers:Publishers.operations")
def old_operations(original: Any) -> Any:
    """subscribers have the operations that a publisher had first"""
    first: dict[Any, Any] = {}
    return lambda self, *of: first.setdefault(of, original(self, *of))
