"""The provider's public SDK, with an HTTP client that sends its requests to a lab."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from requests.adapters import HTTPAdapter
from twilio.http.http_client import TwilioHttpClient
from twilio.rest import Client

from labkit import Lab
from tests.providers.social.clients import Loopback


class LabHttpClient(TwilioHttpClient):  # type: ignore[misc]  # it has no types
    """HTTP client that sends requests for the provider's own host to the lab, and trusts only the lab's CA."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        super().__init__()
        self._base = urlsplit(lab.messaging.url())
        ca = folder / "ca.pem"
        ca.write_text(lab.address.ca_pem)
        adapter: HTTPAdapter = Loopback()
        self.session.mount("https://", adapter)
        self.session.verify = str(ca)
        self.session.trust_env = False

    def request(self, method: str, url: str, *args: Any, **kwargs: Any) -> Any:
        there = urlsplit(url)._replace(scheme=self._base.scheme, netloc=self._base.netloc)
        return super().request(method, urlunsplit(there), *args, **kwargs)


def notify(lab: Lab, folder: Path, account: dict[str, str] | None = None) -> Any:
    """Return the SDK's service of an account, by default of the account that always exists."""
    account = lab.messaging.account if account is None else account
    client = Client(account["AccountSid"], account["AuthToken"], http_client=LabHttpClient(lab, folder))
    return client.notify.v1.services(account["ServiceSid"])
