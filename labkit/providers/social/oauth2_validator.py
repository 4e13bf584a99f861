"""Validator that oauthlib calls for a provider's side of OAuth 2: its codes and tokens. Lifetimes are in lab time."""

from __future__ import annotations

import base64
import hmac
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import unquote_plus

from oauthlib.common import Request
from oauthlib.oauth2 import (
    InvalidClientError,
    InvalidGrantError,
    InvalidRequestError,
    RequestValidator,
    UnsupportedResponseTypeError,
)

from labkit.providers.social.issued import Code, Oauth2Token, ProtocolState, oauth2_state, oauth2_tokens
from labkit.providers.social.kinds import ProviderKind
from labkit.providers.social.messages import Application

CODE_LIFETIME = 600  # seconds of lab time (RFC 6749 4.1.2 recommends no more)


class Oauth2Validator(RequestValidator):
    """Validator that oauthlib calls, with the applications, codes and tokens of the provider."""

    def __init__(
        self, kind: ProviderKind, applications: Mapping[str, Application], now: Callable[[], float]
    ) -> None:
        super().__init__()
        self._applications = applications
        self._now = now
        self._lifetime: float = kind.lifetime if "expires_in" in kind.token_fields else math.inf
        self._codes: dict[str, Code] = {}
        self._tokens: dict[str, Oauth2Token] = {}
        self._refresh_tokens: dict[str, Oauth2Token] = {}

    def snapshot(self) -> ProtocolState:
        """Return all codes and tokens."""
        return oauth2_state(self._codes, self._tokens, self._refresh_tokens)

    def restore(self, state: ProtocolState) -> None:
        """Take over codes and tokens."""
        self._codes = {name: code for name, code in state.codes if name}
        self._tokens = oauth2_tokens(state.access, state.codes)
        self._refresh_tokens = oauth2_tokens(state.refresh, state.codes)

    def alive(self, access_token: str) -> Oauth2Token | None:
        """Return the data of an access token, or None if it is unknown, revoked or expired."""
        token = self._tokens.get(access_token)
        return token if token is not None and self._now() < token.expires else None

    # ---- authorize

    def validate_client_id(self, client_id: str, request: Request, *args: Any, **kwargs: Any) -> bool:
        request.client = self._applications.get(client_id)
        return request.client is not None

    def validate_redirect_uri(
        self, client_id: str, redirect_uri: str, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        return redirect_uri in self._applications[client_id].redirects

    def get_default_redirect_uri(self, client_id: str, request: Request, *args: Any, **kwargs: Any) -> Any:
        return None  # redirect_uri is required

    def validate_response_type(
        self, client_id: str, response_type: str, client: Any, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        if response_type != "code":
            raise UnsupportedResponseTypeError(request=request)
        return True

    def is_pkce_required(self, client_id: str, request: Request) -> bool:
        return False

    def get_default_scopes(self, client_id: str, request: Request, *args: Any, **kwargs: Any) -> list[str]:
        return []

    def validate_scopes(
        self, client_id: str, scopes: Iterable[str], client: Any, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        allowed = self._applications[client_id].scopes
        return not allowed or set(scopes) <= set(allowed)

    def save_authorization_code(
        self, client_id: str, code: Any, request: Any, *args: Any, **kwargs: Any
    ) -> None:
        self._forget_dead()
        self._codes[code["code"]] = Code(
            client_id,
            request.redirect_uri,
            tuple(request.scopes or ()),
            request.user,
            self._now() + CODE_LIFETIME,
            request.code_challenge,
            request.code_challenge_method,
            nonce=request.nonce,
        )

    # ---- token

    def client_authentication_required(self, request: Request, *args: Any, **kwargs: Any) -> bool:
        return True

    def authenticate_client(self, request: Request, *args: Any, **kwargs: Any) -> bool:
        shown = _basic(request.headers.get("Authorization", ""))
        if shown is not None and request.client_secret is not None:
            raise InvalidRequestError("the client authenticates twice: by Basic and in the body")
        client_id, secret = shown or (request.client_id or "", request.client_secret or "")
        if request.client_id not in (None, "", client_id):
            raise InvalidClientError("client_id differs from the one in Basic authentication")
        application = self._applications.get(client_id)
        if application is None:
            raise InvalidClientError("the client is unknown")
        if not hmac.compare_digest(application.client_secret.encode(), secret.encode()):
            raise InvalidClientError("the client secret is wrong")
        request.client = application
        return True

    def validate_grant_type(
        self, client_id: str, grant_type: str, client: Any, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        return grant_type in ("authorization_code", "refresh_token")

    def validate_code(
        self, client_id: str, code: str, client: Any, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        known = self._codes.get(code)
        if known is None or known.client_id != client_id:
            raise InvalidGrantError("the code was not issued to this client")
        if known.used:
            self._revoke(known)
            raise InvalidGrantError("the code was used already; its tokens are revoked")
        if self._now() >= known.expires:
            raise InvalidGrantError("the code has expired")
        request.user, request.scopes = known.person, list(known.scopes)
        return True

    def get_code_challenge(self, code: str, request: Request) -> Any:
        return self._codes[code].challenge

    def get_code_challenge_method(self, code: str, request: Request) -> Any:
        return self._codes[code].method

    def confirm_redirect_uri(
        self,
        client_id: str,
        code: str,
        redirect_uri: str,
        client: Any,
        request: Request,
        *args: Any,
        **kwargs: Any,
    ) -> bool:
        if redirect_uri != self._codes[code].redirect:
            raise InvalidGrantError("redirect_uri differs from the authorization request")
        return True

    def invalidate_authorization_code(
        self, client_id: str, code: str, request: Request, *args: Any, **kwargs: Any
    ) -> None:
        self._codes[code].used = True

    def validate_refresh_token(
        self, refresh_token: str, client: Any, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        known = self._refresh_tokens.get(refresh_token)
        if known is None or known.client_id != client.client_id:
            raise InvalidGrantError("the refresh token was not issued to this client, or is revoked")
        request.user = known.person
        return True

    def get_original_scopes(
        self, refresh_token: str, request: Request, *args: Any, **kwargs: Any
    ) -> list[str]:
        return list(self._refresh_tokens[refresh_token].scopes)

    def rotate_refresh_token(self, request: Request) -> bool:
        return False

    def save_bearer_token(self, token: Any, request: Any, *args: Any, **kwargs: Any) -> None:
        refreshing = request.grant_type == "refresh_token"
        code = self._refresh_tokens[request.refresh_token].code if refreshing else self._codes[request.code]
        expires = self._now() + self._lifetime
        made = Oauth2Token(request.client_id, tuple(request.scopes or ()), request.user, expires, code)
        self._tokens[token["access_token"]] = made
        code.tokens.append(token["access_token"])
        if not refreshing and "refresh_token" in token:
            self._refresh_tokens[token["refresh_token"]] = made
            code.tokens.append(token["refresh_token"])

    def revoke_token(
        self, token: str, token_type_hint: str, request: Request, *args: Any, **kwargs: Any
    ) -> None:
        """Revoke a client's own access token, or all tokens of its refresh token (RFC 7009, section 2.1)."""
        assert request.client is not None  # `authenticate_client` has set it
        refresh = self._refresh_tokens.get(token)
        known = refresh or self._tokens.get(token)
        if known is None or known.client_id != request.client.client_id:
            return
        if refresh is not None:
            self._revoke(refresh.code)
        self._tokens.pop(token, None)

    def _forget_dead(self) -> None:
        """Remove expired access tokens, and expired codes without living tokens; others are kept to detect a replay."""
        now = self._now()
        self._tokens = {name: token for name, token in self._tokens.items() if now < token.expires}
        living = self._tokens.keys() | self._refresh_tokens.keys()
        self._codes = {
            name: code
            for name, code in self._codes.items()
            if now < code.expires or not living.isdisjoint(code.tokens)
        }

    def _revoke(self, code: Code) -> None:
        for each in code.tokens:
            self._tokens.pop(each, None)
            self._refresh_tokens.pop(each, None)


def _basic(header: str) -> tuple[str, str] | None:
    """Return client id and secret of a Basic header, form-decoded (RFC 6749 2.3.1); empty if malformed."""
    scheme, _, text = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        id, colon, secret = base64.b64decode(text.strip(), validate=True).decode().partition(":")
    except ValueError:
        id, colon, secret = "", "", ""
    return (unquote_plus(id), unquote_plus(secret)) if colon else ("", "")
