"""Requests of unauthenticated clients: credentials, paths, forms; and secrets that must not be visible."""

from __future__ import annotations

import hmac
from base64 import b64encode
from typing import Any

import pytest

from labkit import Lab
from tests.cases import cases
from tests.guard import PATIENCE
from tests.providers.messaging.api import ONE, TWO, Api, refusal


def basic(text: bytes) -> str:
    return f"Basic {b64encode(text).decode()}"


RIGHT = f"{ONE['AccountSid']}:{ONE['AuthToken']}".encode()


@cases(
    "header",
    [
        "",
        "Basic",
        "Basic !",
        f"Bearer {b64encode(RIGHT).decode()}",
        f"Basic {b64encode(RIGHT).decode()}!",
        basic(RIGHT + b"x"),
        basic(RIGHT[:-1]),
        basic(RIGHT.lower()),
        basic(f"{ONE['AccountSid']}:".encode()),
        basic(f"{ONE['AccountSid']}:{TWO['AuthToken']}".encode()),
        basic(f"AC{'9' * 32}:{ONE['AuthToken']}".encode()),
        basic(b":"),
        basic(b"\xff\xfe:\xff"),
        basic("é:é".encode()),
        basic(ONE["AccountSid"].encode()),
        "Basic " + "A" * 6000,
    ],
)
def test_unauthorized_clients_get_the_same_refusal(one: Api, header: str) -> None:
    one.session.auth = None
    answer = one.request("GET", one.path("/Bindings"), headers={"Authorization": header} if header else {})
    assert refusal(answer) == (401, 20003, "Authenticate")
    assert answer.headers["WWW-Authenticate"].startswith("Basic realm=")
    assert one.lab.journal.select(kind="request")[-1].actor == "messaging"


def test_the_scheme_is_case_insensitive(one: Api) -> None:
    one.session.auth = None
    header = basic(RIGHT).replace("Basic", "bAsIc")
    assert one.request("GET", one.path(), headers={"Authorization": header}).status_code == 200


