"""Faults of subscribing."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import mutant
from labkit.services.interface.dispatch import Dispatch
from labkit.services.interface.subscribing import Subscribing

TELL = "labkit.services.interface.dispatch:Dispatch.tell"
EFFECTIVE = "labkit.services.interface.dispatch:effective"
READ = "labkit.services.interface.configuration:Definition.read"
MADE = "labkit.services.interface.subscribing:Subscribing.made"
NAME = "labkit.services.interface.subscription:service_name"


def _unnotified(original: Any, event: str) -> Any:
    """Leave out one event."""

    async def broken(self: Dispatch, kind: Any, *given: Any) -> Any:
        return None if kind.event == event else await original(self, kind, *given)

    return broken


@mutant("IFC-LIFE-1", TELL)
def nobody_added(original: Any) -> Any:
    """a publisher hears nothing of a new subscriber"""
    return _unnotified(original, "subscriberAdded")


@mutant("IFC-LIFE-2", TELL)
def nobody_removed(original: Any) -> Any:
    """a publisher hears nothing of a subscriber that leaves"""
    return _unnotified(original, "subscriberRemoved")


@mutant("IFC-LIFE-3", TELL)
def nobody_updated(original: Any) -> Any:
    """a publisher hears nothing of a subscriber that changes"""
    return _unnotified(original, "subscriberUpdated")


@mutant("IFC-LIFE-1 IFC-LIFE-2 IFC-LIFE-3", TELL)
def heard_twice(original: Any) -> Any:
    """a publisher hears everything twice"""

    async def broken(self: Dispatch, *given: Any) -> Any:
        await original(self, *given)
        return await original(self, *given)

    return broken


@mutant("IFC-LIFE-1 IFC-LIFE-2 IFC-LIFE-3", EFFECTIVE)
def heard_without_parameters(original: Any) -> Any:
    """a publisher hears of subscribers without their parameters"""
    return lambda definition, subscription: {}


def _read(original: Any, change: Any) -> Any:
    """Change what a publisher configures."""

    def broken(cls: Any, /, plain: Any, **named: Any) -> Any:
        return original.__func__(cls, change(dict(plain)), **named)

    return classmethod(broken)


@mutant("IFC-LIFE-4", READ)
def no_whitelist(original: Any) -> Any:
    """the whitelist lets everybody in"""
    return _read(original, lambda plain: plain | {"whitelist": []})


@mutant("IFC-LIFE-4", READ)
def first_of_the_whitelist(original: Any) -> Any:
    """the whitelist lets its first business in alone"""
    return _read(original, lambda plain: plain | {"whitelist": plain.get("whitelist", [])[:1]})


@mutant("IFC-LIFE-5", NAME)
def key_as_it_is(original: Any) -> Any:
    """the name of the service is the key, without a capital letter"""
    return lambda key: key


@mutant("IFC-LIFE-5", NAME)
def all_capitals(original: Any) -> Any:
    """the name of the service is the key in capital letters"""
    return lambda key: key.upper()


@mutant("IFC-LIFE-5", MADE)
def id_as_key(original: Any) -> Any:
    """a subscriber that chooses no key gets the publisher's id"""

    def broken(self: Subscribing, subscriber: str, publisher: str, **named: Any) -> Any:
        return original(
            self, subscriber, publisher, **{**named, "script_key": named.get("script_key") or publisher}
        )

    return broken
