"""Faults of logins and user tokens."""

from __future__ import annotations

from typing import Any

from labkit.conformance.faults import CALL, failed, gives
from labkit.conformance.mutant import mutant
from labkit.core.database import execute
from labkit.core.errors import ServiceError
from labkit.services.user.accounts import ACTIVE

ACCOUNTS = "labkit.services.user.accounts"
TOKENS = "labkit.services.user.user_tokens"
VERIFY = "labkit.services.user.passwords:Passwords.verify"


@mutant("USR-TOKEN-1", f"{ACCOUNTS}:at_address")
def inactive_logs_in(original: Any) -> Any:
    """a login does not ask whether the user is active"""

    def broken(*args: Any) -> Any:
        found = original(*args)
        return found and (found[0]._replace(status=ACTIVE), found[1])

    return broken


@mutant("USR-TOKEN-3", CALL)
def failed_login_is_nil(original: Any) -> Any:
    """getUserToken that fails gives nil"""
    return gives(
        original,
        "User",
        lambda called, result: None if called == "getUserToken" and failed(result) else result,
    )


@mutant("USR-TOKEN-2 USR-TOKEN-6", VERIFY)
def nobody_logs_in(original: Any) -> Any:
    """no password fits"""

    async def broken(self: Any, kept: str | None, password: str) -> bool:
        await original(self, kept, password)
        return False

    return broken


@mutant("USR-TOKEN-3 USR-USER-17 USR-TOKEN-12 USR-GUIDE-13", VERIFY)
def any_password_fits(original: Any) -> Any:
    """every password fits"""

    async def broken(self: Any, kept: str | None, password: str) -> bool:
        await original(self, kept, password)
        return kept is not None

    return broken


@mutant("USR-TOKEN-4", VERIFY)
def tells_who_is_there(original: Any) -> Any:
    """an unknown email is 404"""

    async def broken(self: Any, kept: str | None, password: str) -> Any:
        if kept is None:
            raise ServiceError(404, "User does not exist.")
        return await original(self, kept, password)

    return broken


@mutant("USR-TOKEN-5", "labkit.core.identifiers:Identifiers.hex")
def same_jti(original: Any) -> Any:
    """tokens of one second are alike"""
    return lambda self, actor, length: "0" * length if "/token" in actor else original(self, actor, length)


@mutant("USR-TOKEN-6", f"{TOKENS}:user_of")
def somebody_else(original: Any) -> Any:
    """getCurrentUser gives another user"""

    async def broken(*args: Any) -> Any:
        user = await original(*args)
        return user and user._replace(id=user.id + 1, email="")

    return broken


@mutant("USR-TOKEN-7 USR-OAUTH-13 USR-OAUTH-38", f"{TOKENS}:verified")
def not_verified(original: Any) -> Any:
    """the signature of a user token is not looked at"""
    import jwt

    def broken(secret: bytes, solution: str, token: str) -> Any:
        try:
            claims = jwt.decode(token, options={"verify_signature": False})
        except jwt.InvalidTokenError:
            return None
        return claims if "gen" in claims else None

    return broken


@mutant("USR-TOKEN-7 USR-TOKEN-8", CALL)
def somebody_for_nobody(original: Any) -> Any:
    """a bad token leads to a user without name"""

    def somebody(operation: str, result: Any) -> Any:
        return {"id": 0} if operation == "getCurrentUser" and failed(result) else result

    return gives(original, "User", somebody)


@mutant("USR-TOKEN-8", f"{ACCOUNTS}:change")
def tokens_outlive_passwords(original: Any) -> Any:
    """a new password leaves earlier tokens alive"""

    def broken(connection: Any, solution: str, id: int, **changes: Any) -> Any:
        user = original(connection, solution, id, **changes)
        execute(connection, "UPDATE user SET generation = 0 WHERE id = ?", (id,))
        return user

    return broken


@mutant("USR-TOKEN-10 USR-TOKEN-11", f"{TOKENS}:issue")
def eternal(original: Any) -> Any:
    """tokens live for a thousand years"""
    return lambda context, keys, solution, user, _: original(
        context, keys, solution, user, 1000 * 366 * 86400
    )


@mutant("USR-TOKEN-11", f"{TOKENS}:issue")
def a_second_more(original: Any) -> Any:
    """a token still lives at its last second"""
    return lambda context, keys, solution, user, life: original(context, keys, solution, user, life + 1)


@mutant("USR-TOKEN-13", "labkit.services.user.keys:is_strict")
def lenient_letters(original: Any) -> Any:
    """padding and other letters in a signature are overlooked"""
    return lambda token: True
