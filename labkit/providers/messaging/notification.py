"""Parser and validator of a send request's parameters (document 3, send parameters)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from labkit.providers.messaging.bindings import Selection
from labkit.providers.messaging.errors import ApiError, wrong
from labkit.providers.messaging.forms import TEXT, FormParameters, keys

LONGEST_LIFE = 4 * 7 * 24 * 3600  # seconds: the default and the maximum of ttl
TOO_MANY_RECIPIENTS = 52302
TARGETS = {  # keys of a channel's payload that would change the receiver
    "Fcm": ("to", "registration_ids", "notificationkey", "notification_key", "condition"),
    "Gcm": ("to", "registration_ids", "notificationkey", "notification_key"),
}
SMS: dict[str, tuple[type, ...]] = {  # fields of a message that Sms may set, and their types
    "from": (str,),
    "body": (str,),
    "media_url": (str, list),
    "status_callback": (str,),
    "max_price": (int, float, str),
}
E164 = re.compile(r"\+[1-9][0-9]{1,14}")
PARAMETERS = frozenset(
    "Identity Tag Body Title Sound Action Data Priority Ttl Apn Fcm Gcm Sms ChatMessenger".split()
)
# Parameters of the imitated API that change what is delivered, so that ignoring them would mislead.
UNSUPPORTED = ("ToBinding", "Segment", "DeliveryCallbackUrl", "FacebookMessenger", "Alexa")


@dataclass(frozen=True, slots=True)
class Notification:
    """Validated parameters of a send. ttl: seconds."""

    selection: Selection
    body: str | None
    title: str | None
    sound: str | None
    action: str | None
    priority: str
    ttl: int
    data: dict[str, Any] | None
    apn: dict[str, Any] | None
    fcm: dict[str, Any] | None
    gcm: dict[str, Any] | None
    sms: dict[str, Any] | None
    chat: dict[str, Any] | None


def read(form: FormParameters) -> Notification:
    """Return the notification that a form describes. Raises ApiError 400, naming the invalid parameter."""
    for name in UNSUPPORTED:
        if form.values(name):
            raise wrong(name, f"not supported here, expected some of {', '.join(sorted(PARAMETERS))}")
    selection = Selection(form.several("Identity", TOO_MANY_RECIPIENTS), form.several("Tag"))
    if not selection.identities and not selection.tags:
        raise wrong("Identity or Tag", "one of them is required")
    return Notification(
        selection=selection,
        body=form.text("Body"),
        title=form.text("Title"),
        sound=form.text("Sound"),
        action=form.text("Action"),
        priority=form.one_of("Priority", ("low", "high")) or "high",
        ttl=form.number("Ttl", LONGEST_LIFE, 0, LONGEST_LIFE),
        data=_data(form),
        apn=_apn(form),
        fcm=_cloud(form, "Fcm"),
        gcm=_cloud(form, "Gcm"),
        sms=_sms(form),
        chat=_chat(form),
    )


def _data(form: FormParameters) -> dict[str, Any] | None:
    value = form.object("Data")
    _reserved("Data", keys(value), "twi")
    return value


def _apn(form: FormParameters) -> dict[str, Any] | None:
    value = form.object("Apn")
    if value is not None:
        _reserved("Apn", keys(value, deep=False), "twi_")
        _table("Apn", value, "aps")
    return value


def _cloud(form: FormParameters, name: str) -> dict[str, Any] | None:
    """Return the validated parameter Fcm or Gcm."""
    value = form.object(name)
    if value is None:
        return None
    _table(name, value, "data")
    _reserved(name, [*value, *keys(value.get("data"))], "twi_")
    if target := next((each for each in TARGETS[name] if each in value), None):
        raise wrong(name, f"{target!r} is not allowed: bindings determine the receivers")
    life = value.get("time_to_live")
    if life is not None and (type(life) is not int or not 0 <= life <= LONGEST_LIFE):
        raise wrong(name, f"time_to_live: expected a whole number from 0 to {LONGEST_LIFE}")
    return value


def _sms(form: FormParameters) -> dict[str, Any] | None:
    value = form.object("Sms")
    fields: dict[str, Any] = value or {}
    for name, each in fields.items():
        if name not in SMS:
            raise wrong("Sms", f"expected {', '.join(SMS)}, not {name[:40]!r}")
        if not isinstance(each, SMS[name]) or isinstance(each, bool) or each in ("", []):
            raise wrong("Sms", f"{name}: wrong type")
        if len(str(each)) > TEXT:
            raise wrong("Sms", f"{name}: expected at most {TEXT} characters")
    if value is not None and not all(isinstance(each, str) for each in _listed(value.get("media_url"))):
        raise wrong("Sms", "media_url: expected a URL, or a list of URLs")
    return value


def _chat(form: FormParameters) -> dict[str, Any] | None:
    value = form.object("ChatMessenger")
    if value is not None and not isinstance(value.get("body", ""), str):
        raise wrong("ChatMessenger", "body: expected a text")
    return value


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _table(name: str, value: dict[str, Any], key: str) -> None:
    if not isinstance(value.get(key), dict | None):
        raise wrong(name, f"{key}: expected an object")


def _reserved(name: str, named: Iterable[str], prefix: str) -> None:
    """Raise ApiError 400 if a key begins with a prefix that the provider reserves."""
    found = next((each for each in named if each.startswith(prefix)), None)
    if found is not None:
        raise ApiError(400, f"{name}: the key {found[:40]!r} begins with {prefix!r}, which is reserved")
