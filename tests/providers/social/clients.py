"""Third-party clients that reach a lab's hosts by loopback, and trust only its CA."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import requests
from authlib.integrations import requests_client as authlib
from requests.adapters import HTTPAdapter

from labkit import Lab
from labkit.lab.provider import Provider
from labkit.providers.social.messages import Application

CALLBACK = "https://client.example.com/callback"
ANN = {"id": "ann", "name": "Ann Lee", "email": "ann@example.com"}
BO = {"id": "bo", "name": "Bo", "email": "bo@example.com"}

AuthlibOAuth1: Any = authlib.OAuth1Session
AuthlibOAuth2: Any = authlib.OAuth2Session


class Loopback(HTTPAdapter):
    """Adapter that connects to the lab for any host; SNI, Host and the certificate are the host's own."""

    def build_connection_pool_key_attributes(self, request: Any, verify: Any, cert: Any = None) -> Any:
        where, pool = super().build_connection_pool_key_attributes(request, verify, cert)
        name = where["host"]
        return {**where, "host": "127.0.0.1"}, {**pool, "server_hostname": name, "assert_hostname": name}

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        request.headers["Host"] = urlsplit(request.url or "").netloc
        return super().send(request, *args, **kwargs)


def connected_to_lab(session: Any, lab: Lab, folder: Path) -> Any:
    """Return `session`, of requests, connected to the lab."""
    ca = folder / "ca.pem"
    ca.write_text(lab.address.ca_pem)
    session.mount("https://", Loopback())
    session.verify = str(ca)
    session.trust_env = False
    return session


def authorize_url(provider: Provider, application: Application, **parameters: str | None) -> str:
    """Return an OAuth 2 authorize URL; a parameter can be changed, or left out by None."""
    given = {
        "response_type": "code",
        "client_id": application.client_id,
        "redirect_uri": application.redirect,
        "scope": "profile email",
        "state": "s-1",
        **parameters,
    }
    pairs = {name: value for name, value in given.items() if value is not None}
    return f"{provider.endpoints['authorize']}?{urlencode(pairs)}"


def callback_parameters(answer: httpx.Response | requests.Response) -> dict[str, str]:
    """Return the parameters of a redirect to the callback."""
    location = answer.headers["Location"]
    assert location.startswith(CALLBACK + "?"), location
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}


def code_for(
    provider: Provider, application: Application, person: str = "ann", **parameters: str | None
) -> str:
    """Return a new code, approved by a person."""
    provider.consent(person)
    return callback_parameters(provider.login(authorize_url(provider, application, **parameters), person))[
        "code"
    ]


def post(lab: Lab, url: str, **options: Any) -> httpx.Response:
    """POST without cookies."""
    return lab.browser().post(url, **options)


def redeem(
    lab: Lab, provider: Provider, application: Application, code: str, /, **changes: str | None
) -> httpx.Response:
    """Return the answer to a token request; a parameter can be changed, or left out by None."""
    given = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": application.redirect,
        "client_id": application.client_id,
        "client_secret": application.client_secret,
        **changes,
    }
    pairs = {name: value for name, value in given.items() if value is not None}
    return post(lab, provider.endpoints["token"], data=pairs, headers={"Accept": "application/json"})


def userinfo(lab: Lab, provider: Provider, token: str) -> httpx.Response:
    """Return the answer to a user info request with an access token."""
    return lab.browser().get(provider.endpoints["userinfo"], headers={"Authorization": f"Bearer {token}"})
