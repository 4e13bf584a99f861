"""Code mutants of the recipients and the lifetime of notifications, for faults that no fault row can express."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from labkit.conformance.breaking import Change, always, call_before, change_result
from labkit.conformance.mutant import patch
from labkit.conformance.notify.channels.mutants import COMPOSE

SELECT = "labkit.providers.messaging.bindings:select"
DELIVER = "labkit.providers.messaging.handsets:Handsets.deliver"
KEYS = "labkit.providers.messaging.forms:keys"
FOUR_WEEKS = 2_419_200

no_chat = patch("NTF-SEND-1", SELECT, "chat-messenger is not delivered")(
    change_result(lambda found: [each for each in found if each.type != "chat-messenger"])
)
twice = patch("NTF-SEND-2 NTF-SEND-3", SELECT, "each binding is reached twice")(
    change_result(lambda found: 2 * found)
)
one_of_an_identity = patch("NTF-SEND-2", SELECT, "of an identity's bindings only the newest is reached")(
    change_result(lambda found: list({each.identity: each for each in found}.values()))
)
underscore_needed = patch(
    "NTF-SEND-13", KEYS, "keys that begin with twi are allowed where no underscore follows"
)(
    change_result(
        lambda names: [each for each in names if not each.startswith("twi") or each.startswith("twi_")]
    )
)
reserved_in_data = patch("NTF-SEND-14", KEYS, "reserved keys in data of payloads are allowed")(always([]))


def _expires(when: Callable[[Any], float]) -> Change:
    """Change the time at which a waiting message expires: when(message)."""
    return call_before(lambda _, message: setattr(message, "expires", when(message)))


never_expires = patch("NTF-TTL-3", DELIVER, "waiting messages never expire")(
    _expires(lambda message: message.expires + FOUR_WEEKS)
)
never_waits = patch("NTF-TTL-3", DELIVER, "a message to an offline device is dropped")(
    _expires(lambda message: message.time)
)
whole_seconds = patch("NTF-TTL-3", DELIVER, "waiting messages expire at the whole second")(
    _expires(lambda message: int(message.expires))
)


@patch("NTF-TTL-4", COMPOSE)
def phones_obey(original: Any, channel: str, sent: Any, *of: Any) -> Any:
    """SMS and chat messages expire with Ttl"""
    return replace(original(channel, sent, *of), ttl=sent.ttl)


@patch("NTF-TTL-6", COMPOSE)
def own_life_ignored(original: Any, channel: str, sent: Any, *of: Any) -> Any:
    """time_to_live of Fcm and Gcm is ignored"""
    made = original(channel, sent, *of)
    return replace(made, ttl=sent.ttl) if channel in ("fcm", "gcm") else made
