"""Sends over the REST API: what is understood, what is refused, whom it reaches."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.control.handsets import Message
from tests.cases import cases
from tests.providers.messaging.api import BARE, ONE, Api, refusal

CHANNELS = ("apn", "fcm", "gcm", "sms", "chat-messenger")
FOUR_WEEKS = 2_419_200
NOW = 1_767_225_600  # where the virtual clock begins


def bind_all(api: Api, service: str | None = None, **parameters: Any) -> None:
    """A binding of ann for each channel, whose address is the channel's name; that of the SMS is +15550001."""
    for each in CHANNELS:
        api.bound(service, BindingType=each, Address="+15550001" if each == "sms" else each, **parameters)


def received(api: Api) -> dict[str, Message]:
    """The one message that each handset got, by channel."""
    found = [message for each in api.lab.handsets.values() for message in each.messages]
    assert len({each.channel for each in found}) == len(found)
    return {each.channel: each for each in found}


def test_a_notification_in_full(one: Api) -> None:
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
    assert len(one.lab.handsets) == 0  # nobody is bound, and still it is a success


def test_what_each_channel_gets(one: Api) -> None:
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
    ("given", "headers", "cloud"),
    [
        ({}, {"apns-priority": "10", "apns-expiration": str(NOW + FOUR_WEEKS)}, ("high", FOUR_WEEKS)),
        ({"Priority": "high", "Ttl": 0}, {"apns-priority": "10", "apns-expiration": "0"}, ("high", 0)),
        ({"Priority": "low", "Ttl": FOUR_WEEKS}, {"apns-priority": "5"}, ("normal", FOUR_WEEKS)),
    ],
)
def test_priority_and_ttl(
    one: Api, given: dict[str, Any], headers: dict[str, str], cloud: tuple[str, int]
) -> None:
    bind_all(one)
    sent = one.sent(Identity="ann", Body="x", **given)
    got = received(one)
    assert got["apn"].headers.items() >= headers.items()
    assert (got["fcm"].payload["priority"], got["fcm"].payload["time_to_live"]) == cloud
    assert (sent["priority"], sent["ttl"]) == (given.get("Priority", "high"), given.get("Ttl", FOUR_WEEKS))


def test_a_notification_of_data_alone(one: Api) -> None:
    for each in ("apn", "fcm", "gcm"):
        one.bound(BindingType=each, Address=each)
    one.sent(Identity="ann", Data={"k": 1, "aps": "mine"})
    got = received(one)
    assert got["apn"].payload == {"k": 1, "aps": {}}  # custom properties are outside of aps
    assert got["fcm"].payload["data"] == got["gcm"].payload["data"] == {"k": 1, "aps": "mine"}


def test_the_payload_of_a_channel_adds_and_overrides_and_never_deletes(one: Api) -> None:
    bind_all(one)
    one.sent(
        Identity="ann",
        Body="Body",
        Title="Title",
        Data={"k": 1, "deep": {"a": 1}},
        Apn={
            "aps": {"alert": {"body": "Apn", "loc": "x"}, "badge": 3, "sound": None},
            "k": 2,
            "deep": {"b": 2},
        },
        Fcm={"data": {"k": 2, "deep": {"b": 2}}, "notification": {"title": "Fcm"}, "priority": "normal"},
        Gcm={"data": None, "collapse_key": "c", "time_to_live": 5},
        Sms={
            "body": "Sms",
            "from": "+15559999",
            "media_url": ["https://example.com/a.png"],
            "max_price": 0.5,
        },
        ChatMessenger={"body": "Chat", "to": "elsewhere", "quick": [1]},
    )
    got = received(one)
    assert got["apn"].payload == {
        "aps": {"alert": {"title": "Title", "body": "Apn", "loc": "x"}, "badge": 3, "sound": None},
        "k": 2,
        "deep": {"a": 1, "b": 2},
    }
    generic = {"twi_body": "Body", "twi_title": "Title"}
    assert got["fcm"].payload == {
        "to": "fcm",
        "data": {**generic, "k": 2, "deep": {"a": 1, "b": 2}},
        "priority": "normal",
        "time_to_live": FOUR_WEEKS,
        "notification": {"title": "Fcm"},
    }
    assert (got["fcm"].title, got["fcm"].text) == ("Fcm", "Body")
    assert got["gcm"].payload == {
        "to": "gcm",
        "data": {**generic, "k": 1, "deep": {"a": 1}},
        "priority": "high",
        "time_to_live": 5,
        "collapse_key": "c",
    }
    assert got["gcm"].expires == NOW + 5
    assert got["sms"].payload == {
        "to": "+15550001",
        "from": "+15559999",  # it overrides the messaging service
        "body": "Sms",
        "media_url": ["https://example.com/a.png"],
        "max_price": 0.5,
    }
    assert got["chat-messenger"].payload == {"to": "chat-messenger", "body": "Chat", "quick": [1]}


