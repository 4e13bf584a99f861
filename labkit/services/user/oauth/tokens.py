"""Issue of token sets in exchange for a code or a refresh token (RFC 6749, 4.1.3 and 6)."""

from __future__ import annotations

import hmac
from typing import NamedTuple

from sqlalchemy import Connection

from labkit.services.user.accounts import ACTIVE
from labkit.services.user.errors import UserError
from labkit.services.user.oauth.approvals import CODE, REFRESH, digest, revoke, store_credential
from labkit.storage.database import Committed, execute

SECRET = "SELECT secret FROM oauth_client WHERE solution = ? AND id = ? AND NOT revoked"
FIND = (
    "SELECT approval.id, approval.user_id, approval.redirect_uri, approval.scope, credential.expires, "
    "credential.spent, user.status = ? AND user.generation = approval.generation "
    "FROM oauth_credential AS credential "
    "JOIN oauth_approval AS approval ON approval.solution = credential.solution AND approval.id = credential.approval "
    "JOIN user ON user.solution = approval.solution AND user.id = approval.user_id "
    "WHERE credential.solution = ? AND credential.digest = ? AND credential.kind = ? AND approval.client_id = ?"
)
SPEND = "UPDATE oauth_credential SET spent = 1 WHERE solution = ? AND digest = ? AND NOT spent"
END_OTHERS = (
    "DELETE FROM oauth_approval "
    "WHERE solution = ? AND client_id = ? AND user_id = ? AND jti IS NOT NULL AND id != ?"
)
NEW_SET = "UPDATE oauth_approval SET jti = ? WHERE solution = ? AND id = ?"


class TokenRequest(NamedTuple):
    """A client's token request; None for a parameter that it did not send.

    A client without client_secret is accepted, since a code or refresh token is bound to its client.
    """

    grant_type: str
    client_id: int
    client_secret: str | None
    code: str | None
    redirect_uri: str | None
    refresh_token: str | None


class NewSet(NamedTuple):
    """Identifier and refresh token of a new token set. refresh_expires: Unix seconds."""

    jti: str
    refresh_token: str
    refresh_expires: float


class Granted(NamedTuple):
    """User and scope of a token set. scope: names, separated by spaces."""

    user_id: int
    scope: str


class _Credential(NamedTuple):
    """Stored credential with its approval. is_valid: whether its user is active and has not changed the password."""

    digest: bytes
    approval: int
    user_id: int
    redirect_uri: str
    scope: str
    expires: float
    spent: int
    is_valid: int


def exchange(
    connection: Connection, solution: str, request: TokenRequest, new: NewSet, now: float
) -> Granted:
    """Exchange a code or refresh token for a new token set, which replaces the client's earlier set for this user.

    Raises UserError: invalid_client 401; unsupported_grant_type, invalid_request, invalid_grant 400. A second use
    revokes the approval (RFC 6749, 4.1.2 and RFC 9700, 4.14.2); its error is raised as Committed, to store that.
    """
    authenticate(connection, solution, request)
    kind, credential = credential_of(request)
    found = find(connection, solution, request.client_id, kind, credential)
    if found is None:
        raise _invalid_grant(request)
    if not found.spent and (
        now >= found.expires
        or not found.is_valid
        or (kind == CODE and request.redirect_uri != found.redirect_uri)
    ):
        raise _invalid_grant(request)
    if found.spent or not execute(connection, SPEND, (solution, found.digest)).rowcount:
        revoke(connection, solution, found.approval)
        raise Committed(_invalid_grant(request))
    execute(connection, END_OTHERS, (solution, request.client_id, found.user_id, found.approval))
    execute(connection, NEW_SET, (new.jti, solution, found.approval))
    store_credential(connection, solution, found.approval, REFRESH, new.refresh_token, new.refresh_expires)
    return Granted(found.user_id, found.scope)


def authenticate(connection: Connection, solution: str, request: TokenRequest) -> None:
    """Check that the client exists and that its secret, if sent, is right. Raises UserError 401."""
    row = execute(connection, SECRET, (solution, request.client_id)).fetchone()
    if row is None or (
        request.client_secret is not None
        and not hmac.compare_digest(digest(row[0]), digest(request.client_secret))
    ):
        raise UserError(401, "There is no such client, or client_secret is not its own.", "invalid_client")


def credential_of(request: TokenRequest) -> tuple[str, str]:
    """Return kind and secret of the credential that a request exchanges. Raises UserError 400."""
    if request.grant_type == "authorization_code":
        _required("redirect_uri", request.redirect_uri)
        return CODE, _required("code", request.code)
    if request.grant_type == "refresh_token":
        return REFRESH, _required("refresh_token", request.refresh_token)
    raise UserError(
        400,
        "grant_type is not supported, expected authorization_code or refresh_token.",
        "unsupported_grant_type",
    )


def _required(name: str, value: str | None) -> str:
    if value is None:
        raise UserError(400, f"Parameter {name} is required.", "invalid_request")
    return value


def find(
    connection: Connection, solution: str, client_id: int, kind: str, credential: str
) -> _Credential | None:
    """Return the stored credential of a client, with its approval; None if it is unknown."""
    stored = digest(credential)
    row = execute(connection, FIND, (ACTIVE, solution, stored, kind, client_id)).fetchone()
    return None if row is None else _Credential(stored, *row)


def _invalid_grant(request: TokenRequest) -> UserError:
    """Return the error of an invalid credential. The text does not reveal the reason, which could help an attacker."""
    what = "refresh_token is" if request.grant_type == "refresh_token" else "code or redirect_uri is"
    return UserError(400, f"The {what} not valid, or not any more.", "invalid_grant")
