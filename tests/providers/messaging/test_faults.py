"""Faults by name: each affects one request or delivery, and the next succeeds."""

from __future__ import annotations

import pytest
import requests

from labkit import Lab, LabError
from tests.providers.messaging.api import MESSAGING, ONE, Api, refusal


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [("credential rejected", 401, 20003), ("rate limited", 429, 20429), ("server error", 503, 20503)],
)
@pytest.mark.parametrize("step", [None, "bindings"])
def test_a_request_is_refused_once(one: Api, fault: str, status: int, code: int, step: str | None) -> None:
    one.lab.messaging.fault(fault, step)
    answer = one.bind()
    assert refusal(answer)[:2] == (status, code)
    assert answer.headers.get("Retry-After") == ("1" if status == 429 else None)
    assert (one.lab.messaging.faults, one.addresses()) == ([], [])
    one.bound()
    assert one.lab.messaging.inbox[0].fault == fault


def test_down_ends_the_connection_without_an_answer(one: Api) -> None:
    one.lab.messaging.fault("Down")
    with pytest.raises(requests.ConnectionError):
        one.bind()
    one.bound()
    assert (one.lab.messaging.inbox[0].status, one.lab.messaging.inbox[0].answer) == (None, "no answer")


def test_malformed_json(one: Api) -> None:
    one.lab.messaging.fault("malformed JSON", "notifications")
    one.bound()
    with pytest.raises(requests.JSONDecodeError):
        one.send(Identity="ann", Body="x").json()
    assert len(one.lab.handsets) == 0
    one.sent(Identity="ann", Body="x")


def test_slow_delays_the_answer_until_the_caller_times_out(tmp_path: object) -> None:
    with Lab(seed=7, guard={"outbound": 0.05}, providers={"messaging": MESSAGING}) as lab:
        api = Api(lab, tmp_path, ONE)
        lab.messaging.fault("slow")
        with pytest.raises(requests.ConnectionError):
            api.bind()
        api.bound()


def test_a_fault_waits_for_its_step(one: Api) -> None:
    one.lab.messaging.fault("server error", "notifications")
    one.lab.messaging.fault("rate limited")
    assert one.lab.messaging.faults == ["server error at notifications", "rate limited at request"]
    assert one.bind().status_code == 429
    one.bound()
    assert one.send(Identity="ann", Body="x").status_code == 503
    assert len(one.lab.handsets) == 0


def test_delivered_twice(one: Api) -> None:
    one.bound(Address="1")
    one.bound(Address="2")
    one.lab.messaging.fault("delivered twice")
    one.sent(Identity="ann", Body="x")
    assert {name: len(each.messages) for name, each in one.lab.handsets.items()} == {"1": 2, "2": 1}
    first, second = one.lab.handsets["1"].messages
    assert first == second
    one.sent(Identity="ann", Body="y")
    assert len(one.lab.handsets["1"].messages) == 3


def test_token_unregistered(one: Api, two: Api) -> None:
    one.bound(Tag="x")
    two.bound()
    one.lab.messaging.fault("token unregistered")
    one.sent(Identity="ann", Body="x")
    [state] = one.lab.handsets["token-1"].frame()["state"]
    assert (state, one.lab.handsets["token-1"].messages) == ("unregistered", [])
    assert (one.addresses(), one.addresses(Tag="x"), two.addresses()) == ([], [], ["token-1"])
    two.sent(Identity="ann", Body="of two")
    assert [each.text for each in one.lab.handsets["token-1"].messages] == ["of two"]


def test_the_credential_of_a_push_channel_is_rejected(one: Api) -> None:
    one.bound(Address="1")
    one.bound(Address="2")
    one.lab.messaging.fault("credential rejected", "delivery")
    one.sent(Identity="ann", Body="x")
    assert list(one.lab.handsets.frame()["state"]) == ["rejected", "delivered"]
    assert one.addresses() == ["2", "1"]


def test_an_unknown_fault_is_an_error_with_the_known_ones(lab: Lab) -> None:
    known = (
        "credential rejected, token unregistered, delivered twice, rate limited, slow, down, malformed JSON"
    )
    with pytest.raises(LabError, match=f"no fault 'deny', there are: {known}"):
        lab.messaging.fault("deny")
    with pytest.raises(LabError, match="'delivered twice' cannot hit 'request', but: delivery"):
        lab.messaging.fault("delivered twice", "request")


def test_a_reset_removes_them(one: Api) -> None:
    one.lab.messaging.fault("server error")
    one.lab.reset()
    assert one.lab.messaging.faults == []
    one.bound()
