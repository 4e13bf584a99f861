"""User tokens, which getUserToken issues and getCurrentUser resolves (document 2, Authentication, items 2 and 3).

A token is a JWT signed with the secret of its solution (HS256). It names the user and the generation of the user's
password (`gen`), so that a new password ends every earlier token. Tokens are not stored.
"""

from __future__ import annotations

import json

import jwt
from jwt.types import Options

from labkit.context import Context
from labkit.services.user import accounts
from labkit.services.user.accounts import ACTIVE, UserIdentity
from labkit.services.user.keys import SIGNATURE_ONLY, SIGNER, Claims, Keys, lifetime_claims

ALGORITHM = "HS256"
CLAIMS = ("sub", "iss", "iat", "nbf", "exp", "jti", "gen")
COMPLETE: Options = {**SIGNATURE_ONLY, "require": list(CLAIMS)}


async def issue(context: Context, keys: Keys, solution: str, user: UserIdentity, time_to_live: int) -> str:
    """Return a new token of a user, which expires `time_to_live` seconds of lab time from now."""
    claims = {
        "sub": str(user.id),
        "iss": solution,
        **lifetime_claims(context.clock.now(), time_to_live),
        "jti": context.identifiers.hex(f"{solution}/user/{user.id}/token", 32),
        "gen": user.generation,
    }
    payload = json.dumps(claims, separators=(",", ":")).encode()
    return SIGNER.encode(payload, await keys.secret(solution), ALGORITHM)


async def user_of(context: Context, keys: Keys, solution: str, token: str) -> UserIdentity | None:
    """Return the user of a token, or None where the token is not valid.

    A token is invalid if it is malformed, of another solution, not valid yet, expired, or issued for an earlier
    password (unless `wire.lasting_tokens`), or if its user is deleted or inactive.
    """
    secret = await keys.secret(solution)
    claims = keys.verified(secret, token, lambda: verified(secret, solution, token))
    if claims is None or not claims["nbf"] <= context.clock.now() < claims["exp"]:
        return None
    user = await context.database.read(accounts.get, solution, int(claims["sub"]))
    if user is None or user.status != ACTIVE:
        return None
    return user if context.wire.lasting_tokens or user.generation == claims["gen"] else None


def verified(secret: bytes, solution: str, token: str) -> Claims | None:
    """Return the claims of a token signed with `secret`, or None if the signature is wrong or a claim is missing."""
    try:
        claims: Claims = jwt.decode(token, secret, algorithms=[ALGORITHM], issuer=solution, options=COMPLETE)
    except (jwt.InvalidTokenError, UnicodeError):  # UnicodeError: the text cannot be encoded
        return None
    return claims
