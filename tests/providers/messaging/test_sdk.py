"""The provider's public SDK sends and lists."""

from __future__ import annotations

from pathlib import Path

from labkit import Lab
from tests.providers.messaging.sdk import notify


def test_bind_list_send_delete(tmp_path: Path) -> None:
    with Lab(seed=7) as lab:
        service = notify(lab, tmp_path)
        made = service.bindings.create(
            identity="ann", binding_type="sms", address="+15550001", tag=["a", "b"]
        )
        assert (made.identity, made.tags, made.service_sid) == (
            "ann",
            ["a", "b"],
            lab.messaging.account["ServiceSid"],
        )
        service.bindings.create(identity="ann", binding_type="apn", address="token-1", tag=["a"])
        assert [each.sid for each in service.bindings.list(tag=["b"])] == [made.sid]
        assert service.bindings(made.sid).fetch().address == "+15550001"
        sent = service.notifications.create(
            identity=["ann"], tag=["a"], body="Hello", title="Hi", data={"k": 1}
        )
        assert (sent.identities, sent.tags, sent.ttl, sent.priority) == (["ann"], ["a"], 2419200, "high")
        lab.settle()
        assert list(lab.handsets) == ["+15550001", "token-1"]
        [push] = lab.handsets["token-1"].messages
        alert = {"title": "Hi", "body": "Hello"}
        assert (push.payload, push.headers["apns-priority"]) == ({"k": 1, "aps": {"alert": alert}}, "10")
        [text] = lab.handsets["+15550001"].messages
        assert (text.payload["to"], text.payload["body"], text.text) == ("+15550001", "Hello", "Hello")
        service.bindings(made.sid).delete()
        assert [each.identity for each in service.bindings.list(page_size=1)] == ["ann"]
