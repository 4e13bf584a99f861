"""Faults of logins and user tokens that no row can say."""

from __future__ import annotations

from typing import Any

import jwt

from labkit.conformance.breaking import afterwards
from labkit.conformance.mutant import mutant
from labkit.core.database import execute
from labkit.services.user.accounts import ACTIVE

ACCOUNTS = "labkit.services.user.accounts"


@mutant("USR-TOKEN-1", f"{ACCOUNTS}:at_address")
def inactive_logs_in(original: Any) -> Any:
    """a login does not ask whether the user is active"""
    return lambda *args: (found := original(*args)) and (found[0]._replace(status=ACTIVE), found[1])


@mutant(
    "USR-TOKEN-3 USR-USER-17 USR-TOKEN-12 USR-GUIDE-13", "labkit.services.user.passwords:Passwords.verify"
)
def any_password_fits(original: Any) -> Any:
    """every password fits"""

    async def broken(self: Any, kept: str | None, password: str) -> bool:
        return kept is not None

    return broken


@mutant("USR-TOKEN-5", "labkit.core.identifiers:Identifiers.hex")
def same_jti(original: Any) -> Any:
    """tokens of one second are alike"""
    return lambda self, actor, length: "0" * length if "/token" in actor else original(self, actor, length)


@mutant("USR-TOKEN-7 USR-OAUTH-13 USR-OAUTH-38", "labkit.services.user.user_tokens:verified")
def not_verified(original: Any) -> Any:
    """the signature of a user token is not looked at"""

    def broken(secret: bytes, solution: str, token: str) -> Any:
        try:
            claims = jwt.decode(token, options={"verify_signature": False})
        except jwt.InvalidTokenError:
            return None
        return claims if "gen" in claims else None

    return broken


@mutant("USR-TOKEN-8", f"{ACCOUNTS}:change")
def tokens_outlive_passwords(original: Any) -> Any:
    """a new password leaves earlier tokens alive"""
    update = "UPDATE user SET generation = 0 WHERE id = ?"
    return afterwards(original, lambda _, connection, solution, user: execute(connection, update, (user,)))


@mutant("USR-TOKEN-13", "labkit.services.user.keys:is_strict")
def lenient_letters(original: Any) -> Any:
    """padding and other letters in a signature are overlooked"""
    return lambda token: True
