"""A client of the OAuth provider, for checks, attacks and tests: its requests and their parameters."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from labkit.conformance.verdict import Mismatch

CALLBACK = "https://app.example/callback"
SECOND = "https://app.example/second?keep=1"

Parameters = dict[str, Any]
Call = Callable[..., Awaitable[Any]]  # calls an operation of the User service: call("getUser", id=1)


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """Client of the OAuth provider, with the token of the user who approves it.

    call: makes the operations and returns their results, also error objects; owner: the user's id; record: the result
    of createOauthClient. `changes` override parameters of a request; None removes one.
    """

    call: Call
    owner: int
    token: str
    record: Mapping[str, Any]
    redirect_uri: str = CALLBACK

    @classmethod
    async def registered(
        cls, call: Call, owner: int, token: str, *, name: str = "Shop", redirect: object = CALLBACK
    ) -> Self:
        """Register a client for a user and return it. Raises Mismatch if it is refused."""
        record = await call("createOauthClient", id=owner, name=name, redirect=redirect)
        if not isinstance(record, dict) or not {"id", "secret"} <= record.keys():
            raise Mismatch(
                "what createOauthClient gives", "a client with id and secret", type(record).__name__
            )
        return cls(call, owner, token, record)

    def with_call(self, call: Call) -> Self:
        """Return the same client with another function for its operations."""
        return replace(self, call=call)

    @property
    def id(self) -> Any:
        return self.record["id"]

    @property
    def secret(self) -> Any:
        return self.record["secret"]

    @property
    def credentials(self) -> Parameters:
        """Id and secret, as parameters."""
        return {"client_id": self.id, "client_secret": self.secret}

    # ---- parameters of its requests

    def approval(self, **changes: object) -> Parameters:
        """Return the parameters of getOauthAuthorizeApproved."""
        given = {
            "token": self.token,
            "client_id": self.id,
            "redirect_uri": self.redirect_uri,
            "response_type": "code",
            "scope": "profile",
        }
        return _changed(given, changes)

    def exchange(self, code: object, **changes: object) -> Parameters:
        """Return the parameters of getOauthToken for a code."""
        given = {"grant_type": "authorization_code", "code": code, "redirect_uri": self.redirect_uri}
        return _changed({**self.credentials, **given}, changes)

    def renewal(self, refresh_token: object, **changes: object) -> Parameters:
        """Return the parameters of getOauthToken for a refresh token."""
        given = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        return _changed({**self.credentials, **given}, changes)

    # ---- requests

    async def approve(self, **changes: object) -> Any:
        """Return a code that the user approves."""
        return await self.call("getOauthAuthorizeApproved", **self.approval(**changes))

    async def redeem(self, code: object, **changes: object) -> Any:
        """Return the token set for a code."""
        return await self.call("getOauthToken", **self.exchange(code, **changes))

    async def refresh(self, refresh_token: object, **changes: object) -> Any:
        """Return the token set for a refresh token."""
        return await self.call("getOauthToken", **self.renewal(refresh_token, **changes))

    async def tokens(self, **changes: object) -> Any:
        """Return the token set for a new code."""
        return await self.redeem(await self.approve(), **changes)

    async def user_of(self, access_token: object) -> Any:
        """Return the user of an access token."""
        return await self.call("getCurrentUser", token=access_token)

    async def is_valid(self, tokens: Mapping[str, Any]) -> bool:
        """Return whether the access token of a set belongs to the client's user."""
        user = await self.user_of(tokens["access_token"])
        return isinstance(user, dict) and bool(user.get("id") == self.owner)


def _changed(given: Mapping[str, object], changes: Mapping[str, object]) -> Parameters:
    return {name: value for name, value in {**given, **changes}.items() if value is not None}


def oauth_error(error: Mapping[str, Any]) -> str | None:
    """Return the RFC's name of an error, from its JSON text, if it has one."""
    name = json.loads(error["error"]).get("code")
    if name is not None and not isinstance(name, str):
        raise Mismatch("code of an error", "a text", repr(name))
    return name
