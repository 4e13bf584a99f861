"""Faults of whom a notification reaches, what comes back, and how long it lives."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from labkit.conformance.faults import CALL
from labkit.conformance.mutant import mutant
from labkit.conformance.notify.faults import Table, parameters, results, without

SEND = "send"
SELECT = "labkit.providers.messaging.bindings:select"
DELIVER = "labkit.providers.messaging.handsets:Handsets.deliver"
FOUR_WEEKS = 2_419_200


def selected(original: Any, change: Any) -> Any:
    """Change whom a send selects."""
    return lambda connection, service, wanted: original(connection, service, change(wanted))


def reached(original: Any, change: Any) -> Any:
    """Change the bindings that a send reaches."""
    return lambda connection, service, wanted: change(original(connection, service, wanted))


# ---- whom it reaches


@mutant("NTF-SEND-1", SELECT)
def no_chat(original: Any) -> Any:
    """chat-messenger is not delivered"""
    return reached(original, lambda found: [each for each in found if each.type != "chat-messenger"])


@mutant("NTF-SEND-1", CALL)
def nothing_back(original: Any) -> Any:
    """send gives a table with nothing in it"""
    return results(original, lambda sent: {}, SEND)


@mutant("NTF-SEND-2 NTF-SEND-4", SELECT)
def first_identity(original: Any) -> Any:
    """of several identities the first is reached"""
    return selected(original, lambda wanted: replace(wanted, identities=wanted.identities[:1]))


@mutant("NTF-SEND-2 NTF-SEND-3", SELECT)
def twice(original: Any) -> Any:
    """each binding is reached twice"""
    return reached(original, lambda found: [*found, *found])


@mutant("NTF-SEND-2", SELECT)
def one_of_an_identity(original: Any) -> Any:
    """of an identity's bindings the newest is reached"""
    return reached(original, lambda found: list({each.identity: each for each in found}.values()))


@mutant("NTF-SEND-3 NTF-SEND-6", SELECT)
def first_tag(original: Any) -> Any:
    """of several tags the first counts"""
    return selected(original, lambda wanted: replace(wanted, tags=wanted.tags[:1]))


@mutant("NTF-SEND-4", CALL)
def identity_dropped(original: Any) -> Any:
    """of more than 20 identities the first 20 are reached"""
    return parameters(original, lambda given: cut(given, "Identity"), SEND)


@mutant("NTF-SEND-5", CALL)
def tag_dropped(original: Any) -> Any:
    """of more than 20 tags the first 20 are taken"""
    return parameters(original, lambda given: cut(given, "Tag"), SEND)


@mutant("NTF-SEND-5", SELECT)
def nineteen_tags(original: Any) -> Any:
    """of 20 tags 19 are taken"""
    return selected(original, lambda wanted: replace(wanted, tags=wanted.tags[:19]))


def cut(given: Table, name: str) -> Table:
    """Parameters with 20 items of one of them at most."""
    return {**given, name: given[name][:20]} if isinstance(given.get(name), list) else given


@mutant("NTF-SEND-6", SELECT)
def all_is_a_tag(original: Any) -> Any:
    """all is a tag like others"""
    return selected(
        original,
        lambda wanted: replace(wanted, tags=tuple("All" if each == "all" else each for each in wanted.tags)),
    )


# ---- what comes back


@mutant("NTF-SEND-7", CALL)
def whole_ttl(original: Any) -> Any:
    """ttl is a number"""
    return results(original, lambda sent: {**sent, "ttl": int(sent["ttl"])}, SEND)


@mutant("NTF-SEND-7", CALL)
def texts_unsaid(original: Any) -> Any:
    """title, sound and action are not told"""
    return results(original, lambda sent: without(sent, "title", "sound", "action"), SEND)


@mutant("NTF-SEND-7", CALL)
def payloads_unsaid(original: Any) -> Any:
    """payloads are not told"""
    return results(original, lambda sent: without(sent, "data", "apn", "fcm", "gcm", "sms"), SEND)


@mutant("NTF-SEND-9", CALL)
def short_sids(original: Any) -> Any:
    """the sid has 32 characters"""
    return results(original, lambda sent: {**sent, "sid": sent["sid"][2:]}, SEND)


@mutant("NTF-SEND-9", "labkit.services.notify.upstream:rfc2822")
def iso_dates(original: Any) -> Any:
    """dates stay in the form of ISO 8601"""
    return lambda date: date


# ---- how it is given


@mutant("NTF-SEND-10", CALL)
def text_alone(original: Any) -> Any:
    """objects are not taken"""
    return parameters(
        original,
        lambda given: {
            name: each if not isinstance(each, dict) else f"object: {json.dumps(each)}"
            for name, each in given.items()
        },
        SEND,
    )


