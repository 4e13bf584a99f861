"""Bindings over the REST API: refusals, services of an account, a restart and a seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labkit import Lab
from tests.cases import cases
from tests.providers.messaging.api import BARE, MESSAGING, ONE, TWO, Api, refusal


@cases(
    ("given", "code", "named"),
    [
        ({"Identity": ""}, 20001, "Identity: is required"),
        ({"Identity": "i" * 101}, 20001, "Identity: expected at most 100"),
        ({"Identity": ["a", "b"]}, 20001, "Identity: expected one value"),
        ({"BindingType": ""}, 20001, "BindingType: is required"),
        ({"BindingType": "APN"}, 20001, "BindingType: expected one of apn, fcm, gcm, sms, chat-messenger"),
        ({"BindingType": "email"}, 20001, "BindingType: expected one of"),
        ({"Address": ""}, 20001, "Address: is required"),
        ({"Address": "a b"}, 20001, "Address: expected no spaces"),
        ({"Address": "a" * 2049}, 20001, "Address: expected at most 2048"),
        ({"BindingType": "sms", "Address": "15550001"}, 21211, "Address: expected a phone number in E.164"),
        ({"BindingType": "sms", "Address": "+0155500"}, 21211, "Address"),
        ({"BindingType": "sms", "Address": "+1555000١"}, 21211, "Address"),  # an Arabic digit
        ({"BindingType": "sms", "Address": "+1234567890123456"}, 21211, "Address"),
        ({"BindingType": "chat-messenger", "Address": "+12a"}, 21211, "Address"),
        ({"Tag": [f"t{n}" for n in range(21)]}, 20001, "Tag: expected at most 20, not 21"),
        ({"Tag": ["t" * 101]}, 20001, "Tag: expected 1 to 100 characters"),
        ({"Tag": ["a", ""]}, 20001, "Tag: expected 1 to 100 characters"),
        ({"Endpoint": "e" * 101}, 20001, "Endpoint: expected at most 100"),
        ({"CredentialSid": "CR12"}, 20001, "CredentialSid: expected CR and 32 hex digits"),
        ({"NotificationProtocolVersion": "three!"}, 20001, "NotificationProtocolVersion"),
    ],
)
def test_an_invalid_parameter_is_an_error_with_its_name(
    one: Api, given: dict[str, Any], code: int, named: str
) -> None:
    status, found, message = refusal(one.bind(**given))
    assert (status, found) == (400, code)
    assert message.startswith(named)
    assert one.addresses() == []


def test_an_account_sees_only_its_own_services(two: Api) -> None:
    listed = two.request("GET", "/v1/Services").json()
    assert listed["meta"]["key"] == "services"
    assert [each["sid"] for each in listed["services"]] == [TWO["ServiceSid"], BARE]
    service = two.request("GET", two.path(service=BARE)).json()
    assert (service["account_sid"], service["messaging_service_sid"]) == (TWO["AccountSid"], None)
    assert service["apn_credential_sid"] is None
    elsewhere = two.path(service=ONE["ServiceSid"])
    assert refusal(two.request("GET", elsewhere))[:2] == (404, 20404)


@cases(
    "given",
    [{"PageSize": "0"}, {"PageSize": "1001"}, {"PageSize": "x"}, {"Page": "-1"}, {"Page": "1.5"}]
    + [{"PageToken": each} for each in ("x", "PA", "PB-1", "PA1;", "PA" + "9" * 19)],
)
def test_wrong_pages_are_refused(one: Api, given: dict[str, str]) -> None:
    status, code, message = refusal(one.page(**given))
    assert (status, code) == (400, 20001)
    assert message.startswith(next(iter(given)))


def test_bindings_and_the_account_survive_a_restart_and_a_reset_forgets_bindings(tmp_path: Path) -> None:
    data = tmp_path / "lab.db"
    with Lab(seed=7, data=data, providers={"messaging": MESSAGING}) as lab:
        account = lab.messaging.account
        made = Api(lab, tmp_path, account).bound(Tag=["a"])
        Api(lab, tmp_path, ONE).bound(Address="of-one")
    with Lab(seed=8, data=data, providers={"messaging": MESSAGING}) as lab:
        assert lab.messaging.account == account
        always = Api(lab, tmp_path, account)
        assert always.page(Tag="a").json()["bindings"][0]["sid"] == made["sid"]
        assert Api(lab, tmp_path, ONE).addresses() == ["of-one"]
        assert always.bound(Address="other")["sid"] != made["sid"]
        lab.reset()
        assert always.addresses() == []
        assert lab.messaging.account == account
        assert always.bound(Tag=["a"])["tags"] == ["a"]


def test_a_seed_reproduces_the_account() -> None:
    with Lab(seed=7) as first, Lab(seed=7) as again, Lab(seed=8) as other, Lab() as random:
        accounts = [each.messaging.account for each in (first, again, other, random)]
    assert accounts[0] == accounts[1]
    assert len({each["AuthToken"] for each in accounts}) == 3
    for each in accounts:
        assert (each["AccountSid"][:2], each["ServiceSid"][:2]) == ("AC", "IS")
        assert {len(each["AccountSid"]), len(each["ServiceSid"])} == {34}
