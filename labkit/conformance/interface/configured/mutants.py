"""Faults of subscriptions that settings and folders declare."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.breaking import Change, change_arguments
from labkit.conformance.mutant import mutant, patch
from labkit.core.errors import SettingsError

RECONCILER = "labkit.services.interface.reconciler:SubscriptionReconciler"
WRITER = "labkit.services.interface.subscription_writer:SubscriptionWriter"
PUBLISHERS = "labkit.services.interface.publishers:Publishers"
CHANGE, PREPARE = f"{WRITER}.change", f"{WRITER}.prepare"
SET_UP, OF_KEY = f"{RECONCILER}.reconcile_subscriber", f"{PUBLISHERS}.of_key"

# ---- how subscriptions begin


@patch("IFC-SET-1", f"{WRITER}.add")
async def first_alone(original: Any, self: Any, made: Any, *cause: Any) -> Any:
    """only the first of several subscriptions that wait for a publisher begins"""
    late = made.given is not None and self._subscriptions.of_publisher(made.publisher)
    return made if late else await original(self, made, *cause)


@patch("IFC-SET-1", f"{RECONCILER}.reconcile_publisher")
async def wrong_one_ends_it(original: Any, self: Any, publisher: str) -> None:
    """a waiting subscription with wrong parameters blocks the others that wait for the publisher"""
    try:
        for each in self._context.solutions:
            self.check(each, self._context.configuration.get(each.id, {}))
    except SettingsError:
        return
    await original(self, publisher)


def _made(change: Any) -> Change:
    """Return a change of a new subscription's parameters: change(parameters, of settings, of files)."""

    def broken(original: Any, self: Any, subscriber: str, publisher: str, **named: Any) -> Any:
        solution = self._context.solutions.find(subscriber)
        wanted = solution.subscriptions if solution is not None else ()
        if mine := [each.parameters for each in wanted if each.publisher == publisher]:
            files = self._context.configuration.get(subscriber, {}).values()
            beside = {name: value for each in files for name, value in each.items()}
            named["parameters"] = change(named["parameters"], mine[0], beside)
        return original(self, subscriber, publisher, **named)

    return broken


settings_alone = patch("IFC-SET-2", PREPARE, "the parameters of a file are ignored if settings have some")(
    _made(lambda both, mine, beside: mine)
)
file_first = patch("IFC-SET-2", PREPARE, "the parameters of a file override those of settings")(
    _made(lambda both, mine, beside: {**both, **beside})
)

# ---- how they change, and end

nothing_dropped = patch("IFC-SET-3", CHANGE, "parameters that settings no longer have stay")(
    change_arguments(dropped=lambda names: frozenset())
)
quota_stays = patch("IFC-SET-3", CHANGE, "a quota that settings no longer have stays")(
    change_arguments(
        quota=lambda quota: quota and {name: each for name, each in quota.items() if each is not None}
    )
)
old_key = patch("IFC-SET-3", CHANGE, "the key of a subscription never changes")(
    change_arguments(script_key=lambda key: None)
)


def _before(change: Any) -> Change:
    """Return a change that acts on each subscription of a solution before its set-up: change(self, subscription)."""

    async def broken(original: Any, self: Any, id: str) -> None:
        for each in self._subscriptions.of_subscriber(id):
            await change(self, each)
        await original(self, id)

    return broken


def _given(by_settings: bool) -> Change:
    """Return a change that marks subscriptions as declared by settings."""

    async def change(self: Any, each: Any) -> None:
        if (each.given is not None) is by_settings:
            await self._subscriptions.change(each.id, lambda found: replace(found, given={}))

    return _before(change)


async def _ended(self: Any, each: Any) -> None:
    if each.given is not None and self._publishers.find(each.publisher) is None:
        await self._writer.remove(each)


settings_over_all = patch(
    "IFC-SET-3", SET_UP, "each set-up resets the parts of a subscription that others have set"
)(_given(True))
all_end = patch("IFC-SET-4", SET_UP, "a subscription made by a handle ends if settings do not declare it")(
    _given(False)
)
ends_meanwhile = patch(
    "IFC-SET-4",
    SET_UP,
    "a subscription ends when its solution is set up while the publisher publishes nothing",
)(_before(_ended))


@patch("IFC-SET-4", f"{WRITER}.remove")
async def none_ends(original: Any, self: Any, subscription: Any, *cause: Any) -> bool:
    """a subscription stays when nothing declares it any more"""
    return subscription.given is None and await original(self, subscription, *cause)


# ---- how a file finds its publisher, and the operations of subscribers


@patch("IFC-SET-5", OF_KEY)
def exact_key(original: Any, self: Any, key: str) -> Any:
    """a file finds its publisher only by the exact letter case of the key"""
    definition = self.find(found) if (found := original(self, key)) is not None else None
    return found if definition is not None and key in (definition.default_script_key, found) else None


@patch("IFC-SET-5", OF_KEY)
def by_key_alone(original: Any, self: Any, key: str) -> Any:
    """a file does not find its publisher by its id"""
    return None if key in self else original(self, key)


@mutant("IFC-SET-6", f"{PUBLISHERS}.operations")
def old_operations(original: Any) -> Any:
    """subscribers keep a publisher's first operations"""
    first: dict[Any, Any] = {}
    return lambda self, *of: first.setdefault(of, original(self, *of))
