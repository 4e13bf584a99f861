"""Faults of whom a notification reaches and how long it lives that no row can say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.breaking import beforehand
from labkit.conformance.mutant import mutant
from labkit.conformance.notify.breaking import COMPOSE

SELECT = "labkit.providers.messaging.bindings:select"
DELIVER = "labkit.providers.messaging.handsets:Handsets.deliver"
KEYS = "labkit.providers.messaging.forms:keys"
FOUR_WEEKS = 2_419_200


@mutant("NTF-SEND-1", SELECT)
def no_chat(original: Any) -> Any:
    """chat-messenger is not delivered"""
    return lambda *wanted: [each for each in original(*wanted) if each.type != "chat-messenger"]


@mutant("NTF-SEND-2 NTF-SEND-3", SELECT)
def twice(original: Any) -> Any:
    """each binding is reached twice"""
    return lambda *wanted: 2 * original(*wanted)


@mutant("NTF-SEND-2", SELECT)
def one_of_an_identity(original: Any) -> Any:
    """of an identity's bindings the newest is reached"""
    return lambda *wanted: list({each.identity: each for each in original(*wanted)}.values())


@mutant("NTF-SEND-13", KEYS)
def underscore_needed(original: Any) -> Any:
    """keys that begin with twi are allowed where no underscore follows"""
    return lambda value, **named: [
        each for each in original(value, **named) if not each.startswith("twi") or each.startswith("twi_")
    ]


@mutant("NTF-SEND-14", KEYS)
def reserved_in_data(original: Any) -> Any:
    """reserved keys in data of payloads are not seen"""
    return lambda value, **named: []


@mutant("NTF-TTL-3", DELIVER)
def never_expires(original: Any) -> Any:
    """what waits never expires"""
    return beforehand(original, lambda _, message: setattr(message, "expires", message.expires + FOUR_WEEKS))


@mutant("NTF-TTL-3", DELIVER)
def never_waits(original: Any) -> Any:
    """nothing waits"""
    return beforehand(original, lambda _, message: setattr(message, "expires", message.time))


@mutant("NTF-TTL-3", DELIVER)
def whole_seconds(original: Any) -> Any:
    """what waits expires with a whole second"""
    return beforehand(original, lambda _, message: setattr(message, "expires", int(message.expires)))


@mutant("NTF-TTL-4", COMPOSE)
def phones_obey(original: Any) -> Any:
    """SMS and chat messages expire with Ttl"""
    return lambda kind, sent, *rest: replace(original(kind, sent, *rest), ttl=sent.ttl)


@mutant("NTF-TTL-6", COMPOSE)
def own_life_ignored(original: Any) -> Any:
    """time_to_live of Fcm and Gcm counts for nothing"""
    return lambda kind, sent, *rest: replace(
        (made := original(kind, sent, *rest)), ttl=sent.ttl if kind in ("fcm", "gcm") else made.ttl
    )
