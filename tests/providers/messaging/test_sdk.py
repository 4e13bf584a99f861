"""The provider's public SDK at a lab: bindings, sends and lists."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from twilio.base.exceptions import TwilioRestException

from labkit import Lab
from tests.providers.messaging.api import ONE, TWO
from tests.providers.messaging.sdk import notify


@pytest.fixture
def service(lab: Lab, tmp_path: Path) -> Any:
    return notify(lab, tmp_path, ONE)


def test_bindings(lab: Lab, service: Any) -> None:
    made = service.bindings.create(identity="ann", binding_type="sms", address="+15550001", tag=["a", "b"])
    assert (made.identity, made.tags, made.service_sid) == ("ann", ["a", "b"], ONE["ServiceSid"])
    assert made.date_created == made.date_updated == datetime(2026, 1, 1, tzinfo=UTC)
    assert (made.credential_sid, made.notification_protocol_version) == (None, None)
    push = service.bindings.create(
        identity="ann",
        binding_type="apn",
        address="token",
        endpoint="e",
        credential_sid="CR" + "a" * 32,
        notification_protocol_version="3",
    )
    assert (push.credential_sid, push.endpoint, push.links["user"][-10:]) == (
        "CR" + "a" * 32,
        "e",
        "/Users/ann",
    )
    assert [each.sid for each in service.bindings.list(tag=["b", "a"], identity=["ann"])] == [made.sid]
    assert service.bindings(made.sid).fetch().address == "+15550001"
    assert service.bindings(made.sid).delete() is True
    with pytest.raises(TwilioRestException) as raised:
        service.bindings(made.sid).fetch()
    assert (raised.value.status, raised.value.code) == (404, 20404)


def test_it_follows_the_pages_of_a_list(service: Any) -> None:
    for number in range(7):
        service.bindings.create(
            identity=f"i{number}", binding_type="fcm", address=f"t{number}", tag=["a b&c"]
        )
    expected = [f"t{number}" for number in range(6, -1, -1)]
    assert [each.address for each in service.bindings.list(page_size=3)] == expected
    assert [each.address for each in service.bindings.list(tag=["a b&c"], limit=4, page_size=2)] == expected[
        :4
    ]
    streamed: Iterator[Any] = service.bindings.stream(
        start_date=date(2026, 1, 1), end_date=date(2026, 1, 1), page_size=2
    )
    assert [each.address for each in streamed] == expected
    page = service.bindings.page(page_size=5)
    after = page.next_page()
    assert ([each.address for each in after], after.next_page_url) == (expected[5:], None)
    assert [each.address for each in after.previous_page()] == expected[:5]


def test_notifications(lab: Lab, service: Any) -> None:
    service.bindings.create(identity="ann", binding_type="apn", address="token")
    sent = service.notifications.create(
        identity=["ann"],
        tag=["apn"],
        body="Hello",
        title="Hi",
        sound="chime",
        action="OPEN",
        data={"k": {"deep": 1}},
        apn={"aps": {"badge": 2}},
        priority="low",
        ttl=60,
    )
    assert (sent.identities, sent.tags, sent.segments) == (["ann"], ["apn"], [])
    assert (sent.ttl, sent.priority, sent.data, sent.apn) == (
        60,
        "low",
        {"k": {"deep": 1}},
        {"aps": {"badge": 2}},
    )
    assert sent.date_created == datetime(2026, 1, 1, tzinfo=UTC)
    lab.settle()
    [message] = lab.handsets["token"].messages
    assert message.payload == {
        "k": {"deep": 1},
        "aps": {"alert": {"title": "Hi", "body": "Hello"}, "sound": "chime", "category": "OPEN", "badge": 2},
    }
    assert (message.notification, message.headers["apns-priority"]) == (sent.sid, "5")
    with pytest.raises(TwilioRestException) as raised:
        service.notifications.create(identity=[f"i{n}" for n in range(21)], body="x")
    assert (raised.value.status, raised.value.code) == (400, 52302)


def test_the_service(service: Any) -> None:
    found = service.fetch()
    assert (found.account_sid, found.messaging_service_sid) == (ONE["AccountSid"], "MG" + "1" * 32)
    assert (found.apn_credential_sid, found.gcm_credential_sid) == ("CR0" + "1" * 31, None)
    assert found.default_apn_notification_protocol_version == "3"


def test_a_wrong_token(lab: Lab, tmp_path: Path) -> None:
    wrong = notify(lab, tmp_path, {**ONE, "AuthToken": TWO["AuthToken"]})
    with pytest.raises(TwilioRestException) as raised:
        wrong.notifications.create(identity=["ann"], body="x")
    assert (raised.value.status, raised.value.code) == (401, 20003)


def test_the_account_that_always_exists(lab: Lab, tmp_path: Path) -> None:
    service = notify(lab, tmp_path)
    service.bindings.create(identity="ann", binding_type="gcm", address="token", tag=["x"])
    service.notifications.create(tag=["x"], body="Hello")
    lab.settle()
    assert [each.text for each in lab.handsets["token"].messages] == ["Hello"]
    assert service.fetch().messaging_service_sid[:2] == "MG"
