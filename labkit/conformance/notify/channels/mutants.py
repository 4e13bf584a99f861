"""Code mutants of the payloads of channels; a fault row cannot change what arrives there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import replace
from typing import Any

from labkit.conformance.breaking import Change, change_arguments
from labkit.conformance.mutant import Patch, patch

COMPOSE = "labkit.providers.messaging.payloads:compose"
MERGED = "labkit.providers.messaging.payloads:merged"
APN, CLOUD, PHONES = ("apn",), ("fcm", "gcm"), ("sms", "chat-messenger")

Table = dict[str, Any]


def changed_payload(kinds: Iterable[str], change: Callable[[Table, Any], Table]) -> Change:
    """Change the payload of some channels: change(a copy of the payload, the notification)."""

    def broken(original: Any, channel: str, sent: Any, *of: Any) -> Any:
        payload = original(channel, sent, *of)
        return replace(payload, body=change(deepcopy(payload.body), sent)) if channel in kinds else payload

    return broken


def adds_fields(
    requirements: str, title: str, kinds: Iterable[str], change: Callable[[Table, Any], Table]
) -> Patch:
    """Return a mutant that adds fields to the payload of some channels: change(payload, the notification)."""
    change_all = changed_payload(kinds, lambda body, sent: {**body, **change(body, sent)})
    return patch(requirements, COMPOSE, title)(change_all)


def moves_field(requirement: str, title: str, kinds: Iterable[str], old: str, new: str) -> Patch:
    """Return a mutant that moves a field in the payload of some channels. old, new: dotted paths."""

    def moved(body: Table, sent: Any) -> Table:
        value = _within(body, old).pop(old.rpartition(".")[2], None)
        _within(body, new)[new.rpartition(".")[2]] = value
        return body

    return patch(requirement, COMPOSE, title)(changed_payload(kinds, moved))


def _within(table: Table, path: str) -> Table:
    """Return the object that contains a field; create missing objects."""
    for name in path.split(".")[:-1]:
        table = table.setdefault(name, {})
    return table


# ---- Body, Title, Sound, Action

body_at_the_root = moves_field(
    "NTF-TEXT-1", "fcm and gcm have no body in data", CLOUD, "data.twi_body", "twi_body"
)
alert_is_text = moves_field("NTF-TEXT-1", "apn has the body as its alert", APN, "aps.alert.body", "aps.alert")
body_trimmed = adds_fields(
    "NTF-TEXT-1", "SMS and chat lose spaces around", PHONES, lambda body, sent: {"body": sent.body.strip()}
)
title_everywhere = adds_fields(
    "NTF-TEXT-5", "SMS and chat have the title", PHONES, lambda body, sent: {"title": sent.title}
)
title_by_name = moves_field("NTF-TEXT-5", "fcm and gcm call it title", CLOUD, "data.twi_title", "data.title")
sound_in_alert = moves_field(
    "NTF-TEXT-6", "apn has the sound in its alert", APN, "aps.sound", "aps.alert.sound"
)
phones_ring = adds_fields(
    "NTF-TEXT-6 NTF-TEXT-7",
    "SMS and chat messages have sound and action",
    PHONES,
    lambda body, sent: {"sound": sent.sound, "action": sent.action},
)
no_category = moves_field("NTF-TEXT-7", "apn calls the category action", APN, "aps.category", "aps.action")
no_action = moves_field("NTF-TEXT-7", "gcm has the action beside data", ("gcm",), "data.twi_action", "action")

# ---- Data, Priority, payloads

data_by_phone = adds_fields(
    "NTF-DATA-1", "SMS and chat have Data", PHONES, lambda body, sent: {"data": sent.data}
)
data_as_text = adds_fields(
    "NTF-DATA-1",
    "for fcm and gcm values of Data are texts",
    CLOUD,
    lambda body, sent: {"data": {name: str(each) for name, each in body["data"].items()}},
)
data_within_aps = patch("NTF-DATA-1", COMPOSE, "for apn Data is within aps")(
    changed_payload(APN, lambda body, sent: {"aps": {**body.pop("aps", {}), **body}})
)
phones_hurry = adds_fields(
    "NTF-DATA-2", "SMS and chat have a priority", PHONES, lambda body, sent: {"priority": "high"}
)
apn_unhurried = patch("NTF-DATA-2", COMPOSE, "apn has no priority")(
    lambda original, kind, *of: replace(
        (made := original(kind, *of)), headers={} if kind == "apn" else made.headers
    )
)
generic_wins = patch("NTF-DATA-4", MERGED, "a channel's payload does not override the generic one")(
    lambda original, generic, own: original(own or {}, generic)
)
nothing_added = patch("NTF-DATA-4 NTF-DATA-6", MERGED, "channels' own payloads are ignored")(
    lambda original, generic, own: deepcopy(dict(generic))
)
one_for_both = patch("NTF-DATA-4", COMPOSE, "Fcm counts for gcm, too")(
    change_arguments(sent=lambda sent: replace(sent, gcm=sent.gcm or sent.fcm))
)
whole_objects = patch("NTF-DATA-5", MERGED, "an object of a channel's payload replaces the generic one")(
    lambda original, generic, own: {**generic, **(own or {})}
)
own_alone = patch("NTF-DATA-5", MERGED, "a channel's payload replaces the generic one")(
    lambda original, generic, own: dict(own or generic)
)


def _below(body: Table, sent: Any) -> Table:
    generic: Table = {name: body.pop(name) for name in ("priority", "time_to_live") if name in body}
    return {**generic, "data": {**body.pop("data"), **body}}


below_data = patch("NTF-DATA-6", COMPOSE, "fields of Fcm and Gcm are put into data")(
    changed_payload(CLOUD, _below)
)

# ---- SMS

nobody_sends = moves_field(
    "NTF-SMS-2", "no messaging service is named", ("sms",), "messaging_service_sid", "service_sid"
)
some_sender = patch("NTF-SMS-3", COMPOSE, "a service without a sender uses another service's")(
    change_arguments(messaging_service=lambda service: service or f"MG{'0' * 32}")
)
