"""User tokens: what getUserToken issues and getCurrentUser resolves (document 2, Authentication, items 2 and 3).

A token is a JWT signed with the secret of its solution (HS256). It names the user and counts the user's
passwords (`gen`), so that a new password ends every token of before. Nothing is stored for it.
"""

from __future__ import annotations

from typing import Any

import jwt
from jwt.types import Options

from labkit.context import Context
from labkit.services.user import accounts
from labkit.services.user.accounts import ACTIVE, UserIdentity
from labkit.services.user.keys import SIGNATURE_ALONE, Keys, is_as_issued

ALGORITHM = "HS256"
CLAIMS = ("sub", "iss", "iat", "nbf", "exp", "jti", "gen")
COMPLETE: Options = {**SIGNATURE_ALONE, "require": list(CLAIMS)}


async def issue(context: Context, keys: Keys, solution: str, user: UserIdentity, time_to_live: int) -> str:
    """A token of a user; it is dead `time_to_live` seconds of lab time from now."""
    now = context.clock.seconds()
    claims = {
        "sub": str(user.id),
        "iss": solution,
        "iat": now,
        "nbf": now,
        "exp": now + time_to_live,
        "jti": context.identifiers.hex(f"{solution}/user/{user.id}/token", 32),
        "gen": user.generation,
    }
    return jwt.encode(claims, await keys.secret(solution), ALGORITHM)


async def user_of(context: Context, keys: Keys, solution: str, token: str) -> UserIdentity | None:
    """The user whose token this is.

    None where the token is malformed, of another solution, not yet or no longer valid, of a password that was
    changed since, or of a user who is deleted or inactive.
    """
    if not is_as_issued(token):
        return None
    claims = verified(await keys.secret(solution), solution, token)
    if claims is None or not claims["nbf"] <= context.clock.seconds() < claims["exp"]:
        return None
    user = await context.database.read(accounts.get, solution, int(claims["sub"]))
    if user is None or user.status != ACTIVE or user.generation != claims["gen"]:
        return None
    return user


def verified(secret: bytes, solution: str, token: str) -> dict[str, Any] | None:
    """The claims of a token that is signed with `secret`: only `issue` signs with it, so they are as it set them."""
    try:
        claims: dict[str, Any] = jwt.decode(
            token, secret, algorithms=[ALGORITHM], issuer=solution, options=COMPLETE
        )
    except (jwt.InvalidTokenError, UnicodeError):  # text that cannot be encoded is no token either
        return None
    return claims
