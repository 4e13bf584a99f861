"""A client of the OAuth provider, for checks, attacks and tests: what it asks for, and what it is given."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from labkit.conformance.verdict import Mismatch

CALLBACK = "https://app.example/callback"
SECOND = "https://app.example/second?keep=1"

Parameters = dict[str, Any]
Call = Callable[..., Awaitable[Any]]  # makes an operation of the User service: call("getUser", id=1)


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A client, on behalf of the user whose token it has.

    call: makes the operations, and gives what comes of them, error objects too; owner: the user's id; record:
    what createOauthClient gave. Of each request, `changes` put other parameters in place; None leaves one out.
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
        """A new client of a user's. Raises Mismatch where there is none."""
        record = await call("createOauthClient", id=owner, name=name, redirect=redirect)
        if not isinstance(record, dict) or not {"id", "secret"} <= record.keys():
            raise Mismatch(
                "what createOauthClient gives", "a client with id and secret", type(record).__name__
            )
        return cls(call, owner, token, record)

    def through(self, call: Call) -> Self:
        """The same client, whose operations are made in another way."""
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

    # ---- the parameters of what it asks for

    def approval(self, **changes: object) -> Parameters:
        """Of getOauthAuthorizeApproved."""
        given = {
            "token": self.token,
            "client_id": self.id,
            "redirect_uri": self.redirect_uri,
            "response_type": "code",
            "scope": "profile",
        }
        return _changed(given, changes)

    def exchange(self, code: object, **changes: object) -> Parameters:
        """Of getOauthToken, for a code."""
        given = {"grant_type": "authorization_code", "code": code, "redirect_uri": self.redirect_uri}
        return _changed({**self.credentials, **given}, changes)

    def renewal(self, refresh_token: object, **changes: object) -> Parameters:
        """Of getOauthToken, for a refresh token."""
        given = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        return _changed({**self.credentials, **given}, changes)

    # ---- what it asks for

    async def approve(self, **changes: object) -> Any:
        """A code, which the user approves."""
        return await self.call("getOauthAuthorizeApproved", **self.approval(**changes))

    async def redeem(self, code: object, **changes: object) -> Any:
        """The token set for a code."""
        return await self.call("getOauthToken", **self.exchange(code, **changes))

    async def refresh(self, refresh_token: object, **changes: object) -> Any:
        """The token set for a refresh token."""
        return await self.call("getOauthToken", **self.renewal(refresh_token, **changes))

    async def tokens(self, **changes: object) -> Any:
        """A token set, by way of a new code."""
        return await self.redeem(await self.approve(), **changes)

    async def user_of(self, access_token: object) -> Any:
        """The user whom an access token leads to."""
        return await self.call("getCurrentUser", token=access_token)

    async def holds(self, tokens: Mapping[str, Any]) -> bool:
        """Does the access token of a set lead to the client's user?"""
        user = await self.user_of(tokens["access_token"])
        return isinstance(user, dict) and bool(user.get("id") == self.owner)


def _changed(given: Mapping[str, object], changes: Mapping[str, object]) -> Parameters:
    return {name: value for name, value in {**given, **changes}.items() if value is not None}


def name_of(error: Mapping[str, Any]) -> str | None:
    """The RFC's name of a refusal, which stands in its JSON text, if it has one."""
    name = json.loads(error["error"]).get("code")
    if name is not None and not isinstance(name, str):
        raise Mismatch("code of an error", "a text", repr(name))
    return name
