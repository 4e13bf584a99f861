"""Provider's side of OAuth 2 (RFC 6749, 6750, 7636), based on oauthlib. Lifetimes are in lab time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qs

from oauthlib.common import Request
from oauthlib.oauth2 import (
    AccessDeniedError,
    AuthorizationCodeGrant,
    AuthorizationEndpoint,
    BearerToken,
    FatalClientError,
    InvalidClientIdError,
    InvalidGrantError,
    MismatchingRedirectURIError,
    OAuth2Error,
    RefreshTokenGrant,
    RevocationEndpoint,
    TokenEndpoint,
)
from oauthlib.oauth2.rfc6749.tokens import get_token_from_header

from labkit.core.redaction import without_query_values
from labkit.providers.social.issued import ProtocolState
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
from labkit.providers.social.oauth2_validator import Oauth2Validator
from labkit.providers.social.openid import OpenId
from labkit.providers.social.redaction import HIDDEN
from labkit.settings import Person

Fields = Mapping[str, object]


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
        self._validator = Oauth2Validator(kind, applications, now)
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
