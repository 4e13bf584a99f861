"""Plain client of the messaging provider's REST API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import requests

from labkit import Lab
from labkit.providers.messaging.handsets import HandsetMessage
from tests.guard import PATIENCE
from tests.providers.social.clients import connected_to_lab

ONE = {
    "AccountSid": "AC" + "1" * 32,
    "AuthToken": "token:of:one",  # a colon ends the login, and none after it
    "ServiceSid": "IS" + "1" * 32,
}
TWO = {
    "AccountSid": "AC" + "2" * 32,
    "AuthToken": "token-of-two",
    "ServiceSid": "IS" + "2" * 32,
}
BARE = "IS" + "3" * 32  # a second service of TWO, with no messaging service and no credentials
MESSAGING = {
    "accounts": [
        {
            "sid": ONE["AccountSid"],
            "token": ONE["AuthToken"],
            "services": [
                {
                    "sid": ONE["ServiceSid"],
                    "messaging_service": "MG" + "1" * 32,
                    "credentials": {
                        each: f"CR{index}" + "1" * 31 for index, each in enumerate(("apn", "fcm"))
                    },
                }
            ],
        },
        {
            "sid": TWO["AccountSid"],
            "token": TWO["AuthToken"],
            "services": [{"sid": TWO["ServiceSid"], "messaging_service": "MG" + "2" * 32}, {"sid": BARE}],
        },
    ]
}

Value = str | int | Iterable[str] | Mapping[str, Any]


class Api:
    """Client of one account at a lab's provider. Parameters: texts, lists of texts, or objects, which become JSON."""

    def __init__(self, lab: Lab, folder: Any, account: Mapping[str, str]) -> None:
        self.lab = lab
        self.account = account
        self.session: requests.Session = connected_to_lab(requests.Session(), lab, folder)
        self.session.auth = (account["AccountSid"], account["AuthToken"])

    def path(self, resource: str = "", service: str | None = None) -> str:
        return f"/v1/Services/{service or self.account['ServiceSid']}{resource}"

    def request(self, method: str, path: str, **options: Any) -> requests.Response:
        url = path if path.startswith("https:") else self.lab.messaging.url(path)
        return self.session.request(method, url, timeout=PATIENCE, **options)

    def bind(self, service: str | None = None, **parameters: Value) -> requests.Response:
        """Create a binding; by default it is a device of ann with a token of its own."""
        given = {"Identity": "ann", "BindingType": "fcm", "Address": "token-1", **parameters}
        return self.request("POST", self.path("/Bindings", service), data=form(given))

    def bound(self, service: str | None = None, **parameters: Value) -> dict[str, Any]:
        answer = self.bind(service, **parameters)
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    def page(self, service: str | None = None, **parameters: Value) -> requests.Response:
        return self.request("GET", self.path("/Bindings", service), params=form(parameters))

    def addresses(self, service: str | None = None, **parameters: Value) -> list[str]:
        """Return the addresses of one page of bindings."""
        answer = self.page(service, **parameters)
        assert answer.status_code == 200, answer.text
        return [each["address"] for each in answer.json()["bindings"]]

    def send(self, service: str | None = None, **parameters: Value) -> requests.Response:
        """Send a notification; all messages are delivered when it returns."""
        answer = self.request("POST", self.path("/Notifications", service), data=form(parameters))
        self.lab.settle()
        return answer

    def sent(self, service: str | None = None, **parameters: Value) -> dict[str, Any]:
        answer = self.send(service, **parameters)
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made


def form(parameters: Mapping[str, Value]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            pairs.append((name, json.dumps(value)))
        elif isinstance(value, str | int):
            pairs.append((name, str(value)))
        else:
            pairs += [(name, each) for each in value]
    return pairs


def refusal(answer: requests.Response) -> tuple[int, int, str]:
    """Return status, code and message of an error, whose form is asserted."""
    error = answer.json()
    assert set(error) == {"code", "message", "more_info", "status"}, error
    assert error["status"] == answer.status_code
    assert error["more_info"].endswith(f"/errors/{error['code']}")
    return answer.status_code, error["code"], error["message"]


def message(
    address: str, payload: Mapping[str, Any], *, size: int = 10, expires: float = 2_000_000_000
) -> HandsetMessage:
    """Return a message as the courier delivers it to a handset."""
    return HandsetMessage(
        time=0.0,
        address=address,
        channel="fcm",
        payload=payload,
        headers={"a": "b"},
        expires=expires,
        account="AC",
        service="IS",
        identity="ann",
        binding="BS",
        notification="NT",
        size=size,
    )
