"""OAuth clients for tests of the provider."""

from __future__ import annotations

from functools import cache

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from sqlalchemy import Connection
from sqlalchemy.dialects.sqlite import insert

from labkit.conformance.user.oauth.client import CALLBACK, OAuthClient
from labkit.services.user.keys import LAB, key_table
from tests.services.user.environment import Environment


async def registered(env: Environment, name: str = "ann", redirect: object = CALLBACK) -> OAuthClient:
    """Register a client of a new user. The lab's key is prepared, since generating one takes longer than most tests."""
    await env.database.run(_with_key, _key())
    user = await env.person(name)
    token = await env.token(user, 10**9)
    return await OAuthClient.registered(env.call, user.id, token, redirect=redirect)


@cache
def _key() -> bytes:
    return rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _with_key(connection: Connection, key: bytes) -> None:
    connection.execute(insert(key_table).values(owner=LAB, key=key).on_conflict_do_nothing())
