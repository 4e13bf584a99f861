"""Access tokens of the OAuth provider: JWTs signed with the lab's own key (RFC 7519, RFC 9068 in spirit).

A token is valid until lab time reaches its `exp`, and only while its token set is the current one in the database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from sqlalchemy import Connection

from labkit.context import Context
from labkit.services.user.accounts import ACTIVE, UserIdentity
from labkit.services.user.keys import SIGNATURE_ONLY, Claims, Keys, lifetime_claims
from labkit.storage.database import execute

ALGORITHM = "RS256"

HOLDER = (
    f"SELECT {', '.join(f'user.{name}' for name in UserIdentity._fields)} FROM oauth_approval AS approval "
    "JOIN user ON user.solution = approval.solution AND user.id = approval.user_id "
    "WHERE approval.solution = ? AND approval.jti = ? AND approval.user_id = ? AND approval.client_id = ? "
    "AND approval.generation = user.generation"
)


async def sign(
    context: Context,
    keys: Keys,
    client_id: int,
    user_id: int,
    jti: str,
    scopes: Sequence[str],
    now: float,
    lifetime: int,
) -> str:
    """Return a signed access token that expires `lifetime` seconds after `now`."""
    claims = {
        "aud": str(client_id),
        "sub": str(user_id),
        "jti": jti,
        **lifetime_claims(now, lifetime),
        "scopes": list(scopes),
    }
    return jwt.encode(claims, await keys.private(), algorithm=ALGORITHM)


async def user_of(context: Context, keys: Keys, solution: str, token: str) -> UserIdentity | None:
    """Return the user of an access token, or None if the token is invalid, expired or revoked."""
    key = await keys.private()
    claims = keys.verified(ALGORITHM.encode(), token, lambda: verified(key, token))
    if claims is None or not claims["nbf"] <= context.clock.now() < claims["exp"]:
        return None
    return await context.database.read(holder, solution, claims)


def verified(key: RSAPrivateKey, token: str) -> Claims | None:
    """Return the claims of a token signed with the lab's own key, or None if the signature is wrong."""
    try:
        claims: Claims = jwt.decode(token, key.public_key(), algorithms=[ALGORITHM], options=SIGNATURE_ONLY)
    except (jwt.InvalidTokenError, UnicodeError):  # UnicodeError: the text cannot be encoded
        return None
    return claims


def holder(connection: Connection, solution: str, claims: Mapping[str, Any]) -> UserIdentity | None:
    """Return the active user of the token set that the claims identify; None if a newer set replaced it."""
    key = (solution, claims["jti"], int(claims["sub"]), int(claims["aud"]))
    row = execute(connection, HOLDER, key).fetchone()
    user = None if row is None else UserIdentity(*row)
    return user if user is not None and user.status == ACTIVE else None
