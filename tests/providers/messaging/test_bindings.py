"""Bindings over the REST API: what they are, who sees them, how they are listed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labkit import Lab
from tests.cases import cases
from tests.providers.messaging.api import BARE, MESSAGING, ONE, TWO, Api, refusal

START = "2026-01-01T00:00:00Z"


def test_a_binding_in_full(one: Api) -> None:
    made = one.bound(
        Identity="ann/é",
        Endpoint="e-1",
        BindingType="apn",
        Address="a" * 64,
        Tag=["b", "a", "all", "sms", "b"],
    )
    service = one.lab.messaging.url(one.path())
    assert made["sid"][:2] == "BS"
    assert len(made["sid"]) == 34
    assert made == {
        "sid": made["sid"],
        "account_sid": ONE["AccountSid"],
        "service_sid": ONE["ServiceSid"],
        "credential_sid": "CR0" + "1" * 31,
        "date_created": START,
        "date_updated": START,
        "notification_protocol_version": "3",
        "endpoint": "e-1",
        "identity": "ann/é",
        "binding_type": "apn",
        "address": "a" * 64,
        "tags": ["b", "a"],  # implicit ones make no difference
        "url": f"{service}/Bindings/{made['sid']}",
        "links": {"user": f"{service}/Users/ann%2F%C3%A9"},
    }
    assert one.request("GET", made["url"]).json() == made
    assert one.page().json()["bindings"] == [made]


@cases(
    ("type", "given", "credential", "protocol"),
    [
        ("fcm", {}, "CR1" + "1" * 31, "3"),
        ("gcm", {}, None, "3"),  # this service has no such credential
        ("gcm", {"CredentialSid": "CR" + "a" * 32}, "CR" + "a" * 32, "3"),
        ("fcm", {"CredentialSid": "CR" + "a" * 32, "NotificationProtocolVersion": "2"}, "CR" + "a" * 32, "2"),
        ("sms", {"CredentialSid": "CR" + "a" * 32, "NotificationProtocolVersion": "2"}, None, None),
        ("chat-messenger", {"CredentialSid": "no sid"}, None, None),
    ],
)
def test_credential_and_protocol(
    one: Api, type: str, given: dict[str, str], credential: str | None, protocol: str | None
) -> None:
    made = one.bound(BindingType=type, Address="+15550001", **given)
    assert (made["credential_sid"], made["notification_protocol_version"]) == (credential, protocol)


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
        ({"BindingType": "sms", "Address": "+1555000١"}, 21211, "Address"),  # a digit, but of Arabic
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
def test_what_is_wrong_is_named(one: Api, given: dict[str, Any], code: int, named: str) -> None:
    status, found, message = refusal(one.bind(**given))
    assert (status, found) == (400, code)
    assert message.startswith(named)
    assert one.addresses() == []


@cases(
    ("type", "address"),
    [
        ("sms", "+12"),
        ("sms", "+123456789012345"),
        ("chat-messenger", "messenger:42"),
        ("chat-messenger", "+15550001"),
        ("apn", "é" * 2048),
    ],
)
def test_addresses_at_their_bounds(one: Api, type: str, address: str) -> None:
    assert one.bound(BindingType=type, Address=address)["address"] == address


def test_the_same_endpoint_replaces(one: Api, two: Api) -> None:
    first = one.bound(Endpoint="e", Tag="old", Identity="ann")
    other = two.bound(Endpoint="e")
    second = one.bound(Endpoint="e", Tag="new", Identity="bo", Address="token-2")
    assert second["sid"] != first["sid"]
    assert one.request("GET", first["url"]).status_code == 404
    assert [each["sid"] for each in one.page().json()["bindings"]] == [second["sid"]]
    assert one.addresses(Tag="old") == []
    assert two.request("GET", other["url"]).status_code == 200


def test_without_an_endpoint_nothing_is_replaced(one: Api) -> None:
    made = [one.bound() for _ in range(3)]
    assert [each["endpoint"] for each in made] == [each["sid"] for each in made]
    assert len(one.addresses()) == 3


def test_an_identity_has_twenty_bindings_at_most_in_a_service(one: Api, two: Api) -> None:
    for number in range(20):
        one.bound(Address=f"t{number}", Endpoint=f"e{number}")
    status, code, message = refusal(one.bind(Address="t20", Endpoint="e20"))
    assert (status, code) == (400, 20001)
    assert message.startswith("Identity: this one has 20 bindings already")
    one.bound(Address="again", Endpoint="e3")  # takes the room of the one that it replaces
    one.bound(Address="x", Identity="Ann")  # another one: case counts
    two.bound(Address="y")
    assert len(one.addresses()) == 21


def test_delete(one: Api) -> None:
    made = one.bound(Tag="a")
    answer = one.request("DELETE", made["url"])
    assert (answer.status_code, answer.content) == (204, b"")
    for method in ("DELETE", "GET"):
        assert refusal(one.request(method, made["url"]))[:2] == (404, 20404)
    assert one.addresses(Tag="a") == []


def test_accounts_do_not_see_each_other(one: Api, two: Api) -> None:
    mine = one.bound(Identity="ann", Tag="a", Address="of-one")
    two.bound(Identity="ann", Tag="a", Address="of-two")
    assert two.addresses(Tag="a") == ["of-two"]
    for method in ("GET", "DELETE"):
        assert refusal(two.request(method, mine["url"]))[:2] == (404, 20404)
        elsewhere = two.path(f"/Bindings/{mine['sid']}")  # the right sid in a service of one's own
        assert refusal(two.request(method, elsewhere))[:2] == (404, 20404)
    for path in (one.path(), one.path("/Bindings")):
        assert refusal(two.request("GET", path))[:2] == (404, 20404)
    assert refusal(two.bind(ONE["ServiceSid"]))[:2] == (404, 20404)
    assert refusal(two.send(ONE["ServiceSid"], Identity="ann", Body="x"))[:2] == (404, 20404)
    two.sent(Identity="ann", Body="x")
    assert list(one.lab.handsets) == ["of-two"]
    assert one.addresses() == ["of-one"]


def test_services_of_one_account_are_apart(two: Api) -> None:
    two.bound(Address="here")
    two.bound(BARE, Address="there")
    assert (two.addresses(), two.addresses(BARE)) == (["here"], ["there"])
    listed = two.request("GET", "/v1/Services").json()
    assert listed["meta"]["key"] == "services"
    assert [each["sid"] for each in listed["services"]] == [TWO["ServiceSid"], BARE]
    service = two.request("GET", two.path(service=BARE)).json()
    assert (service["account_sid"], service["messaging_service_sid"]) == (TWO["AccountSid"], None)
    assert service["apn_credential_sid"] is None


def test_the_list_is_filtered(one: Api) -> None:
    for identity, type, address, tags in (
        ("ann", "fcm", "1", ["x", "y"]),
        ("ann", "sms", "+12", ["x"]),
        ("bo", "apn", "3", ["y", "X"]),
        ("Bo", "gcm", "4", []),
    ):
        one.bound(Identity=identity, BindingType=type, Address=address, Tag=tags)
    assert one.addresses() == ["4", "3", "+12", "1"]  # newest first
    assert one.addresses(Identity="ann") == ["+12", "1"]
    assert one.addresses(Identity=["ann", "bo", "nobody"]) == ["3", "+12", "1"]
    assert one.addresses(Tag="x") == ["+12", "1"]
    assert one.addresses(Tag=["x", "y"]) == ["1"]
    assert one.addresses(Tag=["y", "x", "all", "fcm"]) == ["1"]
    assert one.addresses(Tag="sms") == ["+12"]
    assert one.addresses(Tag=["sms", "fcm"]) == []
    assert one.addresses(Tag="all") == one.addresses()
    assert one.addresses(Tag="y", Identity="ann") == ["1"]
    assert one.addresses(Tag="nobody") == []
    assert refusal(one.page(Tag=[f"t{n}" for n in range(21)]))[:2] == (400, 20001)
    assert one.addresses(Tag=[f"t{n}" for n in range(20)]) == []


def test_an_explicit_tag_like_an_implicit_one_matches_nothing(one: Api) -> None:
    one.bound(BindingType="sms", Address="+12", Tag=["apn", "all"])
    assert one.addresses(Tag="apn") == []
    assert one.addresses(Tag="sms") == ["+12"]


def test_days_are_inclusive_and_utc(one: Api) -> None:
    one.bound(Address="jan-1-first")
    one.lab.clock.advance(seconds=86_399.999)
    one.bound(Address="jan-1-last")
    one.lab.clock.advance(seconds=0.001)
    one.bound(Address="jan-2-first")
    first = ["jan-1-last", "jan-1-first"]
    assert one.addresses(StartDate="2026-01-01", EndDate="2026-01-01") == first
    assert one.addresses(EndDate="2026-01-01") == first
    assert one.addresses(StartDate="2026-01-02") == ["jan-2-first"]
    assert one.addresses(StartDate="2025-12-31", EndDate="2026-01-02") == ["jan-2-first", *first]
    assert one.addresses(StartDate="2026-01-03") == []
    assert one.addresses(StartDate="2026-01-02", EndDate="2026-01-01") == []


@cases("name", ["StartDate", "EndDate"])
@cases(
    "value", ["2026-1-1", "2026-02-30", "20260101", "2026-01-01T00:00:00Z", "0000-01-01", "٢٠٢٦-01-01", "x"]
)
def test_other_days_are_refused(one: Api, name: str, value: str) -> None:
    assert refusal(one.page(**{name: value})) == (400, 20001, f"{name}: expected a day as YYYY-MM-DD")


def test_the_last_day_there_is(one: Api) -> None:
    one.bound()
    assert one.addresses(EndDate="9999-12-31") == ["token-1"]
    assert one.addresses(StartDate="0001-01-01") == ["token-1"]


def test_pages(one: Api) -> None:
    for number in range(7):
        one.bound(Identity=f"i{number}", Address=f"{number}", Tag="é&t")
    first = one.page(PageSize=3, Tag="é&t").json()
    meta = first["meta"]
    assert (meta["key"], meta["page"], meta["page_size"], meta["previous_page_url"]) == (
        "bindings",
        0,
        3,
        None,
    )
    assert meta["first_page_url"] == meta["url"]
    one.bound(Identity="late", Address="late", Tag="é&t")  # pages that follow do not shift
    one.request("DELETE", first["bindings"][2]["url"])
    second = one.request("GET", meta["next_page_url"]).json()
    third = one.request("GET", second["meta"]["next_page_url"]).json()
    pages = [[each["address"] for each in page["bindings"]] for page in (first, second, third)]
    assert pages == [["6", "5", "4"], ["3", "2", "1"], ["0"]]
    assert (second["meta"]["page"], third["meta"]["page"], third["meta"]["next_page_url"]) == (1, 2, None)
    assert one.request("GET", second["meta"]["url"]).json() == second
    back = one.request("GET", third["meta"]["previous_page_url"]).json()
    assert back["bindings"] == second["bindings"]
    assert back["meta"]["next_page_url"] == second["meta"]["next_page_url"]
    assert one.addresses(Page=1, PageSize=2) == ["5", "3"]  # by number alone
    assert one.page(PageSize=1000).json()["meta"]["next_page_url"] is None


def test_a_page_that_is_just_full_is_the_last(one: Api) -> None:
    for number in range(4):
        one.bound(Identity=f"i{number}")
    first = one.page(PageSize=2).json()
    second = one.request("GET", first["meta"]["next_page_url"]).json()
    assert (len(second["bindings"]), second["meta"]["next_page_url"]) == (2, None)
    assert one.page(Page=2, PageSize=2).json()["bindings"] == []


def test_a_page_has_fifty_unless_asked(one: Api) -> None:
    for number in range(51):
        one.bound(Identity=f"i{number}")
    found = one.page().json()
    assert (len(found["bindings"]), found["meta"]["page_size"]) == (50, 50)
    assert found["meta"]["next_page_url"] is not None


@cases(
    "given",
    [{"PageSize": "0"}, {"PageSize": "1001"}, {"PageSize": "x"}, {"Page": "-1"}, {"Page": "1.5"}]
    + [{"PageToken": each} for each in ("x", "PA", "PB-1", "PA1;", "PA" + "9" * 19)],
)
def test_wrong_pages_are_refused(one: Api, given: dict[str, str]) -> None:
    status, code, message = refusal(one.page(**given))
    assert (status, code) == (400, 20001)
    assert message.startswith(next(iter(given)))


def test_a_page_token_of_another_tenant_opens_nothing(one: Api, two: Api) -> None:
    for number in range(3):
        two.bound(Identity=f"i{number}", Address=f"of-two-{number}")
    one.bound(Address="of-one")
    token = two.page(PageSize=1).json()["meta"]["next_page_url"].partition("PageToken=")[2]
    assert one.addresses(PageToken=token) == []
    assert one.addresses(PageToken=token.replace("PA", "PB")) == ["of-one"]


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


def test_with_a_seed_the_account_is_the_same_again() -> None:
    with Lab(seed=7) as first, Lab(seed=7) as again, Lab(seed=8) as other, Lab() as random:
        accounts = [each.messaging.account for each in (first, again, other, random)]
    assert accounts[0] == accounts[1]
    assert len({each["AuthToken"] for each in accounts}) == 3
    for each in accounts:
        assert (each["AccountSid"][:2], each["ServiceSid"][:2]) == ("AC", "IS")
        assert {len(each["AccountSid"]), len(each["ServiceSid"])} == {34}
