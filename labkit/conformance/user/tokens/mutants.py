"""Code mutants of logins and user tokens, for faults that no fault row can express."""

from __future__ import annotations

from typing import Any

import jwt

from labkit.conformance.breaking import always, call_after, change_arguments, change_result
from labkit.conformance.mutant import patch
from labkit.services.user import accounts
from labkit.storage.database import execute

ACCOUNTS = "labkit.services.user.accounts"
FIRST = "UPDATE user SET generation = 0 WHERE id = ?"

same_jti = patch(
    "USR-TOKEN-5", "labkit.core.identifiers:Identifiers.hex", "tokens issued in the same second are equal"
)(lambda original, self, actor, length: "0" * length if "/token" in actor else original(self, actor, length))
from_the_whole_second = patch(
    "USR-TOKEN-11 USR-OAUTH-37",
    "labkit.services.user.keys:lifetime_claims",
    "the lifetime of a token begins with the second of its issue",
)(change_arguments(now=lambda now: now // 1))
tokens_outlive_passwords = patch(
    "USR-TOKEN-8", f"{ACCOUNTS}:change", "earlier tokens stay valid after a new password"
)(call_after(lambda _, connection, solution, user: execute(connection, FIRST, (user,))))
lenient_letters = patch(
    "USR-TOKEN-13",
    "labkit.services.user.keys:is_strict",
    "padding and non-canonical characters in a signature are accepted",
)(always(True))


@patch(
    "USR-TOKEN-3 USR-USER-17 USR-TOKEN-12 USR-GUIDE-13",
    "labkit.services.user.passwords:PasswordVerifier.verify",
)
async def any_password_fits(original: Any, self: Any, kept: str | None, password: str) -> bool:
    """every password is accepted"""
    return kept is not None


@patch("USR-TOKEN-7 USR-OAUTH-13 USR-OAUTH-38", "labkit.services.user.user_tokens:verified")
def not_verified(original: Any, secret: bytes, solution: str, token: str) -> Any:
    """the signature of a user token is not verified"""
    try:
        claims = jwt.decode(token, options={"verify_signature": False})
    except jwt.InvalidTokenError:
        return None
    return claims if "gen" in claims else None


@patch("USR-TOKEN-8", "labkit.services.user.user_tokens:issue")
async def user_of_now(original: Any, context: Any, keys: Any, solution: str, user: Any, lifetime: int) -> str:
    """a login during a change of the password gives a token valid for the new password"""
    found = await context.database.read(accounts.get, solution, user.id)
    return str(await original(context, keys, solution, found or user, lifetime))


@patch("USR-OAUTH-1 USR-OAUTH-19", "labkit.services.user.oauth.tokens:exchange")
def scope_forgotten(original: Any, connection: Any, solution: str, request: Any, *of: Any) -> Any:
    """a refreshed set has no scope"""
    granted = original(connection, solution, request, *of)
    return granted._replace(scope="") if request.grant_type == "refresh_token" else granted


@patch("USR-OAUTH-20", "labkit.services.user.oauth.access_tokens:holder")
def holder_of_before(original: Any, connection: Any, solution: str, claims: Any) -> Any:
    """an access token stays valid when its user or set is gone"""
    return accounts.get(connection, solution, int(claims["sub"]))


token_switches = patch(
    "USR-TOKEN-15 USR-TOKEN-16",
    "labkit.settings.lab:LabSettings.wire_behaviour",
    "switches of tokens change nothing",
)(change_result(lambda wire: wire.model_copy(update={"lasting_tokens": False, "token_minutes": False})))
