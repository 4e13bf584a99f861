"""Faults of subscribing that no row can say."""

from __future__ import annotations

from typing import Any

from labkit.conformance.interface.definition.mutants import READ, read
from labkit.conformance.mutant import mutant, patch

TELL = "labkit.services.interface.dispatch:Dispatch.tell"
NAME = "labkit.services.interface.subscription:service_name"


def _untold(event: str) -> Any:
    """Leave out one event."""

    def replace(original: Any) -> Any:
        async def broken(self: Any, kind: Any, *given: Any) -> Any:
            return None if kind.event == event else await original(self, kind, *given)

        return broken

    return replace


nobody_added = patch("IFC-LIFE-1", TELL, "a publisher hears of no new subscriber", _untold("subscriberAdded"))
nobody_removed = patch(
    "IFC-LIFE-2", TELL, "a publisher hears of no subscriber that leaves", _untold("subscriberRemoved")
)
nobody_updated = patch(
    "IFC-LIFE-3", TELL, "a publisher hears of no subscriber that changes", _untold("subscriberUpdated")
)


@mutant("IFC-LIFE-1 IFC-LIFE-2 IFC-LIFE-3", TELL)
def heard_twice(original: Any) -> Any:
    """a publisher hears everything twice"""

    async def broken(*given: Any) -> Any:
        await original(*given)
        return await original(*given)

    return broken


@mutant("IFC-LIFE-1 IFC-LIFE-2 IFC-LIFE-3", "labkit.services.interface.dispatch:effective")
def heard_without_parameters(original: Any) -> Any:
    """a publisher hears of subscribers without their parameters"""
    return lambda definition, subscription: {}


no_whitelist = patch(
    "IFC-LIFE-4", READ, "the whitelist lets everybody in", read(lambda plain: {**plain, "whitelist": []})
)
first_of_the_whitelist = patch(
    "IFC-LIFE-4",
    READ,
    "the whitelist lets its first business in alone",
    read(lambda plain: {**plain, "whitelist": plain.get("whitelist", [])[:1]}),
)
key_as_it_is = patch(
    "IFC-LIFE-5", NAME, "the service is called as the key is, without a capital", lambda original: str
)
all_capitals = patch(
    "IFC-LIFE-5", NAME, "the service is called as the key is, in capitals", lambda original: str.upper
)


@mutant("IFC-LIFE-5", "labkit.services.interface.subscribing:Subscribing.made")
def id_as_key(original: Any) -> Any:
    """a subscriber that chooses no key gets the publisher's id"""
    return lambda self, subscriber, publisher, **named: original(
        self, subscriber, publisher, **{**named, "script_key": named.get("script_key") or publisher}
    )
