"""Authorization codes, which a client receives once a user has approved it (RFC 6749, 4.1.2)."""

from __future__ import annotations

import re
from typing import NamedTuple

from sqlalchemy import Connection

from labkit.services.user.accounts import ACTIVE, UserIdentity, get, next_id
from labkit.services.user.errors import UserError
from labkit.services.user.oauth import clients
from labkit.services.user.oauth.approvals import CODE, store_credential
from labkit.storage.database import execute

LIFETIME = 600  # seconds, the maximum that RFC 6749, 4.1.2 recommends

# RFC 6749, 3.3: tokens of visible ASCII except quote and backslash, separated by single spaces.
SCOPE = re.compile(r"(?:[!#-\[\]-~]+(?: [!#-\[\]-~]+)*)?")

APPROVE = (
    "INSERT INTO oauth_approval (solution, id, client_id, user_id, generation, redirect_uri, scope) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)"
)
DELETE_EXPIRED = (  # approvals whose code expired before it was exchanged
    "DELETE FROM oauth_approval WHERE solution = ? AND id IN "
    "(SELECT approval FROM oauth_credential WHERE solution = ? AND kind = 'code' AND NOT spent AND expires <= ?)"
)


class Approval(NamedTuple):
    """Authorization request that a user approved (RFC 6749, 4.1.1)."""

    client_id: int
    redirect_uri: str
    response_type: str
    scope: str


def issue(
    connection: Connection, solution: str, user: UserIdentity, given: Approval, code: str, now: float
) -> None:
    """Store a code for a client that a user approved.

    Raises UserError: unauthorized_client, invalid_request, unsupported_response_type, invalid_scope 400;
    invalid_token 401.
    """
    check(clients.get(connection, solution, given.client_id), given)
    current = get(connection, solution, user.id)
    if current is None or (current.status, current.generation) != (ACTIVE, user.generation):
        raise invalid_token()  # the user was deleted or changed after the bearer token was checked
    execute(connection, DELETE_EXPIRED, (solution, solution, now))
    approval = next_id(connection, solution, "approval")
    execute(
        connection,
        APPROVE,
        (solution, approval, given.client_id, user.id, user.generation, given.redirect_uri, given.scope),
    )
    store_credential(connection, solution, approval, CODE, code, now + LIFETIME)


def check(client: clients.OauthClient | None, given: Approval) -> None:
    """Check an authorization request: client, redirect URI, response type and scope, in order. Raises UserError 400."""
    if client is None:
        raise UserError(400, f"OAuth client {given.client_id} does not exist.", "unauthorized_client")
    if given.redirect_uri not in client.redirects:  # compared exactly (RFC 9700, 4.1.3)
        raise UserError(400, "redirect_uri is not one that the client registered.", "invalid_request")
    if given.response_type != "code":
        raise UserError(400, "response_type is not supported, expected code.", "unsupported_response_type")
    if not SCOPE.fullmatch(given.scope):
        raise UserError(400, "scope is not a list of names with single spaces.", "invalid_scope")


def invalid_token() -> UserError:
    """Return the error of a bearer token that identifies no active user (RFC 6750, 3.1)."""
    return UserError(401, "The token is not valid, or not any more.", "invalid_token")
