"""Handsets: messages that reach them and when, offline and online, within limits."""

from __future__ import annotations

import pytest

from labkit import Lab, LabError
from labkit.core.journal import Journal
from labkit.labtime.clock import Clock
from labkit.providers.messaging.handsets import Handsets
from tests.providers.messaging.api import ONE, Api, message

FOUR_WEEKS = 2_419_200


def texts(lab: Lab, address: str = "token-1") -> list[str]:
    return [each.text for each in lab.handsets[address].messages]


def states(lab: Lab, address: str = "token-1") -> list[str]:
    return list(lab.handsets[address].frame()["state"])


def test_a_handset_exists_from_its_first_delivery(one: Api) -> None:
    lab = one.lab
    one.bound()
    assert (len(lab.handsets), "token-1" in lab.handsets, lab.handsets.get("token-2")) == (0, False, None)
    assert lab.handsets["token-1"].messages == []  # a binding refers to it
    assert len(lab.handsets) == 0
    one.sent(Identity="ann", Body="x")
    assert list(lab.handsets) == ["token-1"]
    with pytest.raises(LabError, match="no handset 'token-2', there are: token-1"):
        lab.handsets["token-2"]


def test_offline_and_on_again(one: Api) -> None:
    one.bound()
    handset = one.lab.handsets["token-1"]
    handset.offline()
    one.sent(Identity="ann", Body="first", Ttl=100)
    one.lab.clock.advance(seconds=50)
    one.sent(Identity="ann", Body="second", Ttl=100)
    assert (handset.messages, [each.text for each in handset.waiting]) == ([], ["first", "second"])
    assert not handset.is_online
    one.lab.clock.advance(seconds=49.999)
    handset.online()
    assert texts(one.lab) == ["first", "second"]
    assert handset.waiting == []
    assert handset.messages[0].ended == handset.messages[0].time + 99.999
    one.lab.clock.advance(days=60)  # delivered messages do not expire
    assert states(one.lab) == ["delivered", "delivered"]


def test_a_message_expires_at_its_last_second(one: Api) -> None:
    one.bound()
    handset = one.lab.handsets["token-1"]
    handset.offline()
    one.lab.clock.advance(seconds=0.75)
    one.sent(Identity="ann", Body="x", Ttl=100)
    [message] = handset.waiting
    assert message.expires == message.time + 100
    one.lab.clock.advance(seconds=100)
    assert one.lab.clock.now.timestamp() == message.expires
    [expired] = one.lab.journal.select(kind="delivery")[1:]
    assert (expired.summary, expired.time) == ("fcm expired", message.expires * 1_000_000)
    handset.online()
    assert (handset.messages, states(one.lab)) == ([], ["expired"])


@pytest.mark.parametrize("channel", ["apn", "sms", "chat-messenger"])
def test_four_weeks_at_most(one: Api, channel: str) -> None:
    one.bound(BindingType=channel, Address="+15550001")
    handset = one.lab.handsets["+15550001"]
    handset.offline()
    one.sent(Identity="ann", Body="x", Ttl=FOUR_WEEKS if channel == "apn" else 1)  # no limit for SMS and chat
    one.lab.clock.advance(seconds=FOUR_WEEKS - 0.001)
    assert len(handset.waiting) == 1
    one.lab.clock.advance(seconds=0.001)
    assert (handset.waiting, states(one.lab, "+15550001")) == ([], ["expired"])


def test_one_handset_of_several_accounts_and_channels(one: Api, two: Api) -> None:
    one.bound(BindingType="sms", Address="+15550001")
    one.bound(BindingType="chat-messenger", Address="+15550001")
    two.bound(BindingType="sms", Address="+15550001", Identity="somebody")
    one.sent(Tag="all", Body="of one")
    two.sent(Tag="all", Body="of two")
    messages = one.lab.handsets["+15550001"].messages
    assert [(each.channel, each.text, each.account == ONE["AccountSid"]) for each in messages] == [
        ("sms", "of one", True),
        ("chat-messenger", "of one", True),
        ("sms", "of two", False),
    ]
    assert {each.identity for each in messages} == {"ann", "somebody"}


def test_a_waiting_message_stays_when_its_binding_is_deleted(one: Api) -> None:
    made = one.bound()
    one.lab.handsets["token-1"].offline()
    one.sent(Identity="ann", Body="x")
    one.request("DELETE", made["url"])
    one.lab.handsets["token-1"].online()
    assert texts(one.lab) == ["x"]


