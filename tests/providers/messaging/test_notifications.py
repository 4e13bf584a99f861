"""Sends over the REST API: accepted and refused parameters, and recipients."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.control.handsets import MessageInfo
from tests.cases import cases
from tests.providers.messaging.api import BARE, ONE, Api, refusal

CHANNELS = ("apn", "fcm", "gcm", "sms", "chat-messenger")
FOUR_WEEKS = 2_419_200
NOW = 1_767_225_600  # start of the virtual clock


def bind_all(api: Api, service: str | None = None, **parameters: Any) -> None:
    """Bind ann on each channel, with the channel's name as address; the one for SMS is +15550001."""
    for each in CHANNELS:
        api.bound(service, BindingType=each, Address="+15550001" if each == "sms" else each, **parameters)


def received(api: Api) -> dict[str, MessageInfo]:
    """Return the only message of each handset, by channel."""
    found = [message for each in api.lab.handsets.values() for message in each.messages]
    assert len({each.channel for each in found}) == len(found)
    return {each.channel: each for each in found}


def test_all_fields_of_a_notification(one: Api) -> None:
    sent = one.sent(Identity=["ann", "bo", "ann"], Tag=["x", "y"], Body="Hello", Data={"k": {"é": [1, None]}})
    assert sent.pop("sid").startswith("NT")
    assert sent == {
        "account_sid": ONE["AccountSid"],
        "service_sid": ONE["ServiceSid"],
        "date_created": "2026-01-01T00:00:00Z",
        "identities": ["ann", "bo"],
        "tags": ["x", "y"],
        "segments": [],
        "priority": "high",
        "ttl": FOUR_WEEKS,
        "title": None,
        "body": "Hello",
        "sound": None,
        "action": None,
        "data": {"k": {"é": [1, None]}},
        "apn": None,
        "fcm": None,
        "gcm": None,
        "sms": None,
        "chat_messenger": None,
    }
    assert len(one.lab.handsets) == 0  # success without any recipient


def test_the_payload_of_each_channel(one: Api) -> None:
    bind_all(one)
    one.sent(
        Identity="ann",
        Body="Body",
        Title="Title",
        Sound="chime",
        Action="OPEN",
        Data={"room": "kitchen", "deep": {"a": 1}},
        Priority="low",
        Ttl=60,
    )
    got = received(one)
    assert got["apn"].payload == {
        "aps": {"alert": {"title": "Title", "body": "Body"}, "sound": "chime", "category": "OPEN"},
        "room": "kitchen",
        "deep": {"a": 1},
    }
    assert got["apn"].headers == {"apns-priority": "5", "apns-expiration": str(NOW + 60)}
    data = {
        "twi_body": "Body",
        "twi_title": "Title",
        "twi_sound": "chime",
        "room": "kitchen",
        "deep": {"a": 1},
    }
    fcm = {"to": "fcm", "data": data, "priority": "normal", "time_to_live": 60}
    assert got["fcm"].payload == fcm
    assert got["gcm"].payload == {**fcm, "to": "gcm", "data": {**data, "twi_action": "OPEN"}}
    sender = {"messaging_service_sid": "MG" + "1" * 32}
    assert got["sms"].payload == {"to": "+15550001", "body": "Body", **sender}
    assert got["chat-messenger"].payload == {"to": "chat-messenger", "body": "Body"}
    assert {each.headers == {} for name, each in got.items() if name != "apn"} == {True}
    shown = {name: (each.title, each.text) for name, each in got.items()}
    assert shown["apn"] == shown["fcm"] == shown["gcm"] == ("Title", "Body")
    assert shown["sms"] == shown["chat-messenger"] == ("", "Body")


@pytest.mark.parametrize(
    ("type", "own", "shown"),
    [
        ("apn", {"Apn": {"aps": {"alert": "all of it"}}}, ("", "all of it")),
        ("fcm", {"Fcm": {"notification": {"title": "its own"}}}, ("its own", "Body")),
    ],
)
def test_a_handset_shows_the_channels_own_payload(
    one: Api, type: str, own: dict[str, Any], shown: tuple[str, str]
) -> None:
    one.bound(BindingType=type, Address="token")
    one.sent(Identity="ann", Body="Body", **own)
    [message] = one.lab.handsets["token"].messages
    assert (message.title, message.text) == shown


@cases(
    ("type", "service", "given", "code"),
    [
        ("sms", None, {}, 21602),
        ("sms", None, {"Sms": {"from": "+15559999"}}, 21602),
        ("chat-messenger", None, {"ChatMessenger": {"body": ""}}, 21602),
        ("sms", BARE, {"Body": "x"}, 21603),
    ],
)
def test_a_missing_field_has_an_error_code(
    two: Api, type: str, service: str | None, given: dict[str, Any], code: int
) -> None:
    two.bound(service, Identity=type, Endpoint=type, BindingType=type, Address="+15550001")
    assert refusal(two.send(service, Identity=type, **given))[:2] == (400, code)


@pytest.fixture
def bound(one: Api) -> Api:
    """A client of an account with a binding on every channel."""
    bind_all(one)
    return one


