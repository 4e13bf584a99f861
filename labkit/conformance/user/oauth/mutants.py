"""Faults of the OAuth provider that no row can say: whose a code is, what ends with what, and when."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import afterwards, beforehand
from labkit.conformance.mutant import mutant
from labkit.core.database import execute
from labkit.services.user import accounts
from labkit.services.user.oauth import access_tokens, clients
from labkit.services.user.oauth.approvals import digest

CLIENTS = "labkit.services.user.oauth.clients"
CODES = "labkit.services.user.oauth.codes"
TOKENS = "labkit.services.user.oauth.tokens"
ACCESS = "labkit.services.user.oauth.access_tokens"
ITS_CLIENT = (
    "SELECT client_id FROM oauth_approval WHERE id = (SELECT approval FROM oauth_credential WHERE digest = ?)"
)
OTHER_SETS = "DELETE FROM oauth_approval WHERE client_id = ? AND jti IS NOT NULL AND jti != ?"


@mutant("USR-OAUTH-6", f"{CLIENTS}:revoke")
def never_deleted(original: Any) -> Any:
    """a deleted client stays"""
    return lambda *args: None


@mutant("USR-OAUTH-7", f"{CLIENTS}:revoke_client")
def tokens_survive(original: Any) -> Any:
    """the tokens of a deleted client live on"""
    return lambda *args: None


@mutant("USR-OAUTH-12", f"{CODES}:issue")
def owner_for_user(original: Any) -> Any:
    """a code is for the owner of the client"""

    def broken(connection: Any, solution: str, user: Any, approved: Any, *args: Any) -> None:
        client = clients.get(connection, solution, approved.client_id)
        owner = client and accounts.get(connection, solution, client.user_id)
        original(connection, solution, owner or user, approved, *args)

    return broken


@mutant("USR-OAUTH-14", "labkit.services.user.user_tokens:user_of")
def clients_approve(original: Any) -> Any:
    """an access token counts as a user token"""

    async def broken(*given: Any) -> Any:
        return await original(*given) or await access_tokens.user_of(*given)

    return broken


@mutant("USR-OAUTH-17", f"{CODES}:check")
def anything_goes(original: Any) -> Any:
    """response_type and scope are not looked at"""
    return lambda client, approved: original(client, approved._replace(response_type="code", scope=""))


# ---- token sets


@mutant("USR-OAUTH-19", f"{ACCESS}:sign")
def no_scopes(original: Any) -> Any:
    """an access token tells no scopes"""
    return lambda *args: original(*args[:5], (), *args[6:])


@mutant("USR-OAUTH-20 USR-OAUTH-32 USR-OAUTH-33", f"{ACCESS}:holder")
def access_outlives(original: Any) -> Any:
    """an access token outlives its set"""
    return lambda connection, solution, claims: accounts.get(connection, solution, int(claims["sub"]))


@mutant("USR-OAUTH-20 USR-OAUTH-32 USR-OAUTH-33", f"{TOKENS}:find")
def used_again(original: Any) -> Any:
    """codes and refresh tokens count more than once"""
    update = "UPDATE oauth_credential SET spent = 0"
    return beforehand(original, lambda connection, *_: execute(connection, update))


@mutant("USR-OAUTH-32 USR-OAUTH-33 USR-OAUTH-38", f"{TOKENS}:revoke")
def reuse_ends_nothing(original: Any) -> Any:
    """a second use is refused and ends nothing"""
    return lambda *args: None


@mutant("USR-OAUTH-21", f"{TOKENS}:exchange")
def one_for_all(original: Any) -> Any:
    """a new set ends those of all users of the client"""
    return afterwards(
        original,
        lambda _, connection, solution, request, made, now: execute(
            connection, OTHER_SETS, (request.client_id, made.jti)
        ),
    )


@mutant("USR-OAUTH-24 USR-OAUTH-38", f"{TOKENS}:find")
def any_client(original: Any) -> Any:
    """a code or refresh token counts for every client"""

    def broken(connection: Any, solution: str, client_id: int, kind: str, credential: str) -> Any:
        its = execute(connection, ITS_CLIENT, (digest(credential),)).fetchone()
        return original(connection, solution, its[0] if its else client_id, kind, credential)

    return broken


@mutant("USR-OAUTH-36 USR-OAUTH-37", "labkit.services.user.oauth.approvals:keep")
def a_second_late(original: Any) -> Any:
    """codes and refresh tokens count in their last second"""
    return lambda *args: original(*args[:-1], args[-1] + 1)
