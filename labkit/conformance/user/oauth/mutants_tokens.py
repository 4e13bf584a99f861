"""Faults of the OAuth provider: token sets, what they are exchanged for, and how long they live."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.conformance.faults import CALL, with_parameters, with_result
from labkit.conformance.mutant import mutant
from labkit.core.database import execute
from labkit.services.user import accounts
from labkit.services.user.errors import UserError
from labkit.services.user.oauth import tokens as oauth_tokens
from labkit.services.user.oauth.approvals import CODE, REFRESH, digest

TOKENS = "labkit.services.user.oauth.tokens"
EXCHANGE = f"{TOKENS}:exchange"
AUTHENTICATE = f"{TOKENS}:authenticate"
CREDENTIAL = f"{TOKENS}:credential_of"
FIND = f"{TOKENS}:find"
KEEP = "labkit.services.user.oauth.approvals:keep"
ACCESS = "labkit.services.user.oauth.access_tokens"


# ---- what a set is


@mutant("USR-OAUTH-1 USR-OAUTH-12 USR-TOKEN-9", f"{ACCESS}:user_of")
def nobodys(original: Any) -> Any:
    """an access token speaks for nobody"""

    async def broken(*args: Any) -> None:
        return None

    return broken


@mutant("USR-OAUTH-18", CALL)
def no_expiry(original: Any) -> Any:
    """a set does not tell when it expires"""
    return with_result(
        original,
        "getOauthToken",
        lambda tokens: {name: tokens[name] for name in tokens if name != "expires_in"},
    )


@mutant("USR-OAUTH-19", f"{ACCESS}:sign")
def no_scopes(original: Any) -> Any:
    """an access token tells no scopes"""
    return lambda context, keys, client, user, jti, scopes, now, life: original(
        context, keys, client, user, jti, (), now, life
    )


@mutant("USR-OAUTH-20 USR-OAUTH-32 USR-OAUTH-33", f"{ACCESS}:holder")
def access_outlives(original: Any) -> Any:
    """an access token outlives its set"""
    return lambda connection, solution, claims: accounts.get(connection, solution, int(claims["sub"]))


@mutant("USR-OAUTH-20 USR-OAUTH-32 USR-OAUTH-33", FIND)
def used_again(original: Any) -> Any:
    """codes and refresh tokens count more than once"""

    def broken(connection: Any, *args: Any) -> Any:
        found = original(connection, *args)
        if found is None:
            return None
        execute(connection, "UPDATE oauth_credential SET spent = 0 WHERE digest = ?", (found.digest,))
        return found._replace(spent=0)

    return broken


@mutant("USR-OAUTH-32 USR-OAUTH-33 USR-OAUTH-38", f"{TOKENS}:revoke")
def reuse_ends_nothing(original: Any) -> Any:
    """a second use is refused and ends nothing"""
    return lambda *args: None


@mutant("USR-OAUTH-21", EXCHANGE)
def one_for_all(original: Any) -> Any:
    """a new set ends those of all users of the client"""

    def broken(connection: Any, solution: str, request: Any, made: Any, now: int) -> Any:
        granted = original(connection, solution, request, made, now)
        execute(
            connection,
            "DELETE FROM oauth_approval WHERE solution = ? AND client_id = ? AND jti IS NOT NULL AND jti != ?",
            (solution, request.client_id, made.jti),
        )
        return granted

    return broken


# ---- what is exchanged for it


@mutant("USR-OAUTH-22", CREDENTIAL)
def code_first(original: Any) -> Any:
    """where a code is sent, grant_type is not looked at"""

    def broken(request: Any) -> Any:
        known = request.grant_type in ("authorization_code", "refresh_token")
        return original(
            request._replace(grant_type="authorization_code") if request.code and known else request
        )

    return broken


@mutant("USR-OAUTH-23", CREDENTIAL)
def any_grant(original: Any) -> Any:
    """an unknown grant_type counts as authorization_code"""

    def broken(request: Any) -> Any:
        known = request.grant_type in ("authorization_code", "refresh_token")
        return original(request if known else request._replace(grant_type="authorization_code"))

    return broken


@mutant("USR-OAUTH-24 USR-OAUTH-38", FIND)
def any_client(original: Any) -> Any:
    """a code or refresh token counts for every client"""

    def broken(connection: Any, solution: str, client_id: int, kind: str, credential: str) -> Any:
        row = execute(
            connection,
            "SELECT client_id FROM oauth_approval WHERE solution = ? AND id = "
            "(SELECT approval FROM oauth_credential WHERE solution = ? AND digest = ?)",
            (solution, solution, digest(credential)),
        ).fetchone()
        return original(connection, solution, row[0] if row else client_id, kind, credential)

    return broken


@mutant("USR-OAUTH-26", AUTHENTICATE)
def any_secret(original: Any) -> Any:
    """client_secret is not looked at"""
    return lambda connection, solution, request: original(
        connection, solution, request._replace(client_secret=None)
    )


@mutant("USR-OAUTH-27", AUTHENTICATE)
def secret_required(original: Any) -> Any:
    """without client_secret nothing is given"""

    def broken(connection: Any, solution: str, request: Any) -> None:
        if request.client_secret is None:
            raise UserError(401, "client_secret is required.", "invalid_client")
        original(connection, solution, request)

    return broken


@mutant("USR-OAUTH-28", FIND)
def any_code(original: Any) -> Any:
    """any text counts as the newest code of the client"""
    return _newest(original, CODE)


@mutant("USR-OAUTH-31", FIND)
def any_refresh_token(original: Any) -> Any:
    """any text counts as the newest refresh token of the client"""
    return _newest(original, REFRESH)


@mutant("USR-OAUTH-29", EXCHANGE)
def redirect_not_required(original: Any) -> Any:
    """without redirect_uri, the one of the code counts"""
    return _redirect(original, lambda request: request.redirect_uri is None)


@mutant("USR-OAUTH-30", EXCHANGE)
def any_redirect(original: Any) -> Any:
    """redirect_uri is required and not looked at"""
    return _redirect(original, lambda request: request.redirect_uri is not None)


# ---- lifetimes


@mutant("USR-OAUTH-34 USR-OAUTH-35", CALL)
def short_default(original: Any) -> Any:
    """without access_token_ttl, an access token lives for an hour"""
    return with_parameters(
        original, "getOauthToken", lambda parameters: {"access_token_ttl": 3600, **parameters}
    )


@mutant("USR-OAUTH-34 USR-OAUTH-36", CALL)
def lifetimes_mended(original: Any) -> Any:
    """a lifetime that is too short is taken as one second"""

    def mend(parameters: dict[str, Any]) -> dict[str, Any]:
        short = {
            name: 1
            for name in ("access_token_ttl", "refresh_token_ttl")
            if isinstance(parameters.get(name), int) and parameters[name] < 1
        }
        return {**parameters, **short}

    return with_parameters(original, "getOauthToken", mend)


@mutant("USR-OAUTH-35", f"{ACCESS}:sign")
def fixed_life(original: Any) -> Any:
    """every access token lives for 15 days"""
    return lambda context, keys, client, user, jti, scopes, now, life: original(
        context, keys, client, user, jti, scopes, now, 1_296_000
    )


@mutant("USR-OAUTH-36", CALL)
def fixed_refresh(original: Any) -> Any:
    """refresh_token_ttl is not looked at"""

    def drop(parameters: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in parameters.items() if name != "refresh_token_ttl"}

    return with_parameters(original, "getOauthToken", drop)


@mutant("USR-OAUTH-36", CALL)
def short_refresh(original: Any) -> Any:
    """without refresh_token_ttl, a refresh token lives for 30 days"""
    return with_parameters(
        original, "getOauthToken", lambda parameters: {"refresh_token_ttl": 2_592_000, **parameters}
    )


@mutant("USR-OAUTH-36 USR-OAUTH-37", KEEP)
def a_second_late(original: Any) -> Any:
    """codes and refresh tokens count in their last second"""
    return lambda connection, solution, approval, kind, secret, expires: original(
        connection, solution, approval, kind, secret, expires + 1
    )


def _newest(original: Any, of: str) -> Any:
    """Where no credential of a kind is found, the newest one of the client's is."""

    def broken(connection: Any, solution: str, client_id: int, kind: str, credential: str) -> Any:
        found = original(connection, solution, client_id, kind, credential)
        if found is not None or kind != of:
            return found
        columns = "approval.id, user_id, redirect_uri, scope, expires, spent, 1"
        row = execute(
            connection,
            f"SELECT digest, {columns} FROM oauth_credential JOIN oauth_approval AS approval "
            "ON approval.id = approval AND approval.solution = oauth_credential.solution "
            "WHERE approval.solution = ? AND client_id = ? AND kind = ? ORDER BY approval.id DESC",
            (solution, client_id, kind),
        ).fetchone()
        return None if row is None else oauth_tokens._Found(*row)

    return broken


def _redirect(original: Any, where: Callable[[Any], bool]) -> Any:
    """Put the redirect of the code in place of what was sent."""

    def broken(connection: Any, solution: str, request: Any, made: Any, now: int) -> Any:
        if request.code is not None and where(request):
            row = execute(
                connection,
                "SELECT redirect_uri FROM oauth_approval WHERE solution = ? AND id = "
                "(SELECT approval FROM oauth_credential WHERE solution = ? AND digest = ?)",
                (solution, solution, digest(request.code)),
            ).fetchone()
            request = request._replace(redirect_uri=row[0] if row else request.redirect_uri)
        return original(connection, solution, request, made, now)

    return broken
