"""Faults of what a notification becomes on each channel."""

from __future__ import annotations

from typing import Any

from labkit.conformance.faults import CALL
from labkit.conformance.mutant import mutant
from labkit.conformance.notify.faults import COMPOSE, Table, composed, copied, parameters, without

SEND = "send"
CLOUD, PHONES = ("fcm", "gcm"), ("sms", "chat-messenger")
MERGED = "labkit.providers.messaging.payloads:merged"


# ---- Body, Title, Sound, Action


@mutant("NTF-TEXT-1", COMPOSE)
def body_at_the_root(original: Any) -> Any:
    """for fcm and gcm the body is no data"""

    def broken(kind: str, body: Table) -> Table:
        return {**body, "twi_body": body["data"].pop("twi_body", None)}

    return composed(original, broken, *CLOUD)


@mutant("NTF-TEXT-1", COMPOSE)
def alert_is_text(original: Any) -> Any:
    """for apn the alert is the body itself"""

    def broken(kind: str, body: Table) -> Table:
        body["aps"]["alert"] = body["aps"].get("alert", {}).get("body")
        return body

    return composed(original, broken, "apn")


@mutant("NTF-TEXT-1", COMPOSE)
def body_trimmed(original: Any) -> Any:
    """SMS and chat messages lose the spaces around"""
    return composed(original, lambda kind, body: {**body, "body": str(body.get("body")).strip()}, *PHONES)


@mutant("NTF-TEXT-2", CALL)
def sms_without_body(original: Any) -> Any:
    """an SMS may be empty"""
    return parameters(original, lambda given: {**given, "Body": given.get("Body") or " "}, SEND)


@mutant("NTF-TEXT-2", CALL)
def media_need_body(original: Any) -> Any:
    """an SMS with media needs a body, too"""

    def broken(given: Table) -> Table:
        own = given.get("Sms")
        return {**given, "Sms": without(own, "media_url")} if isinstance(own, dict) else given

    return parameters(original, broken, SEND)


@mutant("NTF-TEXT-3", CALL)
def chat_without_body(original: Any) -> Any:
    """a chat message may be empty"""
    return parameters(
        original,
        lambda given: {**given, "ChatMessenger": {"body": "?", **(given.get("ChatMessenger") or {})}},
        SEND,
    )


@mutant("NTF-TEXT-3", CALL)
def chat_of_its_own(original: Any) -> Any:
    """ChatMessenger is ignored"""
    return parameters(original, lambda given: without(given, "ChatMessenger"), SEND)


@mutant("NTF-TEXT-5", COMPOSE)
def title_everywhere(original: Any) -> Any:
    """SMS and chat messages begin with the title"""

    def broken(kind: str, sent: Any, *rest: Any) -> Any:
        from dataclasses import replace

        payload = original(kind, sent, *rest)
        return replace(payload, body={**payload.body, "title": sent.title}) if kind in PHONES else payload

    return broken


@mutant("NTF-TEXT-5", COMPOSE)
def title_under_its_name(original: Any) -> Any:
    """for fcm and gcm the title is called title"""

    def broken(kind: str, body: Table) -> Table:
        body["data"]["title"] = body["data"].pop("twi_title", None)
        return body

    return composed(original, broken, *CLOUD)


@mutant("NTF-TEXT-6", COMPOSE)
def sound_in_the_alert(original: Any) -> Any:
    """for apn the sound is part of the alert"""

    def broken(kind: str, body: Table) -> Table:
        body["aps"].setdefault("alert", {})["sound"] = body["aps"].pop("sound", None)
        return body

    return composed(original, broken, "apn")


@mutant("NTF-TEXT-6 NTF-TEXT-7", COMPOSE)
def phones_ring(original: Any) -> Any:
    """SMS and chat messages have sound and action"""

    def broken(kind: str, sent: Any, *rest: Any) -> Any:
        from dataclasses import replace

        payload = original(kind, sent, *rest)
        if kind not in PHONES:
            return payload
        return replace(payload, body={**payload.body, "sound": sent.sound, "action": sent.action})

    return broken


@mutant("NTF-TEXT-7", COMPOSE)
def no_category(original: Any) -> Any:
    """for apn the action is called action"""

    def broken(kind: str, body: Table) -> Table:
        body["aps"]["action"] = body["aps"].pop("category", None)
        return body

    return composed(original, broken, "apn")


@mutant("NTF-TEXT-7", COMPOSE)
def no_action(original: Any) -> Any:
    """gcm has no action"""

    def broken(kind: str, body: Table) -> Table:
        body["data"].pop("twi_action", None)
        return body

    return composed(original, broken, "gcm")


# ---- Data, Priority, payloads


