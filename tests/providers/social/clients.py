"""Clients of other makers that reach a lab's hosts by loopback, and trust its CA alone."""

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
    """Sends what is meant for any host to the lab's address; SNI, Host and the certificate are the host's own."""

    def build_connection_pool_key_attributes(self, request: Any, verify: Any, cert: Any = None) -> Any:
        where, pool = super().build_connection_pool_key_attributes(request, verify, cert)
        name = where["host"]
        return {**where, "host": "127.0.0.1"}, {**pool, "server_hostname": name, "assert_hostname": name}

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        request.headers["Host"] = urlsplit(request.url or "").netloc
        return super().send(request, *args, **kwargs)


def at_home(session: Any, lab: Lab, folder: Path) -> Any:
    """`session`, a requests one, in the network of the lab."""
    ca = folder / "ca.pem"
    ca.write_text(lab.address.ca_pem)
    session.mount("https://", Loopback())
    session.verify = str(ca)
    session.trust_env = False
    return session


def authorize_url(provider: Provider, application: Application, **parameters: str | None) -> str:
    """An OAuth 2 authorize URL; a parameter may be changed, or left out by None."""
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


def brought(answer: httpx.Response | requests.Response) -> dict[str, str]:
    """The parameters that a redirect to the callback brings."""
    location = answer.headers["Location"]
    assert location.startswith(CALLBACK + "?"), location
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}


def code_for(
    provider: Provider, application: Application, person: str = "ann", **parameters: str | None
) -> str:
    """A new code, for a person who said yes."""
    provider.consent(person)
    return brought(provider.login(authorize_url(provider, application, **parameters), person))["code"]


def post(lab: Lab, url: str, **options: Any) -> httpx.Response:
    """POST without cookies."""
    return lab.browser().post(url, **options)


def redeem(
    lab: Lab, provider: Provider, application: Application, code: str, /, **changes: str | None
) -> httpx.Response:
    """The answer to a token request; a parameter may be changed, or left out by None."""
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
    """The answer to who shows an access token."""
    return lab.browser().get(provider.endpoints["userinfo"], headers={"Authorization": f"Bearer {token}"})
