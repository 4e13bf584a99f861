"""What checks of the OAuth provider play again and again: a user, a client, and what the client asks for."""

from __future__ import annotations

import json
from typing import Any

from labkit.conformance.oauth_requests import CALLBACK, Requests
from labkit.conformance.people import Person, User
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch


class Shop(User):
    """Ann, who is new, and a client of hers. `changes` put other parameters in place; None leaves one out."""

    ann: Person
    token: str  # a user token of Ann's
    client: dict[str, Any]

    @classmethod
    async def open(cls, target: Target, redirect: object = CALLBACK) -> Shop:
        """With a client that has these redirects."""
        shop = cls(target)
        shop.ann = await shop.person()
        shop.token = await shop.login(shop.ann)
        shop.client = await shop.register(shop.ann, redirect)
        return shop

    async def register(self, owner: Person, redirect: object = CALLBACK) -> dict[str, Any]:
        """Another client; it must have an id and a secret."""
        client = await self.table("createOauthClient", id=owner.id, name="Shop", redirect=redirect)
        if not isinstance(client, dict) or not {"id", "secret"} <= client.keys():
            raise self._mismatch("createOauthClient", "a client with id and secret", client)
        return client

    async def clients(self, owner: Person) -> list[Any]:
        """The clients of a user."""
        found = await self.table("getOauthClients", id=owner.id)
        listed = found.get("oauth_clients") if isinstance(found, dict) else None
        if not isinstance(listed, list):
            raise self._mismatch("getOauthClients", "oauth_clients, a list", found)
        return listed

    async def approve(self, **changes: object) -> str:
        """A code, which must be given."""
        return await self.text("getOauthAuthorizeApproved", **self._asks.approval(**changes))

    async def disapproved(self, status: int, **changes: object) -> str | None:
        """An approval must be refused: the name that the error has, if any."""
        return name_of(
            await self.refused("getOauthAuthorizeApproved", status, **self._asks.approval(**changes))
        )

    async def redeem(self, code: object, **changes: object) -> dict[str, Any]:
        """The token set for a code, which must be given."""
        return self._set(await self.table("getOauthToken", **self._asks.exchange(code, **changes)))

    async def unredeemed(self, status: int, code: object, **changes: object) -> str | None:
        """The exchange of a code must be refused: the name that the error has, if any."""
        return name_of(await self.refused("getOauthToken", status, **self._asks.exchange(code, **changes)))

    async def refresh(self, refresh_token: object, **changes: object) -> dict[str, Any]:
        """The token set for a refresh token, which must be given."""
        return self._set(await self.table("getOauthToken", **self._asks.renewal(refresh_token, **changes)))

    async def unrefreshed(self, status: int, refresh_token: object, **changes: object) -> str | None:
        """The exchange of a refresh token must be refused: the name that the error has, if any."""
        return name_of(
            await self.refused("getOauthToken", status, **self._asks.renewal(refresh_token, **changes))
        )

    async def tokens(self, **changes: object) -> dict[str, Any]:
        """A token set, by way of a code of its own."""
        return await self.redeem(await self.approve(), **changes)

    async def holds(self, tokens: dict[str, Any], owner: Person | None = None) -> None:
        """The access token of a set must speak for its user, Ann unless another is named."""
        await self.leads_to(tokens["access_token"], owner or self.ann)

    async def ended(self, tokens: dict[str, Any]) -> None:
        """The access token of a set must count no more."""
        await self.refused("getCurrentUser", 401, token=tokens["access_token"])

    def _set(self, tokens: object) -> dict[str, Any]:
        if not isinstance(tokens, dict) or not {"access_token", "refresh_token"} <= tokens.keys():
            raise self._mismatch("getOauthToken", "a set with access_token and refresh_token", tokens)
        return tokens

    @property
    def _asks(self) -> Requests:
        return Requests(self.token, self.client)


def name_of(error: dict[str, Any]) -> str | None:
    """The RFC's name of a refusal, which stands in its JSON text."""
    told = json.loads(error["error"])
    name = told.get("code")
    if name is not None and not isinstance(name, str):
        raise Mismatch("code of an error", "a text", repr(name))
    return name