def test_tokens_are_compared_in_constant_time(one: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(expected: bytes, given: bytes) -> bool:
        compared.append((expected, given))
        return expected == given

    monkeypatch.setattr(hmac, "compare_digest", compare)
    assert one.request("GET", one.path()).status_code == 200
    one.session.auth = (f"AC{'9' * 32}", "guess")
    assert one.request("GET", one.path()).status_code == 401
    assert compared[0] == (ONE["AuthToken"].encode(),) * 2
    assert compared[-1][1] == b"guess"  # an unknown account costs a comparison, too


OTHER_PATHS = """
/ /v1 /v1/ /v1/services /v1/Services/ /v2/Services /errors/99999 /errors/1 /v1/Services/%00/Bindings
/v1/Services/{}/ /v1/Services/{}/Users /v1/Services/{}/Bindings/ /v1/Services/{}/bindings
/v1/Services/{}/Bindings/BS1/x /v1/Services/{}/Bindings/BS%2F1 /v1/Services/{}/Notifications/NT1
"""


@cases("path", [*OTHER_PATHS.split(), "/v1/Services/IS" + "a" * 63, "/v1/Services/{}/Bindings/" + "b" * 5000])
def test_other_paths_do_not_exist(one: Api, path: str) -> None:
    for method in ("GET", "POST", "DELETE"):
        assert refusal(one.request(method, path.format(ONE["ServiceSid"])))[:2] == (404, 20404)


@cases(
    ("method", "resource", "allowed"),
    [
        ("PUT", "/Bindings", "GET, POST"),
        ("DELETE", "/Bindings", "GET, POST"),
        ("POST", "/Bindings/BS1", "GET, DELETE"),
        ("GET", "/Notifications", "POST"),
        ("POST", "", "GET"),
    ],
)
def test_other_methods_are_not_allowed(one: Api, method: str, resource: str, allowed: str) -> None:
    answer = one.request(method, one.path(resource))
    assert refusal(answer)[:2] == (405, 20004)
    assert answer.headers["Allow"] == allowed


@cases(
    ("body", "type", "status"),
    [
        (b'{"Identity": "ann"}', "application/json", 415),
        (b"Identity=%FF", "application/x-www-form-urlencoded", 400),
        (b"Identity=\xff", "application/x-www-form-urlencoded", 400),
        ("&".join(f"a{n}=1" for n in range(201)).encode(), "application/x-www-form-urlencoded", 413),
        (b"Identity=" + b"a" * 256 * 1024, "application/x-www-form-urlencoded", 413),
    ],
)
def test_an_invalid_form_is_refused(one: Api, body: bytes, type: str, status: int) -> None:
    answer = one.request("POST", one.path("/Bindings"), data=body, headers={"Content-Type": type})
    assert refusal(answer)[0] == status


def test_unknown_parameters_are_ignored(one: Api) -> None:
    made = one.bound(Nonsense="x" * 5000, AuthToken="s3cret-of-a-caller")
    assert made["address"] == "token-1"
    assert "s3cret-of-a-caller" not in everything(one.lab)


def test_an_error_code_is_explained(one: Api) -> None:
    more = one.page(PageSize="x").json()["more_info"]
    one.session.auth = None
    answer = one.request("GET", more)
    assert (answer.status_code, answer.text) == (
        200,
        "20001: A parameter is missing, or its value is not allowed.\n",
    )


def test_plain_http_is_refused(tmp_path: Any) -> None:
    with Lab(seed=7, http_port=0) as lab:
        api = Api(lab, tmp_path, lab.messaging.account)
        url = f"http://127.0.0.1:{lab.http_port}{api.path()}"
        answer = api.session.get(url, headers={"Host": lab.messaging.domain}, timeout=PATIENCE)
        assert (answer.status_code, answer.json()["message"]) == (403, "this provider speaks HTTPS only")


def everything(lab: Lab) -> str:
    """Return all that a lab shows of itself."""
    shown: list[object] = [each.detail for each in lab.journal]
    shown += [
        lab.journal.canonical(),
        lab.journal.frame().to_string(),
        lab.messaging,
        lab.messaging._repr_html_(),
    ]
    shown += [lab.messaging.account, lab.messaging.accounts, lab.messaging.inbox.frame().to_string()]
    shown += [
        lab.messaging.inbox,
        lab.messaging.inbox._repr_html_(),
        lab.handsets,
        lab.handsets._repr_html_(),
    ]
    shown += [lab.handsets.frame().to_string(), lab.sql("select * from messaging_account").to_string(), lab]
    shown += [each.messages for each in lab.handsets.values()]
    return "\n".join(map(repr, shown)) + "\n".join(map(str, shown))


def test_no_secret_is_visible(one: Api, two: Api) -> None:
    lab = one.lab
    one.bound()
    one.sent(Identity="ann", Body="x")
    two.session.auth = (TWO["AccountSid"], "a-guess-of-a-token")
    two.page()
    two.request("GET", "/nowhere?AuthToken=a-guess-of-a-token")
    tokens = [each["AuthToken"] for each in lab.messaging.accounts]
    assert tokens[1:] == [ONE["AuthToken"], TWO["AuthToken"]]
    shown = everything(lab)
    for secret in (*tokens, "a-guess-of-a-token", b64encode(RIGHT).decode()):
        assert secret not in shown


def test_an_existing_solution_shows_no_token(lab: Lab) -> None:
    account = lab.messaging.account
    lab.solution("home", services={"Notify": {"AuthToken": account["AuthToken"]}})
    with pytest.raises(Exception, match="is there already with other settings: services") as raised:
        lab.solution("home", services={"Notify": {"AuthToken": "another-token"}})
    assert account["AuthToken"] not in str(raised.value)
    assert "another-token" not in str(raised.value)


def test_a_combined_account_shows_no_token(one: Api) -> None:
    account = one.lab.messaging.account
    for each in (account, account.copy(), account | {"ServiceSid": ONE["ServiceSid"]}, [account]):
        assert account["AuthToken"] not in repr(each) + str(each)
    assert account | {"ServiceSid": "IS"} == {**account, "ServiceSid": "IS"}
