"""Users' approvals of OAuth clients, and the credentials that the clients exchange for tokens.

An approval is a user's grant of a scope to a client, requested with a redirect URI. The client exchanges its code for a
set of tokens (access and refresh token), and the refresh token for the next set. All of them belong to the approval,
so deleting it revokes them. Codes and refresh tokens are credentials: secrets that a client may exchange once, of which
only a digest is stored. Used credentials stay stored, so that a second use is detected.
"""

from __future__ import annotations

import hashlib

from sqlalchemy import (
    Column,
    Connection,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    delete,
    text,
)

from labkit.services.user.accounts import belongs_to_user
from labkit.storage.database import execute
from labkit.storage.schema import metadata, numbers, texts

CODE, REFRESH = "code", "refresh"

approval_table = Table(
    "oauth_approval",
    metadata,
    Column("solution", String, primary_key=True),
    Column("id", Integer, primary_key=True),
    *numbers("client_id", "user_id"),
    *numbers("generation"),  # of the user's password; changing it ends the approval
    *texts("redirect_uri", "scope"),
    Column("jti", String),  # of the valid access token; NULL until the code is exchanged
    belongs_to_user(),
    ForeignKeyConstraint(
        ["solution", "client_id"], ["oauth_client.solution", "oauth_client.id"], ondelete="CASCADE"
    ),
    Index("oauth_approval_user", "solution", "user_id"),
    Index("oauth_approval_jti", "solution", "jti", unique=True),
    # A client and a user have at most one valid token set.
    Index(
        "oauth_approval_alive",
        "solution",
        "client_id",
        "user_id",
        unique=True,
        sqlite_where=text("jti IS NOT NULL"),
    ),
)

credential_table = Table(
    "oauth_credential",
    metadata,
    Column("solution", String, primary_key=True),
    Column("digest", LargeBinary, primary_key=True),  # SHA-256
    *texts("kind"),  # CODE or REFRESH
    *numbers("approval"),
    *numbers("expires"),  # Unix seconds; SQLite stores fractions, too
    *numbers("spent"),  # 1 once it was exchanged
    ForeignKeyConstraint(
        ["solution", "approval"], ["oauth_approval.solution", "oauth_approval.id"], ondelete="CASCADE"
    ),
    Index("oauth_credential_approval", "solution", "approval"),
    # Finds expired codes that were never exchanged, without reading those that are still valid.
    # Its condition does not contain the kind, since SQLite would plan a query with the kind as parameter every time.
    Index("oauth_credential_unspent", "solution", "kind", "expires", sqlite_where=text("NOT spent")),
    sqlite_with_rowid=False,
)

# Exchanging credentials is the busiest part of the provider, so its statements bypass SQLAlchemy for speed.
STORE_CREDENTIAL = (
    "INSERT INTO oauth_credential (solution, digest, kind, approval, expires, spent) "
    "VALUES (?, ?, ?, ?, ?, 0)"
)


def digest(secret: str) -> bytes:
    """Return the SHA-256 digest under which a code or refresh token is stored."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()


def store_credential(
    connection: Connection, solution: str, approval: int, kind: str, secret: str, expires: float
) -> None:
    """Store a credential of an approval, valid until `expires` (Unix seconds)."""
    execute(connection, STORE_CREDENTIAL, (solution, digest(secret), kind, approval, expires))


def revoke(connection: Connection, solution: str, approval: int) -> None:
    """Delete an approval, which invalidates its code and all tokens issued for it."""
    columns = approval_table.c
    connection.execute(delete(approval_table).where(columns.solution == solution, columns.id == approval))


def revoke_client(connection: Connection, solution: str, client: int) -> None:
    """Delete all approvals of a client."""
    columns = approval_table.c
    connection.execute(
        delete(approval_table).where(columns.solution == solution, columns.client_id == client)
    )
