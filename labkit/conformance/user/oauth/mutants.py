"""Code mutants of the OAuth provider, for faults that no fault row can express."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import always, call_after, call_before, change_arguments
from labkit.conformance.mutant import patch
from labkit.services.user import accounts
from labkit.services.user.oauth import access_tokens, clients
from labkit.services.user.oauth.approvals import digest
from labkit.storage.database import execute

OAUTH = "labkit.services.user.oauth"
ACCESS, CLIENTS, CODES, TOKENS = (
    f"{OAUTH}.{name}" for name in ("access_tokens", "clients", "codes", "tokens")
)
ITS_CLIENT = (
    "SELECT client_id FROM oauth_approval WHERE id = (SELECT approval FROM oauth_credential WHERE digest = ?)"
)
OTHER_SETS = "DELETE FROM oauth_approval WHERE client_id = ? AND jti IS NOT NULL AND jti != ?"
WITH_REFRESH = (
    "DELETE FROM oauth_approval WHERE id IN "
    "(SELECT approval FROM oauth_credential WHERE kind = 'refresh' AND NOT spent AND expires <= ?)"
)
UNSPENT = "UPDATE oauth_credential SET spent = 0"

tokens_survive = patch(
    "USR-OAUTH-7", f"{CLIENTS}:revoke_client", "the tokens of a deleted client stay valid"
)(always(None))
no_scopes = patch("USR-OAUTH-19", f"{ACCESS}:sign", "an access token has no scopes")(
    change_arguments(scopes=())
)
access_outlives = patch(
    "USR-OAUTH-20 USR-OAUTH-32 USR-OAUTH-33",
    f"{ACCESS}:holder",
    "an access token stays valid when its set ends",
)(lambda original, connection, solution, claims: accounts.get(connection, solution, int(claims["sub"])))
used_again = patch(
    "USR-OAUTH-20 USR-OAUTH-32 USR-OAUTH-33",
    f"{TOKENS}:find",
    "codes and refresh tokens can be used more than once",
)(call_before(lambda connection, *_: execute(connection, UNSPENT)))
reuse_ends_nothing = patch(
    "USR-OAUTH-32 USR-OAUTH-33 USR-OAUTH-38",
    f"{TOKENS}:revoke",
    "a second use is refused but revokes nothing",
)(always(None))
one_for_all = patch(
    "USR-OAUTH-21", f"{TOKENS}:exchange", "a new token set ends the sets of all users of the client"
)(
    call_after(
        lambda _, connection, solution, request, made, now: execute(
            connection, OTHER_SETS, (request.client_id, made.jti)
        )
    )
)
with_its_refresh_token = patch(
    "USR-OAUTH-35", f"{CODES}:issue", "after an approval, expired refresh tokens end their access tokens"
)(call_before(lambda connection, *of: execute(connection, WITH_REFRESH, of[-1:])))
a_second_late = patch(
    "USR-OAUTH-36 USR-OAUTH-37",
    f"{OAUTH}.approvals:store_credential",
    "codes and refresh tokens are valid for one second more",
)(change_arguments(expires=lambda moment: moment + 1))
from_the_whole_second = patch(
    "USR-OAUTH-36 USR-OAUTH-37",
    f"{OAUTH}.approvals:store_credential",
    "the lifetime of codes and refresh tokens begins with the second of their issue",
)(change_arguments(expires=lambda moment: moment // 1))


@patch("USR-OAUTH-12", f"{CODES}:issue")
def owner_for_user(original: Any, connection: Any, solution: str, user: Any, approved: Any, *of: Any) -> None:
    """a code is issued for the owner of the client instead of the user"""
    client = clients.get(connection, solution, approved.client_id)
    owner = client and accounts.get(connection, solution, client.user_id)
    original(connection, solution, owner or user, approved, *of)


@patch("USR-OAUTH-14", "labkit.services.user.user_tokens:user_of")
async def clients_approve(original: Any, *of: Any) -> Any:
    """an access token is accepted as a user token"""
    return await original(*of) or await access_tokens.user_of(*of)


@patch("USR-OAUTH-24 USR-OAUTH-38", f"{TOKENS}:find")
def any_client(original: Any, connection: Any, solution: str, client_id: int, *of: str) -> Any:
    """a code or refresh token is valid for every client"""
    its = execute(connection, ITS_CLIENT, (digest(of[-1]),)).fetchone()
    return original(connection, solution, its[0] if its else client_id, *of)