def test_an_alert_of_text(one: Api) -> None:
    one.bound(BindingType="apn", Address="apn")
    one.sent(Identity="ann", Body="Body", Apn={"aps": {"alert": "all of it"}})
    [message] = one.lab.handsets["apn"].messages
    assert (message.payload, message.text) == ({"aps": {"alert": "all of it"}}, "all of it")


@pytest.fixture
def bound(one: Api) -> Api:
    """Someone can be reached by every channel."""
    bind_all(one)
    return one


@cases(
    ("given", "named"),
    [
        ({"Identity": []}, "Identity or Tag: one of them is required"),
        ({"Identity": ["i" * 101]}, "Identity: expected 1 to 100 characters"),
        ({"Tag": [f"t{n}" for n in range(21)]}, "Tag: expected at most 20, not 21"),
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
def test_what_is_wrong_is_named_and_nothing_is_delivered(
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
def test_what_is_just_right(one: Api, given: dict[str, Any]) -> None:
    bind_all(one)
    one.sent(**{"Identity": "ann", "Body": "x", **given})
    assert len(one.lab.handsets) == 5


def test_more_than_twenty_identities_are_too_many_recipients(one: Api) -> None:
    one.bound(Identity="i1")
    many = [f"i{n}" for n in range(21)]
    status, code, message = refusal(one.send(Identity=many, Body="x"))
    assert (status, code, message) == (400, 52302, "Identity: expected at most 20, not 21")
    assert len(one.lab.handsets) == 0
    one.sent(Identity=many[:20], Body="x")
    assert list(one.lab.handsets) == ["token-1"]


def test_identity_and_tag_must_both_hold(one: Api) -> None:
    one.bound(Identity="ann", Tag=["x"], Address="1")
    one.bound(Identity="ann", Tag=["y"], Address="2")
    one.bound(Identity="bo", Tag=["x", "y"], Address="3")
    one.sent(Identity=["ann", "bo"], Tag=["x", "fcm", "all"], Body="x")
    assert list(one.lab.handsets) == ["1", "3"]


@pytest.mark.parametrize(
    ("channel", "given", "code"),
    [
        ("sms", {}, 21602),
        ("sms", {"Title": "T", "Data": {"a": 1}}, 21602),
        ("sms", {"Sms": {"from": "+15559999"}}, 21602),
        ("sms", {"Sms": {"media_url": "https://example.com/a"}}, None),
        ("sms", {"Sms": {"body": "b"}}, None),
        ("chat-messenger", {}, 21602),
        ("chat-messenger", {"ChatMessenger": {"body": ""}}, 21602),
        ("chat-messenger", {"ChatMessenger": {"body": "b"}}, None),
        ("fcm", {}, None),
    ],
)
def test_who_needs_a_body(one: Api, channel: str, given: dict[str, Any], code: int | None) -> None:
    one.bound(BindingType=channel, Address="+15550001")
    one.bound(BindingType="apn", Address="apn")
    answer = one.send(Identity="ann", **given)
    if code is None:
        assert answer.status_code == 201
        assert len(one.lab.handsets) == 2
    else:
        assert refusal(answer)[:2] == (400, code)
        assert len(one.lab.handsets) == 0  # not the other channel's, either


def test_a_sender_is_needed_where_there_is_no_messaging_service(two: Api) -> None:
    two.bound(BARE, BindingType="sms", Address="+15550001")
    assert refusal(two.send(BARE, Identity="ann", Body="x"))[:2] == (400, 21603)
    two.sent(BARE, Identity="ann", Body="x", Sms={"from": "+15559999"})
    [message] = two.lab.handsets["+15550001"].messages
    assert message.payload == {"to": "+15550001", "from": "+15559999", "body": "x"}
    two.bound(BARE, BindingType="fcm", Identity="bo")
    assert two.send(BARE, Identity="bo", Body="x").status_code == 201


def test_a_large_send_reaches_everybody_once_and_in_order(one: Api) -> None:
    for number in range(120):  # more than the courier takes in one turn
        one.bound(Identity=f"i{number}", Address=f"t{number}")
    one.sent(Tag="all", Body="first")
    one.sent(Tag="all", Body="second")
    for each in one.lab.handsets.values():
        assert [message.text for message in each.messages] == ["first", "second"]
    assert len(one.lab.handsets) == 120
