"""Faults of subscribing that no row can express."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import Change, always
from labkit.conformance.interface.definition.mutants import reads
from labkit.conformance.mutant import mutant, patch

DISPATCH = "labkit.services.interface.dispatch"
NOTIFY, EFFECTIVE = f"{DISPATCH}:Dispatch.notify_publisher", f"{DISPATCH}:effective_parameters"
NAME = "labkit.services.interface.subscription:service_name"


def _suppressed(event: str) -> Change:
    """Return a change that suppresses one kind of event to publishers."""

    async def broken(original: Any, self: Any, kind: Any, *of: Any) -> Any:
        return None if kind.event == event else await original(self, kind, *of)

    return broken


nobody_added = patch("IFC-LIFE-1", NOTIFY, "a publisher receives no event of a new subscriber")(
    _suppressed("subscriberAdded")
)
nobody_removed = patch("IFC-LIFE-2", NOTIFY, "a publisher receives no event of a subscriber that leaves")(
    _suppressed("subscriberRemoved")
)
nobody_updated = patch("IFC-LIFE-3", NOTIFY, "a publisher receives no event of a subscriber that changes")(
    _suppressed("subscriberUpdated")
)
heard_without_parameters = patch(
    "IFC-LIFE-1 IFC-LIFE-2 IFC-LIFE-3",
    EFFECTIVE,
    "a publisher receives subscribers' events without their parameters",
)(always({}))
no_whitelist = reads(
    "IFC-LIFE-4", "the whitelist admits every business", lambda plain: {**plain, "whitelist": []}
)
first_of_the_whitelist = reads(
    "IFC-LIFE-4",
    "the whitelist admits only its first business",
    lambda plain: {**plain, "whitelist": plain.get("whitelist", [])[:1]},
)
narrowed_in_vain = patch(
    "IFC-LIFE-15",
    "labkit.services.interface.service:Interface.is_suspended",
    "a narrowed whitelist does not suspend its subscribers",
)(always(False))
key_as_it_is = patch("IFC-LIFE-5", NAME, "the service is called as the key is, without a capital")(
    lambda original, key: key
)
all_capitals = patch("IFC-LIFE-5", NAME, "the service is called as the key is, in capitals")(
    lambda original, key: key.upper()
)


@patch("IFC-LIFE-1 IFC-LIFE-2 IFC-LIFE-3", NOTIFY)
async def heard_twice(original: Any, *of: Any) -> Any:
    """a publisher receives every event of its subscribers twice"""
    await original(*of)
    return await original(*of)


@patch("IFC-LIFE-5", "labkit.services.interface.subscription_writer:SubscriptionWriter.prepare")
def id_as_key(original: Any, self: Any, subscriber: str, publisher: str, **named: Any) -> Any:
    """a subscriber that chooses no key gets the publisher's id"""
    key = named.get("script_key") or publisher
    return original(self, subscriber, publisher, **{**named, "script_key": key})


@mutant("IFC-LIFE-10", "labkit.services.interface.store:Subscriptions.of_subscriber")
def stays_with_subscriber(original: Any) -> Any:
    """a solution that has unsubscribed keeps the service, which answers that it has ended"""
    known: dict[tuple[int, str], dict[str, Any]] = {}

    def broken(self: Any, subscriber: str) -> list[Any]:
        there = known.setdefault((id(self), subscriber), {})
        there.update({each.publisher: each for each in original(self, subscriber)})
        return list(there.values())

    return broken
