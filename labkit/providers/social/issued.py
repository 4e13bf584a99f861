"""Codes and tokens that a provider has issued."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from labkit.settings import Person


@dataclass(slots=True)
class Code:
    """Authorization code. tokens: the access and refresh tokens issued for it; nonce: for the ID token."""

    client_id: str
    redirect: str
    scopes: tuple[str, ...]
    person: Person
    expires: float
    challenge: str | None
    method: str | None
    used: bool = False
    tokens: list[str] = field(default_factory=list)
    nonce: str | None = None


@dataclass(frozen=True, slots=True)
class Oauth2Token:
    """Access token or refresh token. code: the authorization code for which it was issued."""

    client_id: str
    scopes: tuple[str, ...]
    person: Person
    expires: float
    code: Code


@dataclass(slots=True)
class Temporary:
    """Request token (temporary credentials). person, verifier: set by the approval."""

    client_id: str
    secret: str
    callback: str
    expires: float
    person: Person | None = None
    verifier: str | None = None


@dataclass(frozen=True, slots=True)
class AccessToken:
    """Access token (token credentials)."""

    client_id: str
    secret: str
    person: Person


@dataclass(frozen=True, slots=True)
class TokenState:
    """Token of OAuth 2 as plain data. code: index of its authorization code; expires: None for never."""

    token: str
    client_id: str
    scopes: tuple[str, ...]
    person: Person
    expires: float | None
    code: int


@dataclass(frozen=True, slots=True)
class ProtocolState:
    """Codes and tokens of a provider as plain data.

    codes: authorization codes, with an empty text where a code is forgotten, but not its tokens; access, refresh:
    tokens of OAuth 2; temporary, lasting: of OAuth 1; nonces: used ones, with the lab time of their expiry.
    """

    codes: list[tuple[str, Code]] = field(default_factory=list)
    access: list[TokenState] = field(default_factory=list)
    refresh: list[TokenState] = field(default_factory=list)
    temporary: list[tuple[str, Temporary]] = field(default_factory=list)
    lasting: list[tuple[str, AccessToken]] = field(default_factory=list)
    nonces: list[tuple[int, str, str, str, int]] = field(default_factory=list)


def oauth2_state(
    codes: Mapping[str, Code], access: Mapping[str, Oauth2Token], refresh: Mapping[str, Oauth2Token]
) -> ProtocolState:
    """Return the state of an OAuth 2 provider."""
    listed = list(codes.items())
    places = {id(code): place for place, (_, code) in enumerate(listed)}
    for token in (*access.values(), *refresh.values()):
        if id(token.code) not in places:
            places[id(token.code)] = len(listed)
            listed.append(("", token.code))

    def tokens(given: Mapping[str, Oauth2Token]) -> list[TokenState]:
        return [
            TokenState(
                name,
                each.client_id,
                each.scopes,
                each.person,
                None if each.expires == math.inf else each.expires,
                places[id(each.code)],
            )
            for name, each in given.items()
        ]

    return ProtocolState(listed, tokens(access), tokens(refresh))


def oauth2_tokens(given: Iterable[TokenState], codes: list[tuple[str, Code]]) -> dict[str, Oauth2Token]:
    """Return tokens of a state. Raises IndexError for a token of a code that is not there."""
    return {
        each.token: Oauth2Token(
            each.client_id,
            each.scopes,
            each.person,
            math.inf if each.expires is None else each.expires,
            codes[each.code][1],
        )
        for each in given
    }
