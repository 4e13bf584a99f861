"""Provider's side of OAuth 2 (RFC 6749, 6750, 7636), based on oauthlib. Lifetimes are in lab time."""

from __future__ import annotations

import base64
import hmac
import json
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qs, unquote_plus

from oauthlib.common import Request
from oauthlib.oauth2 import (
    AccessDeniedError,
    AuthorizationCodeGrant,
    AuthorizationEndpoint,
    BearerToken,
    FatalClientError,
    InvalidClientError,
    InvalidClientIdError,
    InvalidGrantError,
    InvalidRequestError,
    MismatchingRedirectURIError,
    OAuth2Error,
    RefreshTokenGrant,
    RequestValidator,
    RevocationEndpoint,
    TokenEndpoint,
    UnsupportedResponseTypeError,
)
from oauthlib.oauth2.rfc6749.tokens import get_token_from_header

from labkit.core.hiding import without_query_values
from labkit.providers.social.hiding import HIDDEN
from labkit.providers.social.issued import Code, Oauth2Token, ProtocolState, oauth2_state, oauth2_tokens
from labkit.providers.social.kinds import ProviderKind
from labkit.providers.social.messages import (
    JSON,
    Application,
    AuthorizationRequest,
    ErrorRedirect,
    FatalRequestError,
    ProviderRequest,
    ProviderResponse,
)
from labkit.providers.social.openid import OpenId
from labkit.settings import Person

Fields = Mapping[str, object]
CODE_LIFETIME = 600  # seconds of lab time (RFC 6749 4.1.2 recommends no more)


