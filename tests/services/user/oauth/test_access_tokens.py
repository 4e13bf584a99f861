"""Access tokens with a valid signature whose claims belong to no token set."""

from __future__ import annotations

from collections.abc import Mapping

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from joserfc import jwt
from joserfc.jwk import RSAKey

from labkit.services.user.oauth import access_tokens
from tests.services.user.environment import Environment
from tests.services.user.oauth.clients import registered


async def test_validly_signed_claims_of_no_existing_set_are_refused(env: Environment) -> None:
    token = (await (await registered(env)).tokens())["access_token"]
    private = await env.user.keys.private()
    key = RSAKey.import_key(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    claims = jwt.decode(token, key, algorithms=["RS256"]).claims

    async def holder(change: Mapping[str, object]) -> object:
        signed = jwt.encode({"alg": "RS256"}, {**claims, **change}, key, algorithms=["RS256"])
        return await access_tokens.user_of(env.context, env.user.keys, "acme", signed)

    assert await holder({}) is not None
    for change in ({"aud": "2"}, {"sub": "2"}, {"jti": "another"}, {"exp": 0}, {"nbf": 2**40}):
        assert await holder(change) is None, change
