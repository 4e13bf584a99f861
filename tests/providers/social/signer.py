"""Signer of OAuth 1 requests, valid or invalid."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
from oauthlib.oauth1 import Client

from labkit import Lab
from labkit.lab.provider import Provider
from labkit.providers.social.messages import FORM, Application
from tests.providers.social.clients import CALLBACK

METHODS: dict[str, Any] = {"request_token": "POST", "token": "POST", "userinfo": "GET"}


class Signer:
    """Signs requests at lab time, also wrongly on demand."""

    def __init__(self, lab: Lab, provider: Provider, application: Application) -> None:
        self.lab, self.provider, self.application = lab, provider, application
        self.tokens: dict[str, str] = {}

    def send(self, step: str, **changes: Any) -> httpx.Response:
        """Send a signed request of a step, and store the received credentials; `changes` as Client accepts them."""
        url, headers, body = self.signed(step, **changes)
        options: dict[str, Any] = {"headers": headers, "content": body} if body else {"headers": headers}
        answer = self.lab.browser().request(METHODS[step], url, **options)
        if answer.status_code == 200 and step != "userinfo":
            self.tokens = dict(parse_qsl(answer.text))
        return answer

    def signed(self, step: str, **changes: Any) -> Any:
        """Return URL, headers and body of a signed request."""
        given = {
            "client_secret": self.application.client_secret,
            "resource_owner_key": self.tokens.get("oauth_token"),
            "resource_owner_secret": self.tokens.get("oauth_token_secret"),
            "callback_uri": CALLBACK if step == "request_token" else None,
            "timestamp": str(int(self.lab.clock.time)),
            **changes,
        }
        client = Client(given.pop("client_key", self.application.client_id), **given)
        in_body: dict[str, Any] = (
            {"body": "x=1", "headers": {"Content-Type": FORM}} if "signature_type" in given else {}
        )
        return client.sign(self.provider.endpoints[step], http_method=METHODS[step], **in_body)

    def approve(self, person: str = "ann", *, yes: bool = True) -> dict[str, str]:
        """Return the parameters of the callback, after a person has allowed or denied."""
        url = f"{self.provider.endpoints['authorize']}?oauth_token={self.tokens['oauth_token']}"
        answer = self.provider.login(url, person, approve=yes)
        return dict(parse_qsl(urlsplit(answer.headers["Location"]).query))


def reason(answer: httpx.Response) -> str:
    return str(answer.json()["errors"][0]["message"])
