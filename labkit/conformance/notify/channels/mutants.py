"""Faults of what a notification becomes on each channel: what arrives there no row can change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.faults import CALL, given
from labkit.conformance.mutant import mutant
from labkit.conformance.notify.faults import COMPOSE, Table, composed, copied, moved

CLOUD, PHONES = ("fcm", "gcm"), ("sms", "chat-messenger")
MERGED = "labkit.providers.messaging.payloads:merged"


# ---- Body, Title, Sound, Action


@mutant("NTF-TEXT-1", COMPOSE)
def body_at_the_root(original: Any) -> Any:
    """for fcm and gcm the body is no data"""
    return moved(original, CLOUD, "data.twi_body", "twi_body")


@mutant("NTF-TEXT-1", COMPOSE)
def alert_is_text(original: Any) -> Any:
    """for apn the alert is the body itself"""
    return moved(original, ("apn",), "aps.alert.body", "aps.alert")


@mutant("NTF-TEXT-1", COMPOSE)
def body_trimmed(original: Any) -> Any:
    """SMS and chat messages lose the spaces around"""
    return composed(original, PHONES, lambda body, sent: {**body, "body": str(body.get("body")).strip()})


@mutant("NTF-TEXT-5", COMPOSE)
def title_everywhere(original: Any) -> Any:
    """SMS and chat messages have the title"""
    return composed(original, PHONES, lambda body, sent: {**body, "title": sent.title})


@mutant("NTF-TEXT-5", COMPOSE)
def title_under_its_name(original: Any) -> Any:
    """for fcm and gcm the title is called title"""
    return moved(original, CLOUD, "data.twi_title", "data.title")


@mutant("NTF-TEXT-6", COMPOSE)
def sound_in_the_alert(original: Any) -> Any:
    """for apn the sound is part of the alert"""
    return moved(original, ("apn",), "aps.sound", "aps.alert.sound")


@mutant("NTF-TEXT-6 NTF-TEXT-7", COMPOSE)
def phones_ring(original: Any) -> Any:
    """SMS and chat messages have sound and action"""
    return composed(original, PHONES, lambda body, sent: {**body, "sound": sent.sound, "action": sent.action})


@mutant("NTF-TEXT-7", COMPOSE)
def no_category(original: Any) -> Any:
    """for apn the action is called action"""
    return moved(original, ("apn",), "aps.category", "aps.action")


@mutant("NTF-TEXT-7", COMPOSE)
def no_action(original: Any) -> Any:
    """for gcm the action is no data"""
    return moved(original, ("gcm",), "data.twi_action", "action")


# ---- Data, Priority, payloads


@mutant("NTF-DATA-1", COMPOSE)
def data_within_aps(original: Any) -> Any:
    """for apn Data is within aps"""
    return composed(original, ("apn",), lambda body, sent: {"aps": {**body.pop("aps", {}), **body}})


@mutant("NTF-DATA-1", COMPOSE)
def data_as_text(original: Any) -> Any:
    """for fcm and gcm values of Data are texts"""
    return composed(
        original,
        CLOUD,
        lambda body, sent: {**body, "data": {name: str(each) for name, each in body["data"].items()}},
    )


@mutant("NTF-DATA-1", COMPOSE)
def data_by_phone(original: Any) -> Any:
    """SMS and chat messages have Data"""
    return composed(original, PHONES, lambda body, sent: {**body, "data": sent.data})


@mutant("NTF-DATA-2", COMPOSE)
def apn_unhurried(original: Any) -> Any:
    """apn has no priority"""
    return lambda kind, *args: (
        replace(original(kind, *args), headers={}) if kind == "apn" else original(kind, *args)
    )


@mutant("NTF-DATA-2", COMPOSE)
def phones_hurry(original: Any) -> Any:
    """SMS and chat messages have a priority"""
    return composed(original, PHONES, lambda body, sent: {**body, "priority": "high"})


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


@mutant("NTF-SMS-2", COMPOSE)
def nobody_sends(original: Any) -> Any:
    """the messaging service is called otherwise"""
    return moved(original, ("sms",), "messaging_service_sid", "service_sid")


@mutant("NTF-SMS-3", COMPOSE)
def some_sender(original: Any) -> Any:
    """where there is no sender, another service's is taken"""
    return lambda kind, sent, service, second: original(kind, sent, service or f"MG{'0' * 32}", second)