def test_a_reset_forgets_handsets_and_their_timers(one: Api) -> None:
    one.bound()
    one.lab.handsets["token-1"].offline()
    one.sent(Identity="ann", Body="x", Ttl=10)
    one.lab.reset()
    assert len(one.lab.handsets) == 0
    one.lab.clock.advance(minutes=1)
    assert one.lab.journal.select(kind="delivery") == []
    one.bound()
    one.sent(Identity="ann", Body="y")
    assert texts(one.lab) == ["y"]  # online again


def test_a_write_can_be_traced_to_a_push(one: Api) -> None:
    one.bound(BindingType="sms", Address="+15550001")
    origin = one.lab.journal.select(kind="request")[0].sequence
    one.session.headers["X-Labkit-Cause"] = str(origin)
    one.lab.handsets["+15550001"].offline()
    sent = one.sent(Identity="ann", Body="x")
    one.lab.handsets["+15550001"].online()
    trace = one.lab.journal.trace(origin)
    assert list(trace["summary"])[1:] == [
        f"POST {one.path('/Notifications')}",
        "sms waiting",
        "sms delivered",
    ]
    assert list(trace["actor"])[1:] == [f"messaging/{ONE['AccountSid']}", *["handset/+15550001"] * 2]
    assert trace["detail"].iloc[-1]["notification"] == sent["sid"]


@pytest.mark.parametrize("cause", ["x", "-1", "1" * 16, "1.5", ""])
def test_an_invalid_cause_is_dropped(one: Api, cause: str) -> None:
    one.session.headers["X-Labkit-Cause"] = cause
    one.bound()
    assert one.lab.journal.select(kind="request")[-1].cause is None


def test_a_forged_cause_forms_no_cycle(one: Api) -> None:
    one.bound()
    for ahead in (1, 2, 10):  # its own record, and records that are still to come
        last = one.lab.journal.select()[-1].sequence
        one.session.headers["X-Labkit-Cause"] = str(last + ahead)
        one.sent(Identity="ann", Body="x")
    for each in one.lab.journal.select():
        assert each.summary in set(one.lab.journal.trace(each)["summary"])


# ---- limits


def small(capacity: int = 4, bytes: int = 1000) -> tuple[Handsets, Journal]:
    clock = Clock(rate=0)
    journal = Journal(clock.micros)
    return Handsets(clock, journal, capacity, bytes), journal


def numbers(handsets: Handsets) -> list[int]:
    return [each.payload["n"] for each in handsets.messages]


async def test_the_oldest_are_dropped_first_and_counted() -> None:
    handsets, _ = small(capacity=4)
    for number in range(7):
        handsets.deliver(message("a" if number < 2 else "b", {"n": number}))
    assert (numbers(handsets), handsets.dropped) == ([3, 4, 5, 6], 3)
    assert ("a" in handsets, handsets.get("b").dropped) == (False, 1)  # no trace of it is left


async def test_large_payloads_are_dropped_earlier() -> None:
    handsets, _ = small(capacity=100, bytes=1000)
    for number in range(5):
        handsets.deliver(message("a", {"n": number}, size=300))
    assert (numbers(handsets), handsets.dropped) == ([2, 3, 4], 2)
    handsets.deliver(message("a", {"n": 5}, size=5000))  # larger than the limit: it is kept alone
    assert numbers(handsets) == [5]
    handsets.deliver(message("a", {"n": 6}, size=1))
    assert numbers(handsets) == [6]


async def test_a_waiting_message_that_is_dropped_is_never_delivered() -> None:
    handsets, journal = small(capacity=2)
    handsets.switch("a", online=False)
    waiting = [message("a", {"n": number}) for number in range(3)]
    for each in waiting:
        handsets.deliver(each)
    assert [each.state for each in waiting] == ["dropped", "waiting", "waiting"]
    assert waiting[0].timer is None
    handsets.switch("a", online=True)
    assert [each.state for each in waiting] == ["dropped", "delivered", "delivered"]
    assert [each.summary for each in journal] == [
        *("fcm waiting", "fcm waiting", "fcm dropped", "fcm waiting"),
        *("fcm delivered", "fcm delivered"),
    ]


async def test_an_offline_handset_stays_until_it_is_back() -> None:
    handsets, _ = small(capacity=1)
    handsets.switch("a", online=False)
    handsets.deliver(message("a", {"n": 0}))
    handsets.deliver(message("b", {"n": 1}))
    assert ("a" in handsets, handsets.get("a").online) == (True, False)


async def test_on_a_running_clock_a_late_timer_delivers_nothing() -> None:
    now = 1000.0
    clock = Clock(rate=0, start=now)
    handsets = Handsets(clock, Journal(clock.micros))
    handsets.switch("a", online=False)
    each = message("a", {"n": 0}, expires=1010)
    handsets.deliver(each)
    clock._lab = 1010.0  # the timer has not fired yet
    handsets.switch("a", online=True)
    assert each.state == "expired"
    clock.close()