class OAuth2:
    """OAuth 2 endpoints of a provider, with their codes and tokens.

    applications: client id → application; now: returns lab time; secret: returns a token of the given length; openid:
    issuer of ID tokens.
    """

    def __init__(
        self,
        realm: str,
        kind: ProviderKind,
        applications: Mapping[str, Application],
        now: Callable[[], float],
        secret: Callable[[int], str],
        openid: OpenId,
    ) -> None:
        self._openid = openid
        self._realm = realm
        self._kind = kind
        self._applications = applications
        self._validator = _Oauth2Validator(kind, applications, now)
        refreshes = "refresh_token" in kind.token_fields
        grant = _CodeGrant(self._validator, refresh_token=refreshes)
        grant.new_code = partial(secret, 40)
        bearer: Any = BearerToken(  # its type stubs are wrong
            self._validator,
            token_generator=lambda request: secret(64),
            expires_in=kind.lifetime,
        )
        self._authorize = AuthorizationEndpoint("code", bearer, {"code": grant})
        refresh = RefreshTokenGrant(self._validator)
        self._revocation = RevocationEndpoint(self._validator)
        self._token = TokenEndpoint(
            "authorization_code", bearer, {"authorization_code": grant, "refresh_token": refresh}
        )

    def ask(self, call: ProviderRequest) -> AuthorizationRequest:
        call = call.canonical()
        try:
            scopes, authorization = self._authorize.validate_authorization_request(call.url)
        except FatalClientError as error:
            raise FatalRequestError(400, _reason(error)) from None
        except OAuth2Error as error:
            raise ErrorRedirect(error.in_uri(str(error.redirect_uri))) from None
        return AuthorizationRequest(
            call,
            self._applications[authorization["client_id"]],
            str(authorization["redirect_uri"]),
            tuple(scopes or ()),
        )

    def approve(self, authorization: AuthorizationRequest, person: Person) -> str:
        try:
            headers, _, _ = self._authorize.create_authorization_response(
                authorization.call.url, scopes=list(authorization.scopes), credentials={"user": person}
            )
        except FatalClientError as error:  # the application has changed in the meantime
            raise FatalRequestError(400, _reason(error)) from None
        return str(headers["Location"])

    def deny(self, authorization: AuthorizationRequest) -> str:
        state = parse_qs(authorization.call.query).get("state", [None])[0]
        return str(AccessDeniedError("the person said no", state=state).in_uri(authorization.back))

    def token(self, call: ProviderRequest) -> ProviderResponse:
        call = call.canonical()
        try:
            _, body, status = self._token.create_token_response(
                call.url, "POST", call.body, dict(call.headers)
            )
        except OAuth2Error as error:
            return self._refused(error, call)
        answer: dict[str, Any] = json.loads(body)
        if status != 200:
            return self._refusal(status, answer, call)
        reply = {name: answer[name] for name in self._kind.token_fields if name in answer}
        reply["token_type"] = self._kind.token_type
        token = self._validator.alive(answer["access_token"])
        if self._kind.openid and token is not None and "openid" in token.scopes:
            reply["id_token"] = self._openid.id_token(token)
        if "scope" in reply:
            reply["scope"] = str(reply["scope"]).replace(" ", self._kind.scope_mark)
        return self._reply(200, reply, call, "an access token")

    def revoke(self, call: ProviderRequest) -> ProviderResponse:
        """Return the answer to a revocation (RFC 7009): 200 for an unknown token, too."""
        call = call.canonical()
        _, body, status = self._revocation.create_revocation_response(
            call.url, "POST", call.body, dict(call.headers)
        )
        if status != 200:
            return self._refusal(status, json.loads(body), call)
        return ProviderResponse.json(200, {}, "the token is revoked")

    def discovery(self, call: ProviderRequest) -> ProviderResponse:
        """Return the answer with the OpenID configuration."""
        return ProviderResponse.json(200, self._openid.configuration(), "the OpenID configuration")

    def certs(self, call: ProviderRequest) -> ProviderResponse:
        """Return the answer with the keys that verify ID tokens."""
        return ProviderResponse.json(200, self._openid.keys(), "the keys")

    def snapshot(self) -> ProtocolState:
        return self._validator.snapshot()

    def restore(self, state: ProtocolState) -> None:
        self._validator.restore(state)

    def expired(self) -> ProviderResponse:
        return self._refused(InvalidGrantError("the code has expired"), ProviderRequest("POST", "", {}))

    def userinfo(self, call: ProviderRequest) -> ProviderResponse:
        call = call.canonical()
        request = Request(call.url, "GET", call.body, dict(call.headers))
        shown = get_token_from_header(request)
        realm = f'Bearer realm="{self._realm}"'
        if shown is None:  # without a token the challenge has no error code (RFC 6750 3.1)
            reason = "an access token is needed"
            return ProviderResponse.json(401, {"error": reason}, reason, {"WWW-Authenticate": realm})
        token = self._validator.alive(shown)
        if token is None:
            reason = "the access token is unknown, expired or revoked"
            challenge = f'{realm}, error="invalid_token", error_description="{reason}"'
            answer = {"error": "invalid_token", "error_description": reason}
            return ProviderResponse.json(401, answer, reason, {"WWW-Authenticate": challenge})
        fields = frozenset(filter(None, ",".join(parse_qs(call.query).get("fields", [])).split(",")))
        info = self._kind.user_info(token.person, frozenset(token.scopes), fields)
        return ProviderResponse.json(200, info, f"user info of {token.person.id}")

    def _refused(self, error: OAuth2Error, call: ProviderRequest) -> ProviderResponse:
        return self._refusal(error.status_code, dict(error.twotuples), call)

    def _refusal(self, status: int, answer: Fields, call: ProviderRequest) -> ProviderResponse:
        """Return the error of RFC 6749 5.2, or the form of it that providers with status 200 for errors use."""
        code = str(answer["error"])
        words = f"{code}: {answer.get('error_description', '')}".rstrip(": ")
        if self._kind.errors:
            return self._reply(200, {**answer, "error": self._kind.errors.get(code, code)}, call, words)
        headers = {"WWW-Authenticate": f'Basic realm="{self._realm}"'} if status == 401 else {}
        return ProviderResponse.json(status, dict(answer), words, headers)

    def _reply(self, status: int, value: Fields, call: ProviderRequest, summary: str) -> ProviderResponse:
        if self._kind.form and JSON not in call.headers.get("accept", ""):
            return ProviderResponse.form(value, summary)
        return ProviderResponse.json(status, value, summary)


def _reason(error: OAuth2Error) -> str:
    if isinstance(error, MismatchingRedirectURIError):
        redirect = without_query_values(str(error.redirect_uri), HIDDEN)
        return f"redirect_uri {redirect!r} is not registered for the client {error.client_id!r}."
    if isinstance(error, InvalidClientIdError):
        return f"The client {error.client_id!r} is not registered here."
    return error.description or str(error.error).replace("_", " ")


class _CodeGrant(AuthorizationCodeGrant):
    """Code grant that creates codes from the lab's seed, so that a run can be repeated."""

    new_code: Callable[[], str]

    def create_authorization_code(self, request: Request) -> dict[str, str]:
        grant = {"code": self.new_code()}
        if request.state:
            grant["state"] = request.state
        return grant


class _Oauth2Validator(RequestValidator):
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
