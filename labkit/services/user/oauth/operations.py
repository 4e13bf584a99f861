"""The group Oauth of the User service: the platform as an OAuth provider (document 2, Endpoints, Oauth).

RFC 6749 with authorization codes and refresh tokens; RFC 6750 for the user's bearer token. A solution serves the pages
and endpoints, and calls these operations to check requests and issue tokens.
"""

from __future__ import annotations

import base64
from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr

from labkit.core.errors import ServiceError
from labkit.core.words import counted
from labkit.services.arguments import Whole
from labkit.services.operation import Caller, operation
from labkit.services.redaction import InJournal, names, urls, words_or_lengths
from labkit.services.user import user_tokens
from labkit.services.user.accounts import Id
from labkit.services.user.errors import unknown
from labkit.services.user.group import Group
from labkit.services.user.oauth import access_tokens, clients, codes, tokens
from labkit.services.user.oauth.clients import Redirects

ACCESS_LIFETIME = 1_296_000  # seconds (document 2, Limits)
REFRESH_LIFETIME = 31_104_000


def _printable(name: str) -> str:
    if not name.isprintable():
        raise ValueError("expected printable characters")
    return name


Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_printable)]
Scope = Annotated[str, Field(max_length=1000)]  # limited, since tokens contain it and are sent in headers
Lifetime = Annotated[Whole, Field(ge=1, lt=2**53)]  # seconds


class Oauth(Group):
    """Operations on the OAuth provider's clients, codes and tokens."""

    @operation
    async def createOauthClient(
        self, caller: Caller, id: Id, name: Name, redirect: Redirects
    ) -> dict[str, object]:
        """Register an OAuth client of a user. Returns the client, with its secret.

        redirect: a redirect URI, or several with commas. 404 if there is no such user; 400 if a URI is not
        absolute or has a fragment.
        """
        secret = self._context.identifiers.alphanumeric(f"{caller.solution}/oauth client", 40)
        client = await self._run(caller, clients.create, id, name, redirect, secret, self._now())
        return client.shown()

    @operation
    async def updateOauthClient(
        self, caller: Caller, id: Id, client_id: Id, name: Name, redirect: Redirects
    ) -> dict[str, object]:
        """Set the name and redirect URIs of a user's OAuth client. Returns the client; 404 if it is not theirs."""
        client = await self._run(caller, clients.change, id, client_id, name, redirect, self._now())
        return client.shown()

    @operation
    async def deleteOauthClient(self, caller: Caller, id: Id, client_id: Id) -> None:
        """Delete a user's OAuth client and revoke its codes and tokens. Returns nil; 404 if it is not theirs."""
        await self._run(caller, clients.revoke, id, client_id, self._now())

    @operation
    async def getOauthClients(self, caller: Caller, id: Id) -> dict[str, object]:
        """List the OAuth clients of a user: `{oauth_clients}`, a list. 404 if there is no such user."""
        found = await self._read(caller, clients.of_user, id)
        return {"oauth_clients": [client.shown() for client in found]}

    @operation
    async def getOauthClientRedirectPath(self, caller: Caller, client_id: Id, redirectIndex: Id = 0) -> str:
        """Return the path of the solution where a user approves an OAuth client.

        redirectIndex: the client's redirect URI to use, counted from 0. 404 if there is no such client, 400
        where it has no such redirect.
        """
        client = await self._read(caller, clients.get, client_id)
        if client is None:
            raise unknown("OAuth client", client_id)
        path = client.path(redirectIndex)
        if path is None:
            raise ServiceError(
                400,
                f"redirectIndex {redirectIndex} is out of range: {counted(len(client.redirects), 'redirect')}.",
            )
        return path

    @operation
    async def getOauthAuthorizeApproved(
        self,
        caller: Caller,
        token: SecretStr,
        client_id: Id,
        redirect_uri: Annotated[str, InJournal(urls)],
        response_type: Annotated[str, words_or_lengths("code", "token")],
        scope: Annotated[Scope, InJournal(names)] = "",
    ) -> str:
        """Return an authorization code for a client that the user of a token approved.

        The code works once, within 600 seconds. Errors as in RFC 6750, 3.1 and RFC 6749, 4.1.2.1: invalid_token
        401; unauthorized_client, invalid_request, unsupported_response_type, invalid_scope 400.
        """
        user = await user_tokens.user_of(self._context, self.keys, caller.solution, token.get_secret_value())
        if user is None:
            raise codes.invalid_token()
        code = self._context.identifiers.alphanumeric(f"{caller.solution}/oauth code", 40)
        approval = codes.Approval(client_id, redirect_uri, response_type, scope)
        await self._run(caller, codes.issue, user, approval, code, self._context.clock.now())
        return code

    @operation
    async def getOauthToken(
        self,
        caller: Caller,
        grant_type: Annotated[
            str, words_or_lengths("authorization_code", "refresh_token", "password", "client_credentials")
        ],
        client_id: Id,
        client_secret: SecretStr | None = None,
        code: SecretStr | None = None,
        redirect_uri: Annotated[str | None, InJournal(urls)] = None,
        refresh_token: SecretStr | None = None,
        access_token_ttl: Lifetime = ACCESS_LIFETIME,
        refresh_token_ttl: Lifetime = REFRESH_LIFETIME,
    ) -> dict[str, object]:
        """Exchange a code or a refresh token for new tokens, which replace the client's earlier tokens for this user.

        Returns `{expires_in, token_type, access_token, refresh_token}`. grant_type authorization_code needs code
        and redirect_uri, refresh_token needs refresh_token. The solution sets the lifetimes, in seconds, never its
        clients. Errors as in RFC 6749, 5.2: invalid_client 401; unsupported_grant_type, invalid_request, invalid_grant
        400.
        """
        now = self._context.clock.now()
        actor = f"{caller.solution}/oauth token"
        new = tokens.NewSet(
            self._context.identifiers.hex(actor, 40),
            _base64url(self._context.identifiers.hex(actor, 128)),
            now + refresh_token_ttl,
        )
        request = tokens.TokenRequest(
            grant_type, client_id, _plain(client_secret), _plain(code), redirect_uri, _plain(refresh_token)
        )
        granted = await self._run(caller, tokens.exchange, request, new, now)
        access_token = await access_tokens.sign(
            self._context,
            self.keys,
            client_id,
            granted.user_id,
            new.jti,
            granted.scope.split(),
            now,
            access_token_ttl,
        )
        return {
            "expires_in": access_token_ttl,
            "token_type": "Bearer",
            "access_token": access_token,
            "refresh_token": new.refresh_token,
        }

    def _now(self) -> int:
        return self._context.clock.seconds()


def _plain(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()


def _base64url(digits: str) -> str:
    return base64.urlsafe_b64encode(bytes.fromhex(digits)).rstrip(b"=").decode()
