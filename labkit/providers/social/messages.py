"""What the modules of an identity provider hand each other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import parse_qsl, urlencode, urlsplit

from labkit.http.error import HttpError
from labkit.settings import Person

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
# An answer with tokens in it is for its receiver alone (RFC 6749 5.1).
NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}


@dataclass(frozen=True, slots=True)
class Application:
    """An application that is registered at a provider. redirects: where it may have people sent back to."""

    client_id: str
    client_secret: str = field(repr=False)
    redirects: tuple[str, ...]
    name: str = ""
    scopes: tuple[str, ...] = ()

    @property
    def redirect(self) -> str:
        """The first of its redirects, to be given to createSocial."""
        return self.redirects[0]

    @property
    def title(self) -> str:
        """What to call it."""
        return self.name or f"{urlsplit(self.redirect).hostname}"


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """A request as it came.

    url: all of it, with the port; headers: by name in lower case; body: of a form, else empty.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: str = ""

    @property
    def query(self) -> str:
        return urlsplit(self.url).query

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The parameters of query and body."""
        return [*parse_qsl(self.query, keep_blank_values=True), *parse_qsl(self.body, keep_blank_values=True)]

    def canonical(self) -> ProviderRequest:
        """The same request with its parameters encoded anew: oauthlib refuses unusual encodings."""
        target, _, query = self.url.partition("?")
        again = [urlencode(parse_qsl(text, keep_blank_values=True)) for text in (query, self.body)]
        return ProviderRequest(
            self.method, f"{target}?{again[0]}" if query else target, self.headers, again[1]
        )


@dataclass(frozen=True, slots=True)
class ProviderResponse:
    """What goes back. summary: what it is, in words, for the inbox."""

    status: int
    body: str = ""
    type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""

    @classmethod
    def json(
        cls, status: int, value: object, summary: str, headers: Mapping[str, str] | None = None
    ) -> ProviderResponse:
        return cls(status, json.dumps(value), JSON, {**NO_STORE, **(headers or {})}, summary)

    @classmethod
    def form(cls, pairs: Mapping[str, object], summary: str) -> ProviderResponse:
        return cls(200, urlencode(pairs), FORM, NO_STORE, summary)

    @classmethod
    def redirect(cls, url: str) -> ProviderResponse:
        return cls(302, "", "text/plain", {"Location": url, "Cache-Control": "no-store"})


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """An application asks a person to let it in. back: where the person returns to."""

    call: ProviderRequest
    application: Application
    back: str
    scopes: tuple[str, ...] = ()


class FatalRequestError(HttpError):
    """An authorize request that cannot be shown to a person, nor be sent back: nobody knows whose it is."""


class ErrorRedirect(Exception):
    """An authorize request is wrong, and whoever made it is told so by a redirect."""

    def __init__(self, url: str) -> None:
        super().__init__("sent back with an error")
        self.url = url


class ProviderProtocol(Protocol):
    """A protocol as a provider speaks it: OAuth 1.0a or OAuth 2."""

    def ask(self, call: ProviderRequest) -> AuthorizationRequest:
        """What a request asks for. Raises FatalRequestError, or ErrorRedirect where the redirect is right."""
        ...

    def approve(self, authorization: AuthorizationRequest, person: Person) -> str:
        """The URL that takes the person back, with a code or verifier. Raises FatalRequestError if too late."""
        ...

    def deny(self, authorization: AuthorizationRequest) -> str:
        """The URL that takes the person back with a refusal."""
        ...

    def token(self, call: ProviderRequest) -> ProviderResponse:
        """An access token for a code, refresh token or verifier."""
        ...

    def expired(self) -> ProviderResponse:
        """The answer to a token request whose code is too old."""
        ...

    def userinfo(self, call: ProviderRequest) -> ProviderResponse:
        """Who the person of an access token is."""
        ...