@mutant("NTF-DATA-1", COMPOSE)
def data_within_aps(original: Any) -> Any:
    """for apn Data is within aps"""

    def broken(kind: str, body: Table) -> Table:
        return {"aps": {**body.pop("aps", {}), **body}}

    return composed(original, broken, "apn")


@mutant("NTF-DATA-1", COMPOSE)
def data_as_text(original: Any) -> Any:
    """for fcm and gcm values of Data are texts"""

    def broken(kind: str, body: Table) -> Table:
        return {**body, "data": {name: str(each) for name, each in body["data"].items()}}

    return composed(original, broken, *CLOUD)


@mutant("NTF-DATA-1", COMPOSE)
def data_by_phone(original: Any) -> Any:
    """SMS and chat messages have Data"""

    def broken(kind: str, sent: Any, *rest: Any) -> Any:
        from dataclasses import replace

        payload = original(kind, sent, *rest)
        return replace(payload, body={**payload.body, "data": sent.data}) if kind in PHONES else payload

    return broken


@mutant("NTF-DATA-2", COMPOSE)
def always_high(original: Any) -> Any:
    """every notification is urgent"""
    return composed(original, lambda kind, body: {**body, "priority": "high"}, *CLOUD)


@mutant("NTF-DATA-2", COMPOSE)
def apn_unhurried(original: Any) -> Any:
    """apn has priority 5 always"""

    def broken(kind: str, *args: Any) -> Any:
        from dataclasses import replace

        payload = original(kind, *args)
        return (
            replace(payload, headers={**payload.headers, "apns-priority": "5"}) if kind == "apn" else payload
        )

    return broken


@mutant("NTF-DATA-2", COMPOSE)
def phones_hurry(original: Any) -> Any:
    """SMS and chat messages have a priority"""
    return composed(original, lambda kind, body: {**body, "priority": "high"}, *PHONES)


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
    return parameters(
        original,
        lambda given: {**given, "Gcm": given["Fcm"]} if "Fcm" in given and "Gcm" not in given else given,
        SEND,
    )


@mutant("NTF-DATA-6", COMPOSE)
def below_data(original: Any) -> Any:
    """what Fcm and Gcm add goes below data"""

    def broken(kind: str, body: Table) -> Table:
        own = without(body, "data", "priority", "time_to_live")
        return {
            **{name: each for name, each in body.items() if name not in own},
            "data": {**body["data"], **own},
        }

    return composed(original, broken, *CLOUD)


@mutant("NTF-DATA-7", CALL)
def targets_dropped(original: Any) -> Any:
    """keys that name a target are left out"""

    def broken(given: Table) -> Table:
        return {
            name: without(each, "to", "registration_ids", "notificationkey", "condition")
            if name in ("Fcm", "Gcm") and isinstance(each, dict)
            else each
            for name, each in given.items()
        }

    return parameters(original, broken, SEND)


@mutant("NTF-DATA-7", CALL)
def condition_allowed(original: Any) -> Any:
    """Fcm may have a condition"""

    def broken(given: Table) -> Table:
        own = given.get("Fcm")
        return {**given, "Fcm": without(own, "condition")} if isinstance(own, dict) else given

    return parameters(original, broken, SEND)


# ---- SMS


@mutant("NTF-SMS-1", CALL)
def fields_lost(original: Any) -> Any:
    """callback and price are not passed on"""

    def broken(given: Table) -> Table:
        own = given.get("Sms")
        return (
            {**given, "Sms": without(own, "status_callback", "max_price")} if isinstance(own, dict) else given
        )

    return parameters(original, broken, SEND)


@mutant("NTF-SMS-1", COMPOSE)
def generic_body(original: Any) -> Any:
    """Body counts, whatever Sms has"""

    def broken(kind: str, sent: Any, *rest: Any) -> Any:
        from dataclasses import replace

        payload = original(kind, sent, *rest)
        return replace(payload, body={**payload.body, "body": sent.body}) if kind == "sms" else payload

    return broken


@mutant("NTF-SMS-2", CALL)
def service_sends(original: Any) -> Any:
    """from is ignored"""

    def broken(given: Table) -> Table:
        own = given.get("Sms")
        return {**given, "Sms": without(own, "from")} if isinstance(own, dict) else given

    return parameters(original, broken, SEND)


@mutant("NTF-SMS-2", COMPOSE)
def nobody_sends(original: Any) -> Any:
    """the messaging service is not named"""
    return composed(original, lambda kind, body: without(body, "messaging_service_sid"), "sms")


@mutant("NTF-SMS-3", COMPOSE)
def some_sender(original: Any) -> Any:
    """where there is no sender, another service's is taken"""
    return lambda kind, sent, service, second: original(kind, sent, service or f"MG{'0' * 32}", second)
