"""Provider's side of OAuth 1.0a (RFC 5849), based on oauthlib. Lifetimes are in lab time."""

from __future__ import annotations

import hmac
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode

from oauthlib.common import Request, add_params_to_uri
from oauthlib.oauth1 import (
    SIGNATURE_HMAC_SHA1,
    AccessTokenEndpoint,
    AuthorizationEndpoint,
    RequestTokenEndpoint,
    RequestValidator,
    ResourceEndpoint,
)

from labkit.providers.social.issued import AccessToken, ProtocolState, Temporary
from labkit.providers.social.kinds import ProviderKind, number
from labkit.providers.social.messages import (
    Application,
    AuthorizationRequest,
    FatalRequestError,
    ProviderRequest,
    ProviderResponse,
)
from labkit.settings import Person

LIFETIME = 600  # seconds of lab time until a request token expires
LEEWAY = 300  # seconds that a request's timestamp may differ from lab time
DUMMY = "dummy"  # replaces unknown keys and secrets, so that the signature is checked all the same
WRONG_SIGNATURE = "the signature is wrong"


@dataclass(slots=True)
class Oauth1State:
    """Applications, tokens and used nonces. nonces: (timestamp, nonce, client, token) → lab time of its expiry."""

    applications: Mapping[str, Application]
    now: Callable[[], float]
    temporary: dict[str, Temporary] = field(default_factory=dict)
    lasting: dict[str, AccessToken] = field(default_factory=dict)
    nonces: dict[tuple[int, str, str, str], int] = field(default_factory=dict)


class OAuth1:
    """OAuth 1.0a endpoints of a provider, with their tokens.

    applications: client id → application; now: returns lab time; secret: returns a token of the given length,
    only letters and digits, since scripts read request tokens from cookies with such a pattern.
    """

    def __init__(
        self,
        realm: str,
        kind: ProviderKind,
        applications: Mapping[str, Application],
        now: Callable[[], float],
        secret: Callable[[int], str],
    ) -> None:
        self._challenge = {"WWW-Authenticate": f'OAuth realm="{realm}"'}
        self._kind = kind
        self._state = Oauth1State(applications, now)
        self._new = lambda: secret(32)

    def ask(self, call: ProviderRequest) -> AuthorizationRequest:
        token = parse_qs(call.query).get("oauth_token", [""])[0]
        known = self._waiting(token)
        return AuthorizationRequest(call, self._state.applications[known.client_id], known.callback)

    def approve(self, authorization: AuthorizationRequest, person: Person) -> str:
        token = parse_qs(authorization.call.query)["oauth_token"][0]
        self._waiting(token)  # it may have been approved in another tab
        validator = _Oauth1Validator(self._state, person)
        endpoint = AuthorizationEndpoint(validator, self._new)
        query = urlencode({"oauth_token": token})
        headers, _, _ = endpoint.create_authorization_response(
            f"{authorization.call.url.partition('?')[0]}?{query}", credentials={}
        )
        return str(headers["Location"])

    def deny(self, authorization: AuthorizationRequest) -> str:
        token = parse_qs(authorization.call.query)["oauth_token"][0]
        self._state.temporary.pop(token, None)
        return str(add_params_to_uri(authorization.back, [("denied", token)]))

    def _waiting(self, token: str) -> Temporary:
        """Return an unapproved request token. Raises FatalRequestError if it is unknown, expired or approved."""
        known = self._state.temporary.get(token)
        if known is None or self._state.now() >= known.expires:
            raise FatalRequestError(400, "the request token is unknown or has expired")
        if known.verifier is not None:
            raise FatalRequestError(400, "the request token was approved already")
        return known

    def request_token(self, call: ProviderRequest) -> ProviderResponse:
        """Return the answer to a request for temporary credentials: a new request token."""

        def respond(validator: _Oauth1Validator) -> Any:
            return RequestTokenEndpoint(validator, self._new).create_request_token_response(
                call.url, call.method, call.body, dict(call.headers)
            )

        return self._credentials(respond, "a request token")

    def token(self, call: ProviderRequest) -> ProviderResponse:
        def respond(validator: _Oauth1Validator) -> Any:
            return AccessTokenEndpoint(validator, self._new).create_access_token_response(
                call.url, call.method, call.body, dict(call.headers)
            )

        return self._credentials(respond, "an access token")

    def snapshot(self) -> ProtocolState:
        state = self._state
        return ProtocolState(
            temporary=list(state.temporary.items()),
            lasting=list(state.lasting.items()),
            nonces=[(*nonce, expires) for nonce, expires in state.nonces.items()],
        )

    def restore(self, state: ProtocolState) -> None:
        self._state.temporary.update(state.temporary)
        self._state.lasting.update(state.lasting)
        for *nonce, expires in state.nonces:
            self._state.nonces[tuple(nonce)] = expires  # type: ignore[index]

    def expired(self) -> ProviderResponse:
        return self._refusal(401, "the request token has expired")

    def userinfo(self, call: ProviderRequest) -> ProviderResponse:
        validator = _Oauth1Validator(self._state)
        try:
            valid, request = ResourceEndpoint(validator).validate_protected_resource_request(
                call.url, call.method, call.body, dict(call.headers)
            )
        except ValueError:
            valid, request = False, None
        if not valid or request is None:
            return self._refusal(401, validator.reason or WRONG_SIGNATURE)
        validator.remember_nonce()
        person = self._state.lasting[request.resource_owner_key].person
        return ProviderResponse.json(
            200, self._kind.user_info(person, frozenset(), frozenset()), f"user info of {person.id}"
        )

    def _credentials(self, respond: Callable[[_Oauth1Validator], Any], summary: str) -> ProviderResponse:
        validator = _Oauth1Validator(self._state)
        try:
            _, body, status = respond(validator)
        except ValueError as error:
            return self._refusal(400, f"the request is malformed: {error}")
        pairs = dict(parse_qsl(body or ""))
        if status == 200:
            validator.remember_nonce()
            if validator.person is not None:
                pairs |= {"user_id": str(number(validator.person)), "screen_name": validator.person.id}
            return ProviderResponse.form(pairs, summary)
        reason = validator.reason or pairs.get("error_description") or pairs.get("error") or WRONG_SIGNATURE
        return self._refusal(status, reason)

    def _refusal(self, status: int, reason: str) -> ProviderResponse:
        headers = self._challenge if status == 401 else {}
        return ProviderResponse.json(status, {"errors": [{"code": 32, "message": reason}]}, reason, headers)


