"""Faults of what a notification becomes on each channel: what arrives there no row can change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from labkit.conformance.breaking import CALL, given
from labkit.conformance.mutant import Patch, mutant, patch
from labkit.conformance.notify.breaking import COMPOSE, Table, composed, copied, moved

APN, CLOUD, PHONES = ("apn",), ("fcm", "gcm"), ("sms", "chat-messenger")
MERGED = "labkit.providers.messaging.payloads:merged"


def moves(requirement: str, title: str, kinds: Iterable[str], old: str, new: str) -> Patch:
    """A field of the payload of channels is elsewhere."""
    return patch(requirement, COMPOSE, title, lambda original: moved(original, kinds, old, new))


def puts(requirements: str, title: str, kinds: Iterable[str], change: Callable[[Table, Any], Table]) -> Patch:
    """The payload of channels has other fields, too: change(payload, what was sent)."""
    return patch(
        requirements,
        COMPOSE,
        title,
        lambda original: composed(original, kinds, lambda body, sent: {**body, **change(body, sent)}),
    )


# ---- Body, Title, Sound, Action

body_at_the_root = moves("NTF-TEXT-1", "fcm and gcm have no body in data", CLOUD, "data.twi_body", "twi_body")
alert_is_text = moves("NTF-TEXT-1", "apn has the body as its alert", APN, "aps.alert.body", "aps.alert")
body_trimmed = puts(
    "NTF-TEXT-1",
    "SMS and chat lose spaces around",
    PHONES,
    lambda body, sent: {"body": str(body.get("body")).strip()},
)
title_everywhere = puts(
    "NTF-TEXT-5", "SMS and chat have the title", PHONES, lambda body, sent: {"title": sent.title}
)
title_by_name = moves("NTF-TEXT-5", "fcm and gcm call it title", CLOUD, "data.twi_title", "data.title")
sound_in_alert = moves("NTF-TEXT-6", "apn has the sound in its alert", APN, "aps.sound", "aps.alert.sound")
phones_ring = puts(
    "NTF-TEXT-6 NTF-TEXT-7",
    "SMS and chat messages have sound and action",
    PHONES,
    lambda body, sent: {"sound": sent.sound, "action": sent.action},
)
no_category = moves("NTF-TEXT-7", "apn calls the category action", APN, "aps.category", "aps.action")
no_action = moves("NTF-TEXT-7", "gcm has the action beside data", ("gcm",), "data.twi_action", "action")

# ---- Data, Priority, payloads

data_by_phone = puts("NTF-DATA-1", "SMS and chat have Data", PHONES, lambda body, sent: {"data": sent.data})
phones_hurry = puts(
    "NTF-DATA-2", "SMS and chat have a priority", PHONES, lambda body, sent: {"priority": "high"}
)
data_as_text = puts(
    "NTF-DATA-1",
    "for fcm and gcm values of Data are texts",
    CLOUD,
    lambda body, sent: {"data": {name: str(each) for name, each in body["data"].items()}},
)


@mutant("NTF-DATA-1", COMPOSE)
def data_within_aps(original: Any) -> Any:
    """for apn Data is within aps"""
    return composed(original, APN, lambda body, sent: {"aps": {**body.pop("aps", {}), **body}})


@mutant("NTF-DATA-2", COMPOSE)
def apn_unhurried(original: Any) -> Any:
    """apn has no priority"""
    return lambda kind, *args: (
        replace(original(kind, *args), headers={}) if kind == "apn" else original(kind, *args)
    )


@mutant("NTF-DATA-4", MERGED)
def generic_wins(original: Any) -> Any:
    """what the generic payload has is not overridden"""
    return lambda generic, own: original(own or {}, generic)


@mutant("NTF-DATA-4 NTF-DATA-6", MERGED)
def nothing_added(original: Any) -> Any:
    """channels' own payloads are ignored"""
    return lambda generic, own: copied(dict(generic))


@mutant("NTF-DATA-5", MERGED)
def whole_objects(original: Any) -> Any:
    """an object of a channel's payload takes the place of the generic one"""
    return lambda generic, own: {**generic, **(own or {})}


@mutant("NTF-DATA-5", MERGED)
def instead(original: Any) -> Any:
    """a channel's payload takes the place of the generic one"""
    return lambda generic, own: dict(own or generic)


@mutant("NTF-DATA-4", CALL)
def one_for_both(original: Any) -> Any:
    """Fcm counts for gcm, too"""
    return given(original, "Notify", lambda _, sent: {"Gcm": sent["Fcm"], **sent} if "Fcm" in sent else sent)


@mutant("NTF-DATA-6", COMPOSE)
def below_data(original: Any) -> Any:
    """what Fcm and Gcm add goes below data"""

    def change(body: Table, sent: Any) -> Table:
        generic: Table = {name: body.pop(name) for name in ("priority", "time_to_live") if name in body}
        return {**generic, "data": {**body.pop("data"), **body}}

    return composed(original, CLOUD, change)


# ---- SMS


nobody_sends = moves(
    "NTF-SMS-2", "no messaging service is named", ("sms",), "messaging_service_sid", "service_sid"
)


@mutant("NTF-SMS-3", COMPOSE)
def some_sender(original: Any) -> Any:
    """where there is no sender, another service's is taken"""
    return lambda kind, sent, service, second: original(kind, sent, service or f"MG{'0' * 32}", second)