@cases(
    ("given", "named"),
    [
        ({"Identity": []}, "Identity or Tag: one of them is required"),
        ({"Identity": ["i" * 101]}, "Identity: expected 1 to 100 characters"),
        ({"Tag": [f"t{n}" for n in range(21)]}, "Tag: expected at most 20, not 21"),
        ({"ToBinding": '{"binding_type": "sms", "address": "+15550001"}'}, "ToBinding: not supported here"),
        ({"Segment": "s"}, "Segment: not supported here"),
        ({"DeliveryCallbackUrl": "https://x.example"}, "DeliveryCallbackUrl: not supported here"),
        ({"Priority": "urgent"}, "Priority: expected one of low, high"),
        ({"Priority": "High"}, "Priority: expected one of low, high"),
        ({"Ttl": "-1"}, "Ttl: expected a whole number from 0 to 2419200"),
        ({"Ttl": FOUR_WEEKS + 1}, "Ttl: expected a whole number from 0 to 2419200"),
        ({"Ttl": "1.0"}, "Ttl: expected a whole number"),
        ({"Ttl": "9" * 4000}, "Ttl: expected a whole number"),
        ({"Body": "b" * 4097}, "Body: expected at most 4096"),
        ({"Title": ["a", "b"]}, "Title: expected one value"),
        ({"Data": "{"}, "Data: expected a JSON object"),
        ({"Data": "[]"}, "Data: expected a JSON object"),
        ({"Data": '{"a": NaN}'}, "Data: expected a JSON object"),
        ({"Data": '{"a": 1e999}'}, "Data: expected a JSON object"),
        ({"Data": r'{"a": "\ud800"}'}, "Data: expected a JSON object"),
        ({"Data": '{"a": ' + "1" * 5000 + "}"}, "Data: expected a JSON object"),
        ({"Data": '{"a":' * 21 + "1" + "}" * 21}, "Data: expected at most 20 objects and lists"),
        ({"Data": "[" * 30_000}, "Data: expected at most 20 objects and lists"),
        ({"Data": {"a": "x" * 32_768}}, "Data: expected at most 32768 characters"),
        ({"Data": {"twi": 1}}, "Data: the key 'twi' begins with 'twi', which is reserved"),
        ({"Data": {"twist": 1}}, "Data: the key 'twist' begins"),
        ({"Data": {"a": [{"b": {"twi_x": 1}}]}}, "Data: the key 'twi_x' begins"),
        ({"Apn": {"twi_x": 1}}, "Apn: the key 'twi_x' begins with 'twi_'"),
        ({"Apn": {"aps": "x"}}, "Apn: aps: expected an object"),
        ({"Fcm": {"twi_x": 1}}, "Fcm: the key 'twi_x' begins with 'twi_'"),
        ({"Fcm": {"data": {"twi_body": "mine"}}}, "Fcm: the key 'twi_body' begins"),
        ({"Gcm": {"data": {"a": {"twi_x": 1}}}}, "Gcm: the key 'twi_x' begins"),
        ({"Gcm": {"data": "x"}}, "Gcm: data: expected an object"),
        ({"Fcm": {"to": "x"}}, "Fcm: 'to' is not allowed"),
        ({"Fcm": {"registration_ids": []}}, "Fcm: 'registration_ids' is not allowed"),
        ({"Fcm": {"notificationkey": "x"}}, "Fcm: 'notificationkey' is not allowed"),
        ({"Fcm": {"condition": "x"}}, "Fcm: 'condition' is not allowed"),
        ({"Gcm": {"to": None}}, "Gcm: 'to' is not allowed"),
        ({"Gcm": {"registration_ids": []}}, "Gcm: 'registration_ids' is not allowed"),
        ({"Gcm": {"notificationkey": "x"}}, "Gcm: 'notificationkey' is not allowed"),
        ({"Fcm": {"time_to_live": "60"}}, "Fcm: time_to_live: expected a whole number"),
        ({"Gcm": {"time_to_live": FOUR_WEEKS + 1}}, "Gcm: time_to_live: expected a whole number"),
        ({"Sms": {"to": "+15550002"}}, "Sms: expected from, body, media_url"),
        ({"Sms": {"from": 5}}, "Sms: from"),
        ({"Sms": {"body": ""}}, "Sms: body"),
        ({"Sms": {"media_url": [1]}}, "Sms: media_url: expected a URL"),
        ({"Sms": {"max_price": True}}, "Sms: max_price"),
        ({"ChatMessenger": {"body": 1}}, "ChatMessenger: body: expected a text"),
    ],
)
def test_an_invalid_parameter_is_an_error_and_nothing_is_delivered(
    bound: Api, given: dict[str, Any], named: str
) -> None:
    status, code, message = refusal(bound.send(**{"Identity": "ann", "Body": "x", **given}))
    assert (status, code) == (400, 20001)
    assert message.startswith(named)
    assert len(bound.lab.handsets) == 0


@pytest.mark.parametrize(
    "given",
    [
        {"Data": {"tw": 1, "Twi_x": 1, "atwi": "twi"}},
        {"Fcm": {"twist": 1, "data": {"twi": 1}}, "Gcm": {"condition": "x"}},
        {"Data": '{"a":' * 20 + "1" + "}" * 20},
        {"Data": '{"a": "]]}}[[{{\\"[["}'},
        {"Body": "b" * 4096, "Ttl": "0"},
    ],
)
def test_parameters_at_their_limits_are_accepted(one: Api, given: dict[str, Any]) -> None:
    bind_all(one)
    one.sent(**{"Identity": "ann", "Body": "x", **given})
    assert len(one.lab.handsets) == 5