class _Oauth1Validator(RequestValidator):
    """Validator of one request. reason: why it is refused; empty if the request is valid or only its signature wrong.

    person: the one who approves (authorize), or the owner of the token (access token).
    """

    def __init__(self, state: Oauth1State, person: Person | None = None) -> None:
        super().__init__()
        self._state = state
        self._nonce: tuple[int, str, str, str] | None = None
        self.person = person
        self.reason = ""

    def remember_nonce(self) -> None:
        """Store the nonce of a valid request, so that it cannot be used again; remove expired nonces."""
        now, nonces = self._state.now(), self._state.nonces
        for each in [each for each, until in nonces.items() if until <= now]:
            del nonces[each]
        if self._nonce is not None:
            nonces[self._nonce] = self._nonce[0] + LEEWAY

    def _expect(self, holds: bool, reason: str) -> bool:
        if not holds and not self.reason:
            self.reason = reason
        return holds

    # ---- checks left to oauthlib

    @property
    def allowed_signature_methods(self) -> tuple[str, ...]:
        return (SIGNATURE_HMAC_SHA1,)

    @property
    def timestamp_lifetime(self) -> Any:
        return math.inf  # oauthlib would compare with real time

    dummy_client = DUMMY
    dummy_request_token = DUMMY
    dummy_access_token = DUMMY

    def check_client_key(self, client_key: str) -> bool:
        return True  # a key of another format is unknown anyway

    def check_request_token(self, request_token: str) -> bool:
        return True

    def check_access_token(self, request_token: str) -> bool:
        return True

    def check_verifier(self, verifier: str) -> bool:
        return True

    def check_nonce(self, nonce: str) -> bool:
        return len(nonce) <= 200

    def check_realms(self, realms: list[str]) -> bool:
        return True

    def get_default_realms(self, client_key: str, request: Request) -> list[str]:
        return []

    def get_realms(self, token: str, request: Request) -> list[str]:
        return []

    def validate_requested_realms(self, client_key: str, realms: list[str], request: Request) -> bool:
        return True

    def validate_realms(
        self,
        client_key: str,
        token: str,
        request: Request,
        uri: str | None = None,
        realms: list[str] | None = None,
    ) -> bool:
        return True

    # ---- every signed request

    def validate_timestamp_and_nonce(
        self,
        client_key: str,
        timestamp: Any,
        nonce: str,
        request: Request,
        request_token: str | None = None,
        access_token: str | None = None,
    ) -> bool:
        when, now = int(timestamp), int(self._state.now())
        if not self._expect(
            abs(now - when) < LEEWAY, f"the timestamp is {LEEWAY} seconds or more from {now}"
        ):
            return False
        self._nonce = (when, nonce, client_key, request_token or access_token or "")
        return self._expect(self._nonce not in self._state.nonces, "the nonce was used already")

    def validate_client_key(self, client_key: str, request: Request) -> bool:
        return self._expect(client_key in self._state.applications, "the consumer key is unknown")

    def get_client_secret(self, client_key: str, request: Request) -> str:
        application = self._state.applications.get(client_key)
        return application.client_secret if application is not None else DUMMY

    # ---- request token

    def validate_redirect_uri(self, client_key: str, redirect_uri: str, request: Request) -> bool:
        application = self._state.applications.get(client_key)
        registered = application is not None and redirect_uri in application.redirects
        return self._expect(registered, "oauth_callback is not registered for this application")

    def save_request_token(self, token: Any, request: Any) -> None:
        now, temporary = self._state.now(), self._state.temporary
        for each in [each for each, known in temporary.items() if known.expires <= now]:
            del temporary[each]
        temporary[token["oauth_token"]] = Temporary(
            request.client_key,
            token["oauth_token_secret"],
            request.redirect_uri,
            self._state.now() + LIFETIME,
        )

    # ---- authorize

    def verify_request_token(self, token: str, request: Request) -> bool:
        return token in self._state.temporary

    def get_redirect_uri(self, token: str, request: Request) -> str:
        return self._state.temporary[token].callback

    def save_verifier(self, token: str, verifier: Any, request: Request) -> None:
        known = self._state.temporary[token]
        known.person, known.verifier = self.person, verifier["oauth_verifier"]

    # ---- access token

    def validate_request_token(self, client_key: str, token: str, request: Request) -> bool:
        known = self._state.temporary.get(token)
        own = known is not None and known.client_id == client_key
        return self._expect(
            own, "the request token is not one that this consumer was given"
        ) and self._expect(
            known is not None and self._state.now() < known.expires, "the request token has expired"
        )

    def get_request_token_secret(self, client_key: str, token: str, request: Request) -> str:
        known = self._state.temporary.get(token)
        return known.secret if known is not None else DUMMY

    def validate_verifier(self, client_key: str, token: str, verifier: str, request: Request) -> bool:
        known = self._state.temporary.get(token)
        if known is None or known.verifier is None:
            return self._expect(False, "nobody has approved this token")
        right = hmac.compare_digest(known.verifier.encode(), verifier.encode())
        return self._expect(right, "the verifier is wrong")

    def save_access_token(self, token: Any, request: Any) -> None:
        self.person = self._state.temporary[request.resource_owner_key].person
        assert self.person is not None  # the verifier was right
        self._state.lasting[token["oauth_token"]] = AccessToken(
            request.client_key, token["oauth_token_secret"], self.person
        )

    def invalidate_request_token(self, client_key: str, request_token: str, request: Request) -> None:
        del self._state.temporary[request_token]

    # ---- user info

    def validate_access_token(self, client_key: str, token: str, request: Request) -> bool:
        known = self._state.lasting.get(token)
        own = known is not None and known.client_id == client_key
        return self._expect(own, "the access token is not one that this consumer was given")

    def get_access_token_secret(self, client_key: str, token: str, request: Request) -> str:
        known = self._state.lasting.get(token)
        return known.secret if known is not None else DUMMY
