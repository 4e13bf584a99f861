"""For tests of the OAuth provider: a client of Ann's, and what it does."""

from __future__ import annotations

from functools import cache
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from sqlalchemy import Connection
from sqlalchemy.dialects.sqlite import insert

from labkit.conformance.oauth_requests import CALLBACK, Requests
from labkit.services.user.keys import LAB, key_table
from tests.services.user.place import Place


class Party:
    """Ann, her user token, and a client that she registered."""

    def __init__(self, place: Place, id: int, token: str, client: dict[str, Any]) -> None:
        self.place = place
        self.id = id
        self.token = token
        self.client = client
        self.asks = Requests(token, client)

    @classmethod
    async def at(cls, place: Place, name: str = "ann", redirect: object = CALLBACK) -> Party:
        """Somebody new, with a client. The lab's key is there already: making one takes longer than most tests."""
        await place.database.run(_with_key, _key())
        user = await place.person(name)
        client = await place.call("createOauthClient", id=user.id, name="Shop", redirect=redirect)
        return cls(place, user.id, await place.token(user, 10**9), client)

    async def approve(self, **changes: object) -> Any:
        """A code; `changes` as in Requests."""
        return await self.place.call("getOauthAuthorizeApproved", self.asks.approval(**changes))

    async def redeem(self, code: object, **changes: object) -> Any:
        """What a code gives."""
        return await self.place.call("getOauthToken", self.asks.exchange(code, **changes))

    async def refresh(self, refresh_token: object, **changes: object) -> Any:
        """What a refresh token gives."""
        return await self.place.call("getOauthToken", self.asks.renewal(refresh_token, **changes))

    async def tokens(self, **changes: object) -> Any:
        """A token set, by way of a new code."""
        return await self.redeem(await self.approve(), **changes)

    async def alive(self, tokens: Any) -> bool:
        """Does the access token of a set speak for its user?"""
        user = await self.place.call("getCurrentUser", token=tokens["access_token"])
        return bool(user.get("id") == self.id)


@cache
def _key() -> bytes:
    return rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _with_key(connection: Connection, key: bytes) -> None:
    connection.execute(insert(key_table).values(owner=LAB, key=key).on_conflict_do_nothing())


def name_of(error: Any) -> str:
    """The RFC's name of a refusal."""
    import json

    return str(json.loads(error["error"])["code"])
