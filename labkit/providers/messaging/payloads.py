"""Payloads and headers of a notification for its channels (document 3, send parameters).

A channel's own payload adds to the generic payload or overrides it, in nested objects too. It deletes nothing: null
overrides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from labkit.providers.messaging.errors import ApiError
from labkit.providers.messaging.notification import LONGEST_LIFE, Notification

NO_BODY, NO_SENDER = 21602, 21603


@dataclass(frozen=True)
class Payload:
    """Payload for all bindings of one channel. ttl: seconds that it may wait; target: key that takes the address."""

    body: Mapping[str, Any]
    headers: Mapping[str, str]
    ttl: int
    target: str | None = None

    @cached_property
    def size(self) -> int:
        """Characters of the body as JSON, without the address."""
        return len(json.dumps(self.body))

    def to(self, address: str) -> Mapping[str, Any]:
        """Return the body for one address."""
        return self.body if self.target is None else {self.target: address, **self.body}


def compose(channel: str, sent: Notification, messaging_service: str | None, second: int) -> Payload:
    """Return the payload for a channel. messaging_service: sid of the service's SMS sender; second: Unix, of the send.

    Raises ApiError 400 if a message has no body or no sender.
    """
    if channel == "sms":
        return _sms(sent, messaging_service)
    return COMPOSERS[channel](sent, second)


def _apn(sent: Notification, second: int) -> Payload:
    alert = _given(title=sent.title, body=sent.body)
    aps = _given(alert=alert or None, sound=sent.sound, category=sent.action)
    body = merged({**(sent.data or {}), "aps": aps}, sent.apn)
    expiration = second + sent.ttl if sent.ttl else 0
    headers = {
        "apns-priority": "5" if sent.priority == "low" else "10",
        "apns-expiration": str(expiration),
    }
    return Payload(body, headers, sent.ttl)


def _fcm(sent: Notification, second: int) -> Payload:
    return _cloud(sent, sent.fcm, None)


def _gcm(sent: Notification, second: int) -> Payload:
    return _cloud(sent, sent.gcm, sent.action)


def _cloud(sent: Notification, own: Mapping[str, Any] | None, action: str | None) -> Payload:
    data = _given(twi_body=sent.body, twi_title=sent.title, twi_sound=sent.sound, twi_action=action)
    generic = {
        "data": {**data, **(sent.data or {})},
        "priority": "normal" if sent.priority == "low" else "high",
        "time_to_live": sent.ttl,
    }
    body = merged(generic, own)
    return Payload(body, {}, body["time_to_live"], target="to")


def _sms(sent: Notification, messaging_service: str | None) -> Payload:
    own = dict(sent.sms or {})
    if sent.body is None and "body" not in own and "media_url" not in own:
        raise ApiError(400, "Body: is required for SMS, unless Sms has body or media_url", NO_BODY)
    if "from" not in own and messaging_service is None:
        raise ApiError(400, "Sms: from is required where the service has no messaging service", NO_SENDER)
    sender = {} if "from" in own else {"messaging_service_sid": messaging_service}
    return Payload({**sender, **_given(body=sent.body), **own}, {}, LONGEST_LIFE, target="to")


def _chat(sent: Notification, second: int) -> Payload:
    own = {name: value for name, value in (sent.chat or {}).items() if name != "to"}
    body = merged(_given(body=sent.body), own)
    if not body.get("body"):
        raise ApiError(400, "Body: is required for chat-messenger, unless ChatMessenger has body", NO_BODY)
    return Payload(body, {}, LONGEST_LIFE, target="to")


COMPOSERS: Mapping[str, Callable[[Notification, int], Payload]] = {
    "apn": _apn,
    "fcm": _fcm,
    "gcm": _gcm,
    "chat-messenger": _chat,
}


def merged(generic: Mapping[str, Any], own: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return `generic` with the additions and overrides of `own`, recursively. A null adds, but never overrides."""
    result = dict(generic)
    for name, value in (own or {}).items():
        there = result.get(name)
        if isinstance(there, Mapping) and isinstance(value, Mapping):
            result[name] = merged(there, value)
        elif value is not None or name not in result:
            result[name] = value
    return result


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def shown(channel: str, payload: Mapping[str, Any]) -> tuple[str, str]:
    """Return the title and the text that a handset displays for a payload; empty if there is none."""
    if channel == "apn":
        alert = payload.get("aps", {}).get("alert")
        found = (alert.get("title"), alert.get("body")) if isinstance(alert, Mapping) else (None, alert)
    elif channel in ("fcm", "gcm"):
        own = payload.get("notification")
        own = own if isinstance(own, Mapping) else {}
        data = payload["data"]
        found = (own.get("title", data.get("twi_title")), own.get("body", data.get("twi_body")))
    else:
        found = (None, payload.get("body"))
    title, text = (each if isinstance(each, str) else "" for each in found)
    return title, text
