"""Common steps of the checks of the OAuth provider: a user, a client, and its accepted and refused requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.conformance.target import Target
from labkit.conformance.user.oauth.client import CALLBACK, OAuthClient, oauth_error
from labkit.conformance.users import Person, User


class Shop(User):
    """A new user, Ann, and her client. `changes` as in OAuthClient."""

    ann: Person
    client: OAuthClient

    @classmethod
    async def open(cls, target: Target, redirect: object = CALLBACK) -> Shop:
        """Create Ann and a client with these redirects."""
        shop = cls(target)
        shop.ann = await shop.person()
        token = await shop.login(shop.ann)
        shop.client = await OAuthClient.registered(shop.table, shop.ann.id, token, redirect=redirect)
        return shop

    async def register(self, owner: Person, redirect: object = CALLBACK) -> Mapping[str, Any]:
        """Register another client; it must have an id and a secret."""
        return (await OAuthClient.registered(self.table, owner.id, "", redirect=redirect)).record

    async def clients(self, owner: Person) -> list[Any]:
        """Return the clients of a user."""
        found = await self.table("getOauthClients", id=owner.id)
        listed = found.get("oauth_clients") if isinstance(found, dict) else None
        if not isinstance(listed, list):
            raise self.mismatch("getOauthClients", "oauth_clients, a list", found)
        return listed

    async def approve(self, **changes: object) -> str:
        """Return a code; the approval must succeed."""
        return str(await self.client.with_call(self.text).approve(**changes))

    async def refused_approval(self, status: int, **changes: object) -> str | None:
        """Return the error's name of an approval that must be refused, if it has one."""
        return oauth_error(await self._refused(status).approve(**changes))

    async def redeem(self, code: object, **changes: object) -> dict[str, Any]:
        """Return the token set for a code; the exchange must succeed."""
        return self._set(await self.client.redeem(code, **changes))

    async def refused_redemption(self, status: int, code: object, **changes: object) -> str | None:
        """Return the error's name of a code's exchange that must be refused, if it has one."""
        return oauth_error(await self._refused(status).redeem(code, **changes))

    async def refresh(self, refresh_token: object, **changes: object) -> dict[str, Any]:
        """Return the token set for a refresh token; the exchange must succeed."""
        return self._set(await self.client.refresh(refresh_token, **changes))

    async def refused_refresh(self, status: int, refresh_token: object, **changes: object) -> str | None:
        """Return the error's name of a refresh that must be refused, if it has one."""
        return oauth_error(await self._refused(status).refresh(refresh_token, **changes))

    async def tokens(self, **changes: object) -> dict[str, Any]:
        """Return the token set for a new code."""
        return await self.redeem(await self.approve(), **changes)

    async def expect_valid(self, tokens: dict[str, Any], owner: Person | None = None) -> None:
        """Raise a Mismatch unless the access token of a set belongs to its user, by default Ann."""
        await self.expect_owner(tokens["access_token"], owner or self.ann)

    async def expect_ended(self, tokens: dict[str, Any]) -> None:
        """Raise a Mismatch unless the access token of a set is refused."""
        await self._refused(401).user_of(tokens["access_token"])

    def _refused(self, status: int) -> OAuthClient:
        """Return the client, with operations that must be refused with this status."""

        async def call(operation: str, **parameters: object) -> dict[str, Any]:
            return await self.refused(operation, status, **parameters)

        return self.client.with_call(call)

    def _set(self, tokens: object) -> dict[str, Any]:
        if not isinstance(tokens, dict) or not {"access_token", "refresh_token"} <= tokens.keys():
            raise self.mismatch("getOauthToken", "a set with access_token and refresh_token", tokens)
        return tokens