@mutant("NTF-SEND-10", CALL)
def lists_alone(original: Any) -> Any:
    """one text is taken for a list of its characters"""
    return parameters(
        original,
        lambda given: {
            name: list(each)[:20] if name in ("Identity", "Tag") and isinstance(each, str) else each
            for name, each in given.items()
        },
        SEND,
    )


@mutant("NTF-SEND-13", CALL)
def reserved_dropped(original: Any) -> Any:
    """reserved keys of Data are left out"""

    def broken(given: Table) -> Table:
        data = given.get("Data")
        if not isinstance(data, dict):
            return given
        return {**given, "Data": {name: each for name, each in data.items() if not name.startswith("twi")}}

    return parameters(original, broken, SEND)


@mutant("NTF-SEND-13", "labkit.providers.messaging.forms:keys")
def underscore_needed(original: Any) -> Any:
    """keys that begin with twi are allowed where no underscore follows"""

    def broken(value: Any, **named: Any) -> Any:
        return [
            each for each in original(value, **named) if not each.startswith("twi") or each.startswith("twi_")
        ]

    return broken


@mutant("NTF-SEND-14", CALL)
def reserved_at_the_root(original: Any) -> Any:
    """reserved keys at the root of payloads are left out"""

    def broken(given: Table) -> Table:
        return {
            name: {key: value for key, value in each.items() if not key.startswith("twi_")}
            if name in ("Fcm", "Gcm") and isinstance(each, dict)
            else each
            for name, each in given.items()
        }

    return parameters(original, broken, SEND)


@mutant("NTF-SEND-14", "labkit.providers.messaging.forms:keys")
def reserved_in_data(original: Any) -> Any:
    """reserved keys in data of payloads are not seen"""
    return lambda value, **named: []


@mutant("NTF-SEND-16", CALL)
def low_by_default(original: Any) -> Any:
    """Priority is low by default"""
    return parameters(original, lambda given: {"Priority": "low", **given}, SEND)


@mutant("NTF-SEND-16", CALL)
def any_priority(original: Any) -> Any:
    """a Priority that nobody knows is high"""
    return parameters(
        original,
        lambda given: {**given, "Priority": "low" if given.get("Priority") == "low" else "high"},
        SEND,
    )


# ---- how long it lives


@mutant("NTF-TTL-1", CALL)
def longest_cut(original: Any) -> Any:
    """a Ttl that is too long is cut"""

    def broken(given: Table) -> Table:
        ttl = given.get("Ttl")
        return {**given, "Ttl": min(ttl, FOUR_WEEKS)} if type(ttl) is int else given

    return parameters(original, broken, SEND)


@mutant("NTF-TTL-1", CALL)
def a_day_by_default(original: Any) -> Any:
    """Ttl is a day by default"""
    return parameters(original, lambda given: {"Ttl": 86_400, **given}, SEND)


@mutant("NTF-TTL-2", CALL)
def zero_is_the_default(original: Any) -> Any:
    """a Ttl of 0 is taken for none"""
    return parameters(original, lambda given: without(given, "Ttl") if given.get("Ttl") == 0 else given, SEND)


@mutant("NTF-TTL-3", DELIVER)
def never_expires(original: Any) -> Any:
    """what waits never expires"""

    def broken(self: Any, message: Any) -> Any:
        message.expires += FOUR_WEEKS
        return original(self, message)

    return broken


@mutant("NTF-TTL-3", DELIVER)
def never_waits(original: Any) -> Any:
    """nothing waits"""

    def broken(self: Any, message: Any) -> Any:
        message.expires = message.time
        return original(self, message)

    return broken


@mutant("NTF-TTL-3", DELIVER)
def whole_seconds(original: Any) -> Any:
    """what waits expires with a whole second"""

    def broken(self: Any, message: Any) -> Any:
        message.expires = int(message.expires)
        return original(self, message)

    return broken


@mutant("NTF-TTL-4", "labkit.providers.messaging.payloads:compose")
def phones_obey(original: Any) -> Any:
    """SMS and chat messages expire with Ttl"""
    return lambda kind, sent, *rest: replace(original(kind, sent, *rest), ttl=sent.ttl)


@mutant("NTF-TTL-6", "labkit.providers.messaging.payloads:compose")
def own_life_ignored(original: Any) -> Any:
    """time_to_live of Fcm and Gcm counts for nothing"""

    def broken(kind: str, sent: Any, *rest: Any) -> Any:
        made = original(kind, sent, *rest)
        return replace(made, ttl=sent.ttl) if kind in ("fcm", "gcm") else made

    return broken
