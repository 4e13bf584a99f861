"""Data types and protocols shared by the modules of an identity provider."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import parse_qsl, urlencode, urlsplit

from labkit.http.error import HttpError
from labkit.providers.social.issued import ProtocolState
from labkit.settings import Person

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
# No cache may store an answer with tokens (RFC 6749 5.1).
NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}


@dataclass(frozen=True, slots=True)
class Application:
    """Application registered at a provider. redirects: the redirect URIs that it may use.

    client_id: its id; client_secret: its secret; name: its name; scopes: scopes that it may request, empty for any.
    """

    client_id: str
    client_secret: str = field(repr=False)
    redirects: tuple[str, ...]
    name: str = ""
    scopes: tuple[str, ...] = ()

    @property
    def redirect(self) -> str:
        """The first redirect URI, for createSocial."""
        return self.redirects[0]

    @property
    def title(self) -> str:
        """The displayed name: `name`, or the host of the redirect URI."""
        return self.name or f"{urlsplit(self.redirect).hostname}"


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """Request as the client sent it.

    url: absolute, with the port; headers: by name in lower case; body: the encoded form, empty for other content.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: str = ""

    @property
    def query(self) -> str:
        """The query of the URL, encoded."""
        return urlsplit(self.url).query

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The parameters of query and body, decoded."""
        return [*parse_qsl(self.query, keep_blank_values=True), *parse_qsl(self.body, keep_blank_values=True)]

    def canonical(self) -> ProviderRequest:
        """Return the request with its parameters encoded anew, since oauthlib refuses unusual encodings."""
        target, _, query = self.url.partition("?")
        again = [urlencode(parse_qsl(text, keep_blank_values=True)) for text in (query, self.body)]
        return ProviderRequest(
            self.method, f"{target}?{again[0]}" if query else target, self.headers, again[1]
        )


@dataclass(frozen=True, slots=True)
class ProviderResponse:
    """Answer to a request. summary: its description in the inbox."""

    status: int
    body: str = ""
    type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""

    @classmethod
    def json(
        cls, status: int, value: object, summary: str, headers: Mapping[str, str] | None = None
    ) -> ProviderResponse:
        """Return a response with a JSON body."""
        return cls(status, json.dumps(value), JSON, {**NO_STORE, **(headers or {})}, summary)

    @classmethod
    def form(cls, pairs: Mapping[str, object], summary: str) -> ProviderResponse:
        """Return a response with a form as its body."""
        return cls(200, urlencode(pairs), FORM, NO_STORE, summary)

    @classmethod
    def redirect(cls, url: str) -> ProviderResponse:
        """Return a redirect to a URL."""
        return cls(302, "", "text/plain", {"Location": url, "Cache-Control": "no-store"})


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """Valid authorize request of an application. back: URI to which the person's browser is redirected."""

    call: ProviderRequest
    application: Application
    back: str
    scopes: tuple[str, ...] = ()


class FatalRequestError(HttpError):
    """Authorize request without a known client and redirect URI, so the error cannot be sent by redirect."""


class ErrorRedirect(Exception):
    """Invalid authorize request whose error goes to the application by redirect. url: of the redirect."""

    def __init__(self, url: str) -> None:
        super().__init__("sent back with an error")
        self.url = url


class ProviderProtocol(Protocol):
    """Interface of the provider's side of OAuth 1.0a or OAuth 2."""

    def ask(self, call: ProviderRequest) -> AuthorizationRequest:
        """Validate an authorize request. Raises FatalRequestError, or ErrorRedirect if the redirect URI is valid."""
        ...

    def approve(self, authorization: AuthorizationRequest, person: Person) -> str:
        """Return the redirect's URL, with a code or verifier. Raises FatalRequestError if it is no longer valid."""
        ...

    def deny(self, authorization: AuthorizationRequest) -> str:
        """Return the redirect's URL with the person's refusal."""
        ...

    def token(self, call: ProviderRequest) -> ProviderResponse:
        """Return the answer to a token request: an access token for a code, refresh token or verifier."""
        ...

    def expired(self) -> ProviderResponse:
        """Return the answer to a token request whose code or request token has expired."""
        ...

    def userinfo(self, call: ProviderRequest) -> ProviderResponse:
        """Return the answer to a user-info request: data about the access token's person."""
        ...

    def snapshot(self) -> ProtocolState:
        """Return all codes and tokens."""
        ...

    def restore(self, state: ProtocolState) -> None:
        """Take over codes and tokens, in place of none."""
        ...
